"""Adds to a question what the knowledge base itself suggests, and says where each addition came from.

No language model and no list of topics: headings, spelling, frequent terms and neighbours of the KB at hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rapidfuzz import process
from rapidfuzz.distance import OSA

from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.kb.vocabulary import KbIndex
from chatbot_mvp.retrieval.stages.base import Stage
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.text import fold

WEIGHTS: Mapping[str, float] = {"heading_match": 0.05, "fuzzy_heading": 0.5, "vocab": 0.5, "cooc": 0.05, "llm": 0.3}
"""What an added term counts of one that the question has itself, by where it came from (0-1)."""

CORRECTIONS = ("fuzzy_heading", "vocab")
"""The sources that put a word of the KB in place of one that it does not have."""

_LONG_WORD = 8  # letters: so long a word is still known with two of them wrong
_MIN_LETTERS = 4  # shorter words are too often alike by chance
_SHORT_QUESTION = 3  # terms: a question with so few may gain from neighbours and from the rest of a heading
_MAX_ADDED = 12


def expand_query_with_kb(query: str, index: KbIndex) -> tuple[str, tuple[str, ...]]:
    """
    Returns:
        (query_expanded, expansion_notes): the query with the added words behind it, "" when nothing was added; and a
        note "source: word" for each addition, source being a key of WEIGHTS.
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
        if term in index.matcher.terms or len(word) < _MIN_LETTERS:
            continue
        heading_words = {
            fold(w): w for title in index.section_titles_normalized.values() for w, _ in analyzer.content_words(title)
        }
        if found := _nearest(fold(word), heading_words):
            add("fuzzy_heading", heading_words[found])
        elif found := _nearest(fold(word), index.words):
            add("vocab", found)
    known = [term for term in dict.fromkeys(term for _, term in words) if term in index.matcher.terms]
    if len(present) <= _SHORT_QUESTION:
        for title in index.section_titles_normalized.values():
            if present & set(analyzer.terms(title)):
                add("heading_match", title)
        spoken = {term: word for word, term in index.words.items()}
        for term in known:
            for phrase_mate in index.cooc_map.get(term, ())[:2]:
                if f"{term} {phrase_mate}" in index.vocab_terms or f"{phrase_mate} {term}" in index.vocab_terms:
                    add("cooc", spoken.get(phrase_mate, phrase_mate))
    if not added:
        return "", ()
    extra = " ".join(word for _, word in added.values())
    return f"{query} {extra}", tuple(f"{source}: {word}" for source, word in added.values())


def expansion_weights(trace: RetrievalTrace, index: KbIndex) -> dict[str, float]:
    """Term -> weight: 1 for the question's own, less for what its expansion added."""
    weights = dict.fromkeys(index.analyzer.terms(trace.query), 1.0)
    for note in trace.expansion_notes:
        source, _, word = note.partition(": ")
        for term in index.analyzer.terms(word):
            weights.setdefault(term, WEIGHTS[source])
    return weights


def _nearest(word: str, known: Mapping[str, str]) -> str | None:
    """The known word that most likely is meant: one letter away, two from _LONG_WORD letters on; None if there is none.

    Optimal string alignment: a letter too many, too few, another one, or two that changed places.
    """
    most = 1 if len(word) < _LONG_WORD else 2
    near = [other for other in known if abs(len(other) - len(word)) <= most and len(other) >= _MIN_LETTERS]
    found = process.extract(word, near, scorer=OSA.distance, score_cutoff=most, limit=None)
    if not found:
        return None
    # The first letter is seldom the wrong one.
    return min(found, key=lambda match: (match[1], match[0][0] != word[0], match[0]))[0]


class Expansion(Stage):
    """Fills ``query_expanded`` and ``expansion_notes`` from a knowledge base."""

    name = "expansion"

    @classmethod
    def serves(cls, index: CorpusIndex) -> bool:
        return index.kb is not None

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        assert self.index.kb is not None, "the stage serves knowledge bases"
        expanded, notes = expand_query_with_kb(trace.query, self.index.kb)
        return replace(trace, query_expanded=expanded, expansion_notes=notes), {"added": len(notes)}
