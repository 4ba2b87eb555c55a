"""What retrieval asks of a language model: text in, text out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from chatbot_mvp.errors import NeedsLanguageModel


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A model for short jobs around retrieval; any callable will do."""

    name: str
    """Names provider and model; replies of different names are never mixed in a cache."""
    ask: Callable[[str], str]
    """Prompt -> reply. Called from several threads; raises ChatbotError or OSError when there is no reply."""


def needed(model: LanguageModel | None, feature: str, provider: str) -> LanguageModel:
    """The model, if there is one.

    Raises:
        NeedsLanguageModel: names the feature that cannot do without, and the provider that has none.
    """
    if model is None:
        raise NeedsLanguageModel(feature=feature, provider=provider)
    return model
