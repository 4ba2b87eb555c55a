"""Expand a question with words of the knowledge base, and note the source of each added word.

Sources are the KB's own headings, spellings, frequent terms and co-occurrences; no language model, no list of topics.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.kb.vocabulary import KbIndex
from chatbot_mvp.retrieval.stages.base import Stage
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.text import fold

WEIGHTS: Mapping[str, float] = {"heading_match": 0.05, "fuzzy_heading": 0.7, "vocab": 0.7, "cooc": 0.05, "llm": 0.3}
"""Source -> weight (0-1) of an added term; the question's own terms have weight 1."""

CORRECTIONS = ("fuzzy_heading", "vocab")
"""Sources that correct spelling: they add a KB word for a question word that the KB does not have."""

_SHORT_QUESTION = 3  # terms: questions up to this size may gain from co-occurring terms and the rest of a heading
_MAX_ADDED = 12
_PART_LETTERS = 3  # a word of the knowledge base that is part of a longer typed word
_LONGEST = 40  # letters: a longer word is a token or an address, and splitting takes quadratic time
_JOINED_LETTERS = 6  # shorter pairs of words are a word by chance


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
        is_acronym = word.isupper() and not query.isupper()
        if is_acronym or term in index.matcher.searched:
            continue
        if found := index.spellings.nearest(fold(word)):
            heading = index.heading_words.get(found)
            add("fuzzy_heading" if heading else "vocab", heading or index.written.get(found, found))
        else:
            for part in split_word(fold(word), index):
                add("vocab", index.written.get(part, part))
    for joined in joined_words(query, index):
        add("vocab", joined)
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


def split_word(word: str, index: KbIndex) -> list[str]:
    """Return the words of the knowledge base that were typed as one word: "findesemana" gives "fin" and "semana".

    Stop words may stand between them. Returns [] if there are not two such words at least, or if the knowledge base
    does not have them side by side.
    """
    if len(word) > _LONGEST:
        return []
    # parts[end]: the fewest parts of word[:end], each (word, whether it is one of the knowledge base).
    parts: dict[int, list[tuple[str, bool]]] = {0: []}
    for end in range(2, len(word) + 1):
        for begin in [at for at in parts if at < end - 1]:
            piece = word[begin:end]
            known = len(piece) >= _PART_LETTERS and index.words.get(piece) in index.matcher.terms
            if known or (begin and not index.analyzer.content_words(piece)):
                longer = [*parts[begin], (piece, known)]
                if end not in parts or len(longer) < len(parts[end]):
                    parts[end] = longer
    found = [piece for piece, known in parts.get(len(word), []) if known]
    together = all(len(index.matcher.pairs.rows(pair)) for pair in pairwise(index.words[piece] for piece in found))
    return found if len(found) > 1 and together else []


def joined_words(query: str, index: KbIndex) -> list[str]:
    """Return the words of the knowledge base that were typed as two words: "life jacket" gives "lifejacket"."""
    found = []
    for one, other in pairwise(re.findall(r"\w+", query)):
        pair = index.written.get(fold(one + other), one + other)
        terms = index.analyzer.terms(pair)
        if len(pair) >= _JOINED_LETTERS and terms and all(term in index.matcher.terms for term in terms):
            found.append(pair)
    return found


def expansion_weights(trace: RetrievalTrace, index: KbIndex) -> dict[str, float]:
    """Return term -> weight: 1 for the question's own terms, WEIGHTS for those that its expansion added.

    Notes of other sources say what a stage did, and add no words.
    """
    weights = dict.fromkeys(index.analyzer.terms(trace.query), 1.0)
    for note in trace.expansion_notes:
        source, _, word = note.partition(": ")
        for term in index.analyzer.terms(word) if source in WEIGHTS else ():
            weights.setdefault(term, WEIGHTS[source])
    return weights


class Expansion(Stage):
    """Fills ``query_expanded`` and ``expansion_notes`` with words of the knowledge base."""

    name = "expansion"
    knobs = frozenset({"retrieval_expansion"})

    @classmethod
    def wanted(cls, config: Settings) -> bool:
        return config.retrieval_expansion

    @classmethod
    def serves(cls, index: CorpusIndex) -> bool:
        return index.kb is not None

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        assert self.index.kb is not None, "the stage serves knowledge bases"
        expanded, notes = expand_query_with_kb(trace.query, self.index.kb)
        return replace(trace, query_expanded=expanded, expansion_notes=notes), {"added": len(notes)}
