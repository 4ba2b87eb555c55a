"""What retrieval asks of a language model: text in, text out."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from chatbot_mvp.errors import NeedsLanguageModel
from chatbot_mvp.text import LANGUAGES

_PROMPTS = Path(__file__).parent / "prompts"


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


@cache
def prompts(language: str) -> dict[str, str]:
    """Name -> template of the prompts in ``prompts/<language>.toml``; English for a language without a file."""
    chosen = language if language in LANGUAGES else "en"
    return tomllib.loads((_PROMPTS / f"{chosen}.toml").read_text("utf-8"))
