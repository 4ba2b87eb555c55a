"""What a person may set for one question, above the settings (``user_context``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from chatbot_mvp.retrieval.search import OtherSearch, with_search
from chatbot_mvp.retrieval.stages.context import context_budget
from chatbot_mvp.settings.model import Settings

Mode = Literal["strict", "general"]
MODES: tuple[Mode, ...] = ("strict", "general")
_KNOBS = (
    "kb_top_k",
    "kb_min_score",
    "kb_max_context_chars",
    "kb_min_evidence",
    "kb_doubt_evidence",
    "chat_max_tokens",
)


@dataclass(frozen=True, slots=True)
class UserContext:
    """The knobs of one question; None leaves the setting of the same name as it is."""

    mode: Mode = "strict"
    language: str = "es"
    """Of the fixed replies, "es" or "en"."""
    kb_top_k: int | None = None
    """Chunks that may reach the answer, 1-50."""
    kb_min_score: float | None = None
    """0-1, relative to the best chunk's."""
    kb_max_context_chars: int | None = None
    """Budget of the context in characters, from 500; holds for large sources too."""
    kb_min_evidence: float | None = None
    """0-1."""
    kb_doubt_evidence: float | None = None
    """0-1."""
    chat_max_tokens: int | None = None
    """Longest answer (tokens); 0: as LLM_MAX_TOKENS says, 700 with groq and a knowledge base."""
    retrieval: OtherSearch = ()
    """The search where it is not to be the settings' own; the knobs above win over it."""

    @classmethod
    def defaults(cls, settings: Settings, source_chars: int) -> UserContext:
        """Every knob as the settings have it for a knowledge base of so many characters."""
        return cls(
            language=settings.ui_language,
            kb_top_k=settings.kb_top_k,
            kb_min_score=settings.kb_min_score,
            kb_max_context_chars=context_budget(
                source_chars, settings.kb_max_context_chars, settings.kb_large_context_chars
            ),
            kb_min_evidence=settings.kb_min_evidence,
            kb_doubt_evidence=settings.kb_doubt_evidence,
            chat_max_tokens=settings.chat_max_tokens,
        )

    def beyond(self, defaults: UserContext) -> UserContext:
        """These knobs, None where they are as in ``defaults``: what nobody moved is left to the settings."""
        same: dict[str, Any] = {name: None for name in _KNOBS if getattr(self, name) == getattr(defaults, name)}
        return replace(self, **same)

    def over(self, settings: Settings) -> Settings:
        """``settings`` with these knobs in place of theirs.

        Raises:
            InvalidSetting: a knob is out of its range.
        """
        settings = with_search(settings, self.retrieval)
        given: dict[str, Any] = {name: value for name in _KNOBS if (value := getattr(self, name)) is not None}
        changed = {name: value for name, value in given.items() if value != getattr(settings, name)}
        # Equal to a setting it changes nothing, not even the larger budget of a large source.
        return settings.with_changes(**changed) if changed else settings
