"""BM25 search with NumPy, for knowledge bases and where Tantivy is missing. Its rankings are those of Tantivy."""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Floats, Ints
from chatbot_mvp.retrieval.bm25 import DocumentWeights, in_order, term_weights
from chatbot_mvp.retrieval.postings import Impacts, Postings, search
from chatbot_mvp.retrieval.splicing import Rows
from chatbot_mvp.storage.files import make_new_folder
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, Progress, ProgressCallback, ignore_progress

_POSTINGS, _TERMS, _COMPLETE = "postings.npz", "terms.json", "complete"
_NEAR = 1e-5
"""Relative distance from the last score within the limit up to which hits take part in the breaking of ties."""
_MORE = 16
"""Hits beyond the limit that are looked for at first, to see those that are so near."""
_MOST_UNUSED = 0.3
"""Share (0-1) of terms that no chunk has any more, from which all chunks are read again: they take memory."""


class ArrayIndex:
    """A ``LexicalSearch`` in memory: ``Impacts`` with Tantivy's weights (see ``bm25``), searched as the walk's.

    ``folder`` is that of Tantivy's index; this one is beside it, so that neither engine reads the other's files.
    """

    def __init__(self, analyzer: Analyzer, count: int, terms: Sequence[str], start: Ints, row: Array, weight: Floats):
        """
        Args:
            count: number of chunks, those without terms included.
            terms: the vocabulary.
            start: shape (terms + 1,): the postings of term i are those from start[i] to start[i + 1].
            row, weight: shape (postings,): the row of each posting, and its ``DocumentWeights``.
        """
        self.analyzer = analyzer
        self.count = count
        self._postings: Postings | None = None  # for ``changed``
        self._number: Mapping[str, int] = {term: number for number, term in enumerate(terms)}
        self._weigh(start, row, weight)

    def _weigh(self, start: Ints, row: Array, weight: Floats) -> None:
        containing = np.diff(start)
        impact = term_weights(containing, self.count).repeat(containing) * weight
        highest = np.zeros(len(containing), np.float32)
        there = np.flatnonzero(containing)
        highest[there] = np.maximum.reduceat(impact, start[there]) if len(there) else 0
        self._impacts = Impacts(start, row, impact, highest)

    @classmethod
    def in_memory(
        cls, chunks: Sequence[Chunk], analyzer: Analyzer, progress: ProgressCallback = ignore_progress
    ) -> ArrayIndex:
        """Index ``chunks`` for a knowledge base: without files, and so that it can be ``changed``."""
        return cls._of(_read(chunks, analyzer, progress), analyzer)

    @property
    def changeable(self) -> bool:
        """Whether it was made by ``in_memory`` or ``changed``."""
        return self._postings is not None

    def changed(
        self,
        chunks: Sequence[Chunk],
        analyzer: Analyzer,
        rows: Rows,
        otherwise: Collection[str] = (),
        progress: ProgressCallback = ignore_progress,
    ) -> ArrayIndex:
        """Return the index of other chunks, equal to one that is built from them. The chunks that stay are not read.

        Args:
            rows: which chunks are those of this index, which is ``changeable``.
            otherwise: as in ``KbIndex``; ``analyzer`` gives chunks that stay and have none of them the terms they had.
        """
        assert self._postings is not None, "it is changeable"
        rows = rows.without(self._postings.rows_of_any(otherwise))
        fresh = np.flatnonzero(rows.fresh)
        added = _read([chunks[row] for row in fresh.tolist()], analyzer, progress)
        numbers = dict(self._postings.numbers)
        of_added = np.array([numbers.setdefault(term, len(numbers)) for term in added.numbers], np.int64)
        assert added.times is not None, "they are counted"
        features = of_added.repeat(np.diff(added.start)).repeat(added.times)
        places = fresh[added.row].repeat(added.times)
        found = self._postings.changed(numbers, rows.placed, features, places, len(chunks))
        if np.count_nonzero(np.diff(found.start)) < (1 - _MOST_UNUSED) * len(numbers):
            return self.in_memory(chunks, analyzer, progress)
        return self._of(found, analyzer)

    @classmethod
    def _of(cls, postings: Postings, analyzer: Analyzer) -> ArrayIndex:
        index = cls(analyzer, postings.count, (), np.zeros(1, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32))
        index._postings, index._number = postings, postings.numbers
        index._weigh(postings.start, postings.row, _weights(postings))
        return index

    @classmethod
    def build(
        cls,
        chunks: Sequence[Chunk],
        analyzer: Analyzer,
        folder: Path | None = None,
        progress: ProgressCallback = ignore_progress,
    ) -> ArrayIndex:
        """Index ``chunks``, in a folder beside ``folder`` if it is given (``open`` loads it later), else in memory."""

        found = _read(chunks, analyzer, progress)
        arrays = found.start, found.row, _weights(found)
        if folder is not None:
            _save(_beside(folder), len(chunks), list(found.numbers), *arrays)
        return cls(analyzer, len(chunks), list(found.numbers), *arrays)

    @classmethod
    def open(cls, folder: Path, analyzer: Analyzer) -> ArrayIndex | None:
        """Load the index beside ``folder``; None if there is no complete and readable one."""
        if not cls.is_complete(folder):
            return None
        place = _beside(folder)
        try:
            terms = json.loads((place / _TERMS).read_text("utf-8"))
            with np.load(place / _POSTINGS) as found:
                return cls(analyzer, int(found["count"]), terms, found["starts"], found["rows"], found["weights"])
        except (OSError, ValueError, KeyError):  # damaged: the caller rebuilds it
            return None

    @staticmethod
    def is_complete(folder: Path) -> bool:
        """Return whether the folder beside ``folder`` holds a completed build."""
        return (_beside(folder) / _COMPLETE).is_file()

    def search(self, query: str, limit: int) -> list[tuple[int, float]]:
        asked = [self._number.get(term) for term in dict.fromkeys(self.analyzer.terms(query))]
        of_terms = np.array([number for number in asked if number is not None], np.int64)
        start = self._impacts.start
        terms = of_terms[start[of_terms] < start[of_terms + 1]]  # without those that no chunk has any more
        total, most = np.zeros(self.count, np.float32), limit + _MORE
        rows, scores = search(self._impacts, terms, most, total)
        while len(rows) == most and scores[-1] >= scores[limit - 1] * (1 - _NEAR):
            most *= 2
            rows, scores = search(self._impacts, terms, most, total)
        return in_order(zip(rows.tolist(), scores.tolist(), strict=True), limit)

    def document_frequency(self, term: str) -> int:
        number = self._number.get(term)
        return 0 if number is None else int(self._impacts.start[number + 1] - self._impacts.start[number])


