"""Expand a question with words of the knowledge base, and note the source of each added word.

Sources are the KB's own headings, spellings, frequent terms and co-occurrences; no language model, no list of topics.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.kb.spelling import MIN_LETTERS
from chatbot_mvp.retrieval.kb.vocabulary import KbIndex
from chatbot_mvp.retrieval.stages.base import Stage
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.text import fold

WEIGHTS: Mapping[str, float] = {"heading_match": 0.05, "fuzzy_heading": 0.5, "vocab": 0.5, "cooc": 0.05, "llm": 0.3}
"""Source -> weight (0-1) of an added term; the question's own terms have weight 1."""

CORRECTIONS = ("fuzzy_heading", "vocab")
"""Sources that correct spelling: they add a KB word for a question word that the KB does not have."""

_SHORT_QUESTION = 3  # terms: questions up to this size may gain from co-occurring terms and the rest of a heading
_MAX_ADDED = 12


def expand_query_with_kb(query: str, index: KbIndex) -> tuple[str, tuple[str, ...]]:
    """Expand a question with up to 12 words of the knowledge base.

    Returns:
        (query_expanded, expansion_notes): the query followed by the added words, "" if nothing was added; and a note
        "source: word" for each added word, where source is a key of WEIGHTS.
    """
    analyzer = index.analyzer
    words = analyzer.content_words(query)
    present = {term for _, term in words}
    added: dict[str, tuple[str, str]] = {}  # term -> (source, word)

    def add(source: str, word: str) -> None:
        for written, term in analyzer.content_words(word):
            if term not in present and term not in added and len(added) < _MAX_ADDED:
                added[term] = (source, written)

    for word, term in words:
        if term in index.matcher.terms or len(word) < MIN_LETTERS:
            continue
        if found := index.heading_spellings.nearest(fold(word)):
            add("fuzzy_heading", index.heading_words[found])
        elif found := index.spellings.nearest(fold(word)):
            add("vocab", found)
    known = [term for term in dict.fromkeys(term for _, term in words) if term in index.matcher.terms]
    if len(present) <= _SHORT_QUESTION:
        for title in index.titles_with(present):
            if len(added) == _MAX_ADDED:
                break
            add("heading_match", title)
        for term in known:
            for phrase_mate in index.cooc_map.get(term, ())[:2]:
                if f"{term} {phrase_mate}" in index.vocab_terms or f"{phrase_mate} {term}" in index.vocab_terms:
                    add("cooc", index.spoken.get(phrase_mate, phrase_mate))
    if not added:
        return "", ()
    extra = " ".join(word for _, word in added.values())
    return f"{query} {extra}", tuple(f"{source}: {word}" for source, word in added.values())


def expansion_weights(trace: RetrievalTrace, index: KbIndex) -> dict[str, float]:
    """Return term -> weight: 1 for the question's own terms, WEIGHTS for those that its expansion added."""
    weights = dict.fromkeys(index.analyzer.terms(trace.query), 1.0)
    for note in trace.expansion_notes:
        source, _, word = note.partition(": ")
        for term in index.analyzer.terms(word):
            weights.setdefault(term, WEIGHTS[source])
    return weights


class Expansion(Stage):
    """Fills ``query_expanded`` and ``expansion_notes`` with words of the knowledge base."""

    name = "expansion"

    @classmethod
    def serves(cls, index: CorpusIndex) -> bool:
        return index.kb is not None

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        assert self.index.kb is not None, "the stage serves knowledge bases"
        expanded, notes = expand_query_with_kb(trace.query, self.index.kb)
        return replace(trace, query_expanded=expanded, expansion_notes=notes), {"added": len(notes)}
