"""The prompts that retrieval sends to a language model. All text of documents and questions in them is fenced."""

from __future__ import annotations

from pathlib import Path

from chatbot_mvp.prompting.fence import as_data, fence_name
from chatbot_mvp.prompting.loader import PromptFolder

PROMPTS = PromptFolder(Path(__file__).parent / "prompts")
"""The prompts that retrieval sends to a language model."""


def filled(name: str, language: str, **texts: str) -> str:
    """Return the prompt ``name`` with texts that a model must not take for instructions.

    Args:
        texts: placeholder -> text. The first one names the fence, so that prompts that begin with the same document
            have a common beginning, which some servers cache.
    """
    data = {placeholder: as_data(text) for placeholder, text in texts.items()}
    return str(PROMPTS.texts(language)[name].format(fence=fence_name(next(iter(data.values()))), **data))
