"""Take over the vectors of what a knowledge base has in common with an earlier version of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.retrieval.arrays import Ints
from chatbot_mvp.retrieval.kb.vocabulary import KbIndex

GONE = -1
"""In place of a row: the earlier version does not have it."""


@dataclass(frozen=True)
class EarlierVectors:
    """The vectors of a version whose texts were embedded in the same way."""

    kb: KbIndex
    windows: Vectors
    sentences: Vectors
    chunks: Vectors | None
    """None if they are not in memory."""


class Unchanged:
    """Which paragraphs, windows and sentences an earlier version has as well, and their vectors.

    The vectors of a paragraph's windows and sentences depend on its context, heading and text alone.

    Args:
        earlier: None for none; then everything is fresh.
    """

    def __init__(self, kb: KbIndex, earlier: EarlierVectors | None) -> None:
        self._kb = kb
        self._earlier = earlier
        passages = kb.matcher.passages
        row_of: dict[tuple[str, str, str], int] = {}
        if earlier is not None:
            known = enumerate(earlier.kb.matcher.passages)
            row_of = {(one.context, one.section, one.text): row for row, one in known}
        found = (row_of.get((one.context, one.section, one.text), GONE) for one in passages)
        self._passages: Ints = np.fromiter(found, np.int64, len(passages))

    @cached_property
    def fresh(self) -> Ints:
        """Rows of the paragraphs that the earlier version does not have, in rising order."""
        return np.flatnonzero(self._passages == GONE)

    @cached_property
    def fresh_windows(self) -> Ints:
        """Rows of the windows, and of the sentences, of ``fresh``."""
        return np.flatnonzero(self._windows == GONE)

    @property
    def count(self) -> int:
        """Number of distinct paragraphs that are not fresh."""
        return len(np.unique(self._passages[self._passages != GONE]))

    def windows(self, fresh: Vectors) -> Vectors:
        """Return the vectors of all windows.

        Args:
            fresh: those of ``fresh_windows``.
        """
        return fresh if self._earlier is None else _spliced(self._windows, self._earlier.windows, fresh)

    def sentences(self, fresh: Vectors) -> Vectors:
        """Return the vectors of all sentences. Argument as for ``windows``."""
        return fresh if self._earlier is None else _spliced(self._windows, self._earlier.sentences, fresh)

    @cached_property
    def with_documents(self) -> bool:
        """Whether the earlier version consists of short documents, too, and has their vectors in memory."""
        return self._earlier is not None and self._earlier.kb.is_corpus and self._earlier.chunks is not None

    def documents(self, fresh: Vectors) -> Vectors:
        """Return the vectors of all short documents.

        Args:
            fresh: those of ``fresh`` paragraphs if ``with_documents``, else all of them.
        """
        if self._earlier is None or self._earlier.chunks is None or not self.with_documents:
            return fresh
        return _spliced(self._passages, self._earlier.chunks, fresh)

    @cached_property
    def _windows(self) -> Ints:
        """For each window, the row of the equal one of the earlier version; GONE if there is none."""
        matcher = self._kb.matcher
        if self._earlier is None:
            return np.full(len(matcher.window_passage), GONE, np.int64)
        passage = self._passages[matcher.window_passage]
        inside = np.arange(len(passage)) - matcher.first_window[matcher.window_passage]
        first: Ints = np.append(self._earlier.kb.matcher.first_window, 0)
        return np.where(passage == GONE, GONE, first[passage] + inside)


def _spliced(origin: Ints, earlier: Vectors, fresh: Vectors) -> Vectors:
    vectors = np.empty((len(origin), fresh.shape[1]), np.float32)
    kept = origin != GONE
    vectors[kept] = earlier[origin[kept]]
    vectors[~kept] = fresh
    return vectors
