"""Optional: further words for a short question, from a language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from chatbot_mvp.retrieval.prompting import filled
from chatbot_mvp.retrieval.stages.asking import Asking, AskingStage
from chatbot_mvp.retrieval.trace import RetrievalTrace

SHORT_QUESTION = 5
"""Questions with fewer words than this are expanded."""
MAX_WORDS = 8
"""Words taken from a reply at most, so that a long reply does not outweigh the question."""


class LlmExpansion(AskingStage):
    """Adds up to 8 words to a question of fewer than 5 words, each with the note ``llm: word``."""

    name = "llm_expansion"

    def prompt(self, trace: RetrievalTrace) -> str:
        analyzer = self.index.analyzer
        if not analyzer.terms(f"{trace.query} {trace.query_expanded}") or len(trace.query.split()) >= SHORT_QUESTION:
            return ""
        return expansion_prompt(trace.query, analyzer.language_of(trace.query))

    def read(self, asking: Sequence[Asking]) -> list[tuple[RetrievalTrace, int]]:
        return [self._with_words(trace, reply) for trace, reply in asking]

    def _with_words(self, trace: RetrievalTrace, reply: str) -> tuple[RetrievalTrace, int]:
        analyzer = self.index.analyzer
        known = set(analyzer.terms(f"{trace.query} {trace.query_expanded}"))
        added: dict[str, str] = {}
        for word, term in analyzer.content_words(reply):
            if term not in known and len(added) < MAX_WORDS:
                added.setdefault(term, word)
        if not added:
            return trace, 0
        following = replace(
            trace,
            query_expanded=" ".join([trace.query_expanded or trace.query, *added.values()]),
            expansion_notes=(*trace.expansion_notes, *(f"llm: {word}" for word in added.values())),
        )
        return following, len(added)


def expansion_prompt(question: str, language: str) -> str:
    """Return what a language model is asked for words related to a question."""
    return filled("expand_query", language, question=question)