def _read(chunks: Sequence[Chunk], analyzer: Analyzer, progress: ProgressCallback) -> Postings:
    def terms() -> Iterator[list[str]]:
        for row, chunk in enumerate(chunks):
            yield analyzer.terms(chunk.index_text)
            if row % 2_000 == 0:
                progress(Progress("index", row, len(chunks)))

    found = Postings.of(terms(), counted=True)
    progress(Progress("index", len(chunks), len(chunks)))
    return found


def _weights(postings: Postings) -> Floats:
    """Return the ``DocumentWeights`` of each posting."""
    assert postings.times is not None, "they are counted"
    lengths = np.bincount(postings.row, postings.times, postings.count)
    weights = DocumentWeights(max(1.0, float(lengths.sum())) / max(1, postings.count))
    return weights.of_postings(postings.times, lengths[postings.row])


def _save(place: Path, count: int, terms: Sequence[str], start: Ints, row: Array, weight: Floats) -> None:
    # The folder may hold the remains of an interrupted build.
    shutil.rmtree(place, ignore_errors=True)
    make_new_folder(place)
    (place / _TERMS).write_text(json.dumps(terms, ensure_ascii=False), "utf-8")
    np.savez(place / _POSTINGS, count=np.int64(count), starts=start, rows=row, weights=weight)
    (place / _COMPLETE).touch()


def _beside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-arrays")
