"""The prompts that retrieval sends to a language model: one TOML file per language."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path

from chatbot_mvp.text import LANGUAGES

_PROMPTS = Path(__file__).parent


@cache
def prompts(language: str) -> dict[str, str]:
    """Return name -> template of the prompts in ``<language>.toml``; English if the language has no file."""
    chosen = language if language in LANGUAGES else "en"
    return tomllib.loads((_PROMPTS / f"{chosen}.toml").read_text("utf-8"))
