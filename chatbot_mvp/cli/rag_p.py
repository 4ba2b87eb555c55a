"""RAG_P's command ``python -m sandbox_mteb.run``, as which ``setup.py`` installs this file: says what does it now."""

from __future__ import annotations

import shlex
import sys

from chatbot_mvp.terminal import say

PRESETS = {"SIMPLE_VECTOR": "rag_p_simple_vector", "CONTEXTUAL_HYBRID": "rag_p_contextual_hybrid"}
"""RETRIEVAL_STRATEGY of RAG_P -> the preset that works as it did."""


def main(arguments: list[str]) -> int:
    """Print the commands of this program for RAG_P's arguments, which are the same; return the exit code, 2."""
    say("sandbox_mteb.run is now a command of chatbot-mvp, with the same options and the same .env:", error=True)
    for strategy, preset in PRESETS.items():
        command = shlex.join(["chatbot-mvp", "benchmark", "run", "--preset", preset, *arguments])
        say(f"  {command}    # RETRIEVAL_STRATEGY={strategy}", error=True)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
