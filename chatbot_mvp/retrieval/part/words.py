"""The words of a part of a knowledge base: arrays over its own paragraphs, with the weights of the whole."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Doubles, Ints
from chatbot_mvp.retrieval.indexes.lexical import LexicalSearch
from chatbot_mvp.retrieval.kb.matching import PassageMatcher
from chatbot_mvp.retrieval.kb.passages import Passage
from chatbot_mvp.retrieval.postings import PairPostings, Postings

_MORE = 16
"""Hits beyond the expected share that the first search of the whole asks for."""
_FACTOR = 4


class Rows:
    """Some rows of an index, numbered anew from 0 in their order.

    Args:
        kept: the rows, rising.
        count: number of rows of the whole.
    """

    def __init__(self, kept: Ints, count: int) -> None:
        self.kept = kept
        self._place = np.full(count, -1, np.int64)
        self._place[kept] = np.arange(len(kept))

    def __len__(self) -> int:
        return len(self.kept)

    def having(self, rows: Array) -> tuple[Ints, Array]:
        """Return (new numbers of those of ``rows`` that are kept, whether each of ``rows`` is)."""
        place = self._place[rows]
        return place[place >= 0], place >= 0


class PartPostings(Postings):
    """Postings of some rows. A feature is as rare as it is in the whole."""

    def __init__(self, whole: Postings, rows: Rows) -> None:
        self._whole, self._rows = whole, rows
        self.count = len(rows)
        self.numbers = whole.numbers

    def rows(self, feature: Hashable) -> Array:
        return self._rows.having(self._whole.rows(feature))[0]

    def counts(self, feature: Hashable) -> Doubles:
        counts: Doubles = self._whole.counts(feature)[self._rows.having(self._whole.rows(feature))[1]]
        return counts

    def idf(self, feature: Hashable) -> float:
        return self._whole.idf(feature)


class PartPairs(PartPostings, PairPostings):
    """Pairs of neighbouring terms in some paragraphs."""

    def __init__(self, whole: PairPostings, rows: Rows) -> None:
        PartPostings.__init__(self, whole, rows)
        self._pairs = whole

    def numbers_after(self, term: str) -> int:
        return self._pairs.numbers_after(term)  # what tells records apart is the kind of word, a matter of the whole


class PartMatcher(PassageMatcher):
    """Scores the paragraphs of a part. Each score is the one that the paragraph has in the whole.

    Args:
        whole: scores all paragraphs.
        passages: rows of those of the part.
        windows: rows of the windows of these.
        chunks: rows of the chunks of the part.
    """

    def __init__(self, whole: PassageMatcher, passages: Rows, windows: Rows, chunks: Rows) -> None:
        self._whole, self._rows, self.in_whole = whole, passages, windows.kept
        self.analyzer = whole.analyzer
        self.passages: Sequence[Passage] = [_renumbered(whole.passages[row], chunks) for row in passages.kept.tolist()]
        self.terms = PartPostings(whole.terms, passages)
        self.searched = self.terms if whole.searched is whole.terms else PartPostings(whole.searched, passages)
        self.pairs = PartPairs(whole.pairs, passages)
        self.section_of = whole.section_of[passages.kept]
        self.window_passage, _ = passages.having(whole.window_passage[windows.kept])
        self.first_window = np.searchsorted(self.window_passage, np.arange(len(passages)))

    def bm25(self, weights: Mapping[str, float], with_questions: bool = False) -> Doubles:
        return self._of(self._whole.bm25(weights, with_questions))

    def window_coverage(self, weights: Mapping[str, float]) -> Doubles:
        return self._of(self._whole.window_coverage(weights))

    def letters(self, text: str) -> Doubles:
        return self._of(self._whole.letters(text))

    def pair_share(self, terms: Sequence[str]) -> Doubles:
        return self._of(self._whole.pair_share(terms))

    def heading_counts(self, terms: Iterable[str]) -> Doubles:
        return self._of(self._whole.heading_counts(terms))

    def of_language(self, scores: Doubles, window: int) -> Doubles:
        every = np.full(len(self._whole.window_passage), np.nan)
        every[self.in_whole] = scores
        found = self._whole.of_language(every, int(self.in_whole[window]))
        kept: Doubles = found[~np.isnan(found)]
        return kept

    def window_text(self, row: int) -> str:
        return self._whole.window_text(int(self.in_whole[row]))

    def sentence_text(self, row: int) -> str:
        return self._whole.sentence_text(int(self.in_whole[row]))

    def _of(self, scores: Doubles) -> Doubles:
        kept: Doubles = scores[self._rows.kept]
        return kept


class PartSearch:
    """A ``LexicalSearch`` over some chunks: the ranking of the whole without the others."""

    def __init__(self, whole: LexicalSearch, chunks: Rows, count: int, matcher: PassageMatcher) -> None:
        """
        Args:
            count: number of chunks of the whole.
            matcher: the paragraphs of these chunks.
        """
        self.analyzer = whole.analyzer
        self._whole, self._chunks, self._count, self._matcher = whole, chunks, count, matcher

    def search(self, query: str, limit: int) -> list[tuple[int, float]]:
        limit = min(limit, len(self._chunks))
        asked = limit * self._count // max(1, len(self._chunks)) + _MORE
        while True:
            found = self._whole.search(query, min(asked, self._count))
            rows, kept = self._chunks.having(np.array([row for row, _ in found], np.int64))
            if len(rows) >= limit or len(found) < asked:
                scores = [score for (_, score), own in zip(found, kept.tolist(), strict=True) if own]
                return list(zip(rows.tolist(), scores, strict=True))[:limit]
            asked *= _FACTOR

    def document_frequency(self, term: str) -> int:
        passages = self._matcher.passages
        return len({hit for row in self._matcher.terms.rows(term).tolist() for hit in passages[row].hits})


def _renumbered(passage: Passage, chunks: Rows) -> Passage:
    return replace(passage, hits=tuple(chunks.having(np.array(passage.hits, np.int64))[0].tolist()))
