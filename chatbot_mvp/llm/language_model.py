"""The interface to a language model that retrieval uses: text in, text out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from chatbot_mvp.errors import NeedsLanguageModel


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """A model for short tasks of retrieval, such as expanding a query. ``ask`` can be any callable."""

    name: str
    """Provider and model; caches keep replies of different names apart."""
    ask: Callable[[str], str]
    """Prompt -> reply. Called from several threads. Raises ChatbotError or OSError if there is no reply."""


def needed(model: LanguageModel | None, feature: str, provider: str) -> LanguageModel:
    """Return ``model``, which ``feature`` needs.

    Raises:
        NeedsLanguageModel: ``model`` is None; the error names the feature and the provider.
    """
    if model is None:
        raise NeedsLanguageModel(feature=feature, provider=provider)
    return model
