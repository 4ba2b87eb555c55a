"""Texts that prompts in the form of the ragas package share."""

from __future__ import annotations

from pathlib import Path

from chatbot_mvp.prompting.loader import PromptFolder

_TEXTS = PromptFolder(Path(__file__).parent / "texts")


def wording(name: str, language: str) -> str:
    """Return one of the texts; English for an unknown language."""
    return str(_TEXTS.texts(language)[name])
