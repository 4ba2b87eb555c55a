"""The prompts that retrieval sends to a language model."""

from __future__ import annotations

from pathlib import Path

from chatbot_mvp.prompting.loader import PromptFolder

PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
