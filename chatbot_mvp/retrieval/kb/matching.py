"""Match the paragraphs of a knowledge base with a question, by terms, sentence windows and letters.

A knowledge base has a few hundred paragraphs, so the postings are numpy arrays in memory.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from chatbot_mvp.retrieval.kb.passages import Passage
from chatbot_mvp.text import Analyzer, fold

Scores = npt.NDArray[np.float64]
K1, B = 1.2, 0.75
GRAM = 4


class Postings:
    """Inverted index: the units (paragraphs or windows) in which each feature occurs, with its counts.

    Args:
        units: for each unit, feature -> number of occurrences.
    """

    def __init__(self, units: Iterable[Mapping[Hashable, int]]) -> None:
        rows: dict[Hashable, list[int]] = defaultdict(list)
        counts: dict[Hashable, list[int]] = defaultdict(list)
        self.count = 0
        for row, unit in enumerate(units):
            self.count += 1
            for feature, count in unit.items():
                rows[feature].append(row)
                counts[feature].append(count)
        self._rows = {feature: np.array(found) for feature, found in rows.items()}
        self._counts = {feature: np.array(found, dtype=float) for feature, found in counts.items()}

    def __contains__(self, feature: Hashable) -> bool:
        return feature in self._rows

    def rows(self, feature: Hashable) -> npt.NDArray[np.int_]:
        """Return the units that have the feature, in rising order."""
        return self._rows.get(feature, np.zeros(0, dtype=int))

    def counts(self, feature: Hashable) -> Scores:
        """Return how often the feature occurs in each unit of ``rows(feature)``."""
        return self._counts.get(feature, np.zeros(0))

    def idf(self, feature: Hashable) -> float:
        """Return ln(1 + (N - n + 0.5) / (n + 0.5)), for n of N units. The maximum is at n = 0."""
        n = len(self.rows(feature))
        return math.log(1 + (self.count - n + 0.5) / (n + 0.5))


class PassageMatcher:
    """Scores every paragraph for a question. All methods return arrays of shape (paragraphs,)."""

    def __init__(self, passages: Sequence[Passage], analyzer: Analyzer) -> None:
        self.analyzer = analyzer
        self.passages = passages
        self.headings = [frozenset(analyzer.terms(passage.section)) for passage in passages]
        units = [analyzer.terms(f"{passage.section}\n{passage.context}\n{passage.text}") for passage in passages]
        self.terms = Postings(Counter(unit) for unit in units)
        self.pairs = Postings(dict.fromkeys([*pairwise(u), *zip(u, u[2:], strict=False)], 1) for u in units)
        lengths = np.array([len(unit) for unit in units], dtype=float)
        self._norm = K1 * (1 - B + B * lengths / max(1.0, float(lengths.mean() if len(lengths) else 1.0)))
        windows = [
            (row, passage, passage.text[start:end])
            for row, passage in enumerate(passages)
            for start, end in passage.windows
        ]
        self.window_passage = np.array([row for row, _, _ in windows], dtype=int)
        """Row of each window's paragraph, shape (windows,)."""
        headed = [f"{passage.section}\n{text}" if passage.section else text for _, passage, text in windows]
        self.window_texts = [
            f"{passage.context}\n{text}" if passage.context else text
            for (_, passage, _), text in zip(windows, headed, strict=True)
        ]
        self.first_window = np.searchsorted(self.window_passage, np.arange(len(passages)))
        by_passage = [[passage.text[start:end] for start, end in passage.sentences] for passage in passages]
        self.sentence_texts = [text for texts in by_passage for text in texts]
        self._first_sentence = np.cumsum([0, *map(len, by_passage[:-1])])
        self.window_terms = Postings(dict.fromkeys(analyzer.terms(text), 1) for _, _, text in windows)
        self.grams = Postings(dict.fromkeys(self._grams(text), 1) for text in headed)

    def bm25(self, weights: Mapping[str, float]) -> Scores:
        """Return the sum of weight x BM25 over the terms (Robertson & Zaragoza 2009; k1 = 1.2, b = 0.75)."""
        scores = np.zeros(len(self.passages))
        for term, weight in weights.items():
            rows, counts = self.terms.rows(term), self.terms.counts(term)
            scores[rows] += weight * self.terms.idf(term) * counts * (K1 + 1) / (counts + self._norm[rows])
        return scores

    def window_coverage(self, weights: Mapping[str, float]) -> Scores:
        """Return the idf-weighted share (0-1) of the terms that the paragraph's best window has."""
        return self._best_window(self.window_terms, weights)

    def letters(self, text: str) -> Scores:
        """Return the idf-weighted share (0-1) of the letter 4-grams of ``text`` that the best window has."""
        return self._best_window(self.grams, dict.fromkeys(self._grams(text), 1.0))

    def pair_share(self, terms: Sequence[str]) -> Scores:
        """Return the share (0-1) of neighbouring term pairs that occur in the paragraph, at most one term apart."""
        pairs = list(dict.fromkeys(pairwise(terms)))
        scores = np.zeros(len(self.passages))
        for pair in pairs:
            scores[self.pairs.rows(pair)] += 1 / len(pairs)
        return scores

    def best_of_windows(self, scores: Scores) -> Scores:
        """Reduce scores of shape (windows,) to the maximum of each paragraph, shape (paragraphs,)."""
        return np.maximum.reduceat(scores, self.first_window) if len(scores) else np.zeros(len(self.passages))

    def best_of_sentences(self, scores: Scores) -> Scores:
        """Reduce scores of shape (sentences,) to the maximum of each paragraph, shape (paragraphs,)."""
        return np.maximum.reduceat(scores, self._first_sentence) if len(scores) else np.zeros(len(self.passages))

    def _best_window(self, postings: Postings, weights: Mapping[str, float]) -> Scores:
        total = sum(weight * postings.idf(feature) for feature, weight in weights.items())
        scores = np.zeros(len(self.window_passage))
        for feature, weight in weights.items():
            scores[postings.rows(feature)] += weight * postings.idf(feature)
        return self.best_of_windows(scores) / total if total else np.zeros(len(self.passages))

    def _grams(self, text: str) -> list[str]:
        return [gram for word, _ in self.analyzer.content_words(text) for gram in _word_grams(word)]


@lru_cache(maxsize=100_000)
def _word_grams(word: str) -> tuple[str, ...]:
    padded = f" {fold(word)} "
    return tuple(padded[begin : begin + GRAM] for begin in range(max(1, len(padded) - GRAM + 1)))
