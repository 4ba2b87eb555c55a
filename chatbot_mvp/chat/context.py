"""The options that a user may set for one question; they override the settings (``user_context``)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from chatbot_mvp.errors import ConfigurationError
from chatbot_mvp.knowledge_base.filters import ALL_DOCUMENTS, DocumentFilter
from chatbot_mvp.retrieval.search import OtherSearch, with_search
from chatbot_mvp.retrieval.stages.context import context_budget
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk

Mode = Literal["strict", "general"]
MODES: tuple[Mode, ...] = ("strict", "general")
MAX_QUESTION_CHARS = 4_000
"""Most characters of a question. A search takes time for each word, and nobody waits for that of a whole book."""
_KNOBS = (
    "kb_top_k",
    "kb_min_score",
    "kb_max_context_chars",
    "kb_min_evidence",
    "kb_doubt_evidence",
    "chat_max_tokens",
    "llm_temperature",
)


@dataclass(frozen=True, slots=True)
class UserContext:
    """The options of one question. None keeps the setting of the same name."""

    mode: Mode = "strict"
    language: str = "es"
    """Language of the fixed replies, "es" or "en"; "" for the question's, among those of the knowledge base."""
    kb_top_k: int | None = None
    """Maximum number of selected chunks, 1-50."""
    kb_min_score: float | None = None
    """Minimum score of a chunk relative to the best one, 0-1."""
    kb_max_context_chars: int | None = None
    """Budget of the context in characters, from 500, also for large sources."""
    kb_min_evidence: float | None = None
    """Evidence from which a question is answered, 0-1."""
    kb_doubt_evidence: float | None = None
    """Evidence from which a model is asked in case of doubt, 0-1."""
    chat_max_tokens: int | None = None
    """Token limit of the answer. 0 means LLM_MAX_TOKENS, or 700 with groq and a knowledge base."""
    llm_temperature: float | None = None
    """Randomness of the answer, 0-2."""
    seed: int | None = None
    """Seed of the answer, for providers that have one; None leaves it to the provider."""
    documents: DocumentFilter = ALL_DOCUMENTS
    """The documents that are searched; one of all documents leaves it to KB_FILTER."""
    passage: Chunk | None = None
    """The one passage to answer from, which a person chose; None for those that the search finds."""
    is_reading: bool = False
    """Whether a person chose the question from those that the chat asked back: it is not asked back again."""
    answer_in: str = ""
    """Language to answer in, "es" or "en"; "" for the question's."""
    provider: str = ""
    """Provider of the model that answers; "" for the one that is chosen for all."""
    retrieval: OtherSearch = ()
    """Search settings that differ from the defaults. The options above take precedence."""

    @classmethod
    def defaults(cls, settings: Settings, source_chars: int) -> UserContext:
        """Return the settings' values of all options, for a knowledge base of ``source_chars`` characters."""
        knobs = {name: getattr(settings, name) for name in _KNOBS}
        budget = context_budget(source_chars, settings.kb_max_context_chars, settings.kb_large_context_chars)
        return cls(language=settings.ui_language, **{**knobs, "kb_max_context_chars": budget})

    def beyond(self, defaults: UserContext) -> UserContext:
        """Return these options with None for those equal to ``defaults``, so that the settings decide those."""
        same: dict[str, Any] = {name: None for name in _KNOBS if getattr(self, name) == getattr(defaults, name)}
        return replace(self, **same)

    def over(self, settings: Settings) -> Settings:
        """Return ``settings`` overridden by these options.

        Raises:
            InvalidSetting: an option is out of its range.
        """
        settings = with_search(settings, self.retrieval)
        # An option equal to its setting changes nothing, so that large sources keep their larger budget.
        changed = {
            name: getattr(self, name) for name in _KNOBS if getattr(self, name) not in (None, getattr(settings, name))
        }
        return settings.with_changes(**changed) if changed else settings


def require_short(question: str) -> None:
    """Return if a question can be asked.

    Raises:
        ConfigurationError (question_too_long): it has more than ``MAX_QUESTION_CHARS``.
    """
    if len(question) > MAX_QUESTION_CHARS:
        raise ConfigurationError("question_too_long", length=len(question), limit=MAX_QUESTION_CHARS)
