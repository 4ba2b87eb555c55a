"""Ask many knowledge bases in turn: memory of the process, and how many pipelines stay in it.

python benchmarks/many_kbs.py [--kbs 200] [--chars 120000]

The text is that of ``books``, and the vectors are random, so that memory and time are real except for the model's own.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import books

from chatbot_mvp.app import App
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.registry import Embedders
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import load_settings


class RandomEmbedders(Embedders):
    """Gives random vectors under every model's name."""

    def _create(self, name: str) -> Embedder:
        return books.RandomVectors()


def resident_mb() -> int:
    """Return the memory of this process now, in MB (Linux)."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) // 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kbs", type=int, default=200)
    parser.add_argument("--chars", type=int, default=120_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        live = LiveSettings(load_settings(data_dir=Path(folder), provider="demo", kb_max_chars=given.chars))
        app = App(live, Providers(live), RandomEmbedders(live))
        print("| knowledge bases asked | MB | s |\n|--:|--:|--:|")
        started, first = time.monotonic(), ""
        for number in range(given.kbs):
            if number % 25 == 0:
                print(f"| {number} | {resident_mb()} | {time.monotonic() - started:.0f} |", flush=True)
            kb = app.kbs.add(f"base{number}.md", books.synthetic(given.chars, number).encode())
            first = first or kb.kb_id
            app.kbs.pipeline(kb.kb_id).retrieve(["¿Qué dice el manual sobre la garantía?"])
        print(f"| {given.kbs} | {resident_mb()} | {time.monotonic() - started:.0f} |")
        begun = time.monotonic()
        app.kbs.pipeline(first).retrieve(["¿Qué dice el manual sobre la garantía?"])
        print(f"\nThe coldest one answers again after {time.monotonic() - begun:.2f} s.")


if __name__ == "__main__":
    main()
