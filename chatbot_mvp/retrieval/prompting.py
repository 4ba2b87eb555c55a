"""The prompts that retrieval sends to a language model. All text of documents and questions in them is fenced."""

from __future__ import annotations

from pathlib import Path

from chatbot_mvp.prompting.loader import PromptFolder

PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
filled = PROMPTS.filled
