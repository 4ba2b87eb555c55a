"""Expand every question with headings, frequent terms and co-occurring terms, as the KB chat does."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from rapidfuzz import fuzz, process

from chatbot_mvp.retrieval.arrays import best_first
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.stages.expansion import Expansion
from chatbot_mvp.retrieval.stages.kb_chat.words import ChatWords, plain, without_label
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.text import fold

MAX_ADDED = 8
"""Words or phrases that are added to a question at most."""
HEADING_WORD, HEADING, FREQUENT_WORD = 82, 55, 84
"""Least likeness (0-100) of two words of question and heading, of the question and a heading, of a frequent word."""
_LIKE_HEADINGS = 2
_RELATED = 2


class KbChatExpansion(Expansion):
    """Adds up to 8 words or phrases of the corpus to every question, each with a note "source: words".

    In this order, until 8 are added:

    1. ``heading_match``: headings that share a term with the question; those that share more come first.
    2. ``fuzzy_heading``: for a word that no heading has, the most similar word of a heading (82 % or more); then the
       two headings that are most similar to the whole question (55 % or more).
    3. ``vocab``: for each word, the most similar one of the 140 most frequent (84 % or more); then those of the 60 most
       frequent bigrams and trigrams that share a term with the question.
    4. ``cooc``: the first two co-occurring terms of each term of the question and of what was added before.

    Nothing is added of which the question has all terms already. Likeness is the share of common letters in order,
    2 x LCS / (both lengths) (``rapidfuzz.fuzz.ratio``).
    """

    @classmethod
    def serves(cls, index: CorpusIndex) -> bool:
        return True

    def __init__(self, index: CorpusIndex, config: Settings) -> None:
        super().__init__(index, config)
        self._words = index.derived(ChatWords)

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        analyzer = self._words.analyzer
        known = dict.fromkeys(analyzer.terms(trace.query))  # in the order of the question
        added: list[str] = []
        notes: list[str] = []
        for source in (self._headings, self._like_headings, self._frequent, self._related):
            # The terms are those from before a source, but ``known`` grows for the choice of what is new.
            for name, words in source(trace.query, list(known)):
                if len(added) == MAX_ADDED:
                    break
                terms = analyzer.terms(words)
                if all(term in known for term in terms):
                    continue
                known.update(dict.fromkeys(terms))
                added.append(words)
                notes.append(f"{name}: {words}")
        expanded = " ".join([trace.query, *added]) if added else ""
        return replace(trace, query_expanded=expanded, expansion_notes=tuple(notes)), {"added": len(added)}

    def _headings(self, query: str, _: list[str]) -> Iterator[tuple[str, str]]:
        shared = self._words.title_terms.having(self._words.analyzer.terms(query))
        for row in best_first(shared)[: np.count_nonzero(shared)]:
            yield "heading_match", without_label(self._words.titles[row])

    def _like_headings(self, query: str, _: list[str]) -> Iterator[tuple[str, str]]:
        words = self._words
        for word, term in words.analyzer.content_words(query):
            if term not in words.title_terms and (
                found := _closest(fold(word), words.title_words.keys(), HEADING_WORD)
            ):
                yield "fuzzy_heading", words.title_words[found]
        like = process.extract(
            plain(query), words.titles_plain, scorer=fuzz.ratio, score_cutoff=HEADING, limit=_LIKE_HEADINGS
        )
        for _title, _likeness, row in like:
            yield "fuzzy_heading", without_label(words.titles[row])

    def _frequent(self, query: str, _: list[str]) -> Iterator[tuple[str, str]]:
        words = self._words
        asked = words.analyzer.content_words(query)
        for word, _term in asked:
            if found := _closest(fold(word), words.frequent_words.keys(), FREQUENT_WORD):
                yield "vocab", words.frequent_words[found]
        own = {term for _, term in asked}
        for phrase in words.frequent_phrases:
            if not own.isdisjoint(terms := phrase.split(" ")):
                yield "vocab", " ".join(words.spoken.get(term, term) for term in terms)

    def _related(self, _: str, terms: list[str]) -> Iterator[tuple[str, str]]:
        for term in terms:
            for related in self._words.cooc_map.get(term, ())[:_RELATED]:
                yield "cooc", self._words.spoken.get(related, related)


def _closest(word: str, choices: Collection[str], least: float) -> str:
    found = process.extractOne(word, choices, scorer=fuzz.ratio, score_cutoff=least)
    return found[0] if found else ""
