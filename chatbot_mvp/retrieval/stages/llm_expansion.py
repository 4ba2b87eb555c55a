"""Optional : further words for a short question, from a language model.

If the model fails, the question stays as it is and the record says so: the chat goes on, a run fails the query.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from chatbot_mvp.errors import ChatbotError, ProviderQuotaExhausted, RunError, RunStopped
from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.indexes.enrichment import ContextCache
from chatbot_mvp.retrieval.prompting import filled
from chatbot_mvp.retrieval.stages.base import Stage
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import Settings

SHORT_QUESTION = 5
"""Questions with fewer words than this are expanded."""
MAX_WORDS = 8
"""Words taken from a reply at most, so that a long reply does not outweigh the question."""


@dataclass(frozen=True)
class QueryExpander:
    """Asks a language model for words related to a question. Replies are cached by model, language and question."""

    model: LanguageModel
    cache: ContextCache

    def words(self, question: str, language: str) -> str:
        """Return the model's reply on one line.

        Raises:
            ChatbotError, OSError: there is no reply, or the cache cannot be read or written.
        """
        # The cache key is made from the prompt, and each language has its own prompt.
        prompt = filled("expand_query", language, question=question)
        return self.cache.contexts(self.model, [prompt], 1)[0]


class LlmExpansion(Stage):
    """Adds up to 8 words to a question of fewer than 5 words, each with the note ``llm: word``.

    Notes of the record: ``added``, the number of words; ``asked``, whether the model was asked; ``failed``, 1 if no
    reply came, then with ``error`` and ``quota_exhausted``, whether it was for a used-up quota.
    """

    name = "llm_expansion"

    def __init__(self, index: CorpusIndex, config: Settings, expander: QueryExpander) -> None:
        super().__init__(index, config)
        self._expander = expander

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        analyzer = self.index.analyzer
        known = set(analyzer.terms(f"{trace.query} {trace.query_expanded}"))
        if not known or len(trace.query.split()) >= SHORT_QUESTION:
            return trace, {"asked": False, "added": 0, "failed": 0}
        try:
            reply = self._expander.words(trace.query, analyzer.language_of(trace.query))
        except (RunStopped, RunError):
            # What ends a run is no failure of the model.
            raise
        except (ChatbotError, OSError) as error:
            # A chat goes on without the words; a run fails the query, or stops.
            quota_exhausted = isinstance(error, ProviderQuotaExhausted)
            notes = {"asked": True, "added": 0, "failed": 1, "error": str(error) or type(error).__name__}
            return trace, {**notes, "quota_exhausted": quota_exhausted}
        added: dict[str, str] = {}
        for word, term in analyzer.content_words(reply):
            if term not in known and len(added) < MAX_WORDS:
                added.setdefault(term, word)
        if not added:
            return trace, {"asked": True, "added": 0, "failed": 0}
        following = replace(
            trace,
            query_expanded=" ".join([trace.query_expanded or trace.query, *added.values()]),
            expansion_notes=(*trace.expansion_notes, *(f"llm: {word}" for word in added.values())),
        )
        return following, {"asked": True, "added": len(added), "failed": 0}
