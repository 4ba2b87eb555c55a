"""BM25 search with NumPy, for a machine where Tantivy cannot be imported. Its rankings are those of Tantivy."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Floats, Ints
from chatbot_mvp.retrieval.bm25 import DocumentWeights, in_order, term_weights
from chatbot_mvp.retrieval.postings import Impacts, Postings, search
from chatbot_mvp.storage.files import make_new_folder
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, Progress, ProgressCallback, ignore_progress

_POSTINGS, _TERMS, _COMPLETE = "postings.npz", "terms.json", "complete"
_NEAR = 1e-5
"""Relative distance from the last score within the limit up to which hits take part in the breaking of ties."""
_MORE = 16
"""Hits beyond the limit that are looked for at first, to see those that are so near."""


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
        self._number = {term: number for number, term in enumerate(terms)}
        impact = term_weights(np.diff(start), count).repeat(np.diff(start)) * weight
        highest = np.maximum.reduceat(impact, start[:-1]) if len(terms) else impact
        self._impacts = Impacts(start, row, impact, highest)

    @classmethod
    def build(
        cls,
        chunks: Sequence[Chunk],
        analyzer: Analyzer,
        folder: Path | None = None,
        progress: ProgressCallback = ignore_progress,
    ) -> ArrayIndex:
        """Index ``chunks``, in a folder beside ``folder`` if it is given (``open`` loads it later), else in memory."""

        def terms() -> Iterator[list[str]]:
            for row, chunk in enumerate(chunks):
                yield analyzer.terms(chunk.index_text)
                if row % 2_000 == 0:
                    progress(Progress("index", row, len(chunks)))

        found = Postings.of(terms(), counted=True)
        assert found.times is not None, "they are counted"
        lengths = np.bincount(found.row, found.times, len(chunks))
        weights = DocumentWeights(max(1.0, float(lengths.sum())) / max(1, len(chunks)))
        arrays = found.start, found.row, weights.of_postings(found.times, lengths[found.row])
        if folder is not None:
            _save(_beside(folder), len(chunks), list(found.numbers), *arrays)
        progress(Progress("index", len(chunks), len(chunks)))
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
        terms = np.array([number for number in asked if number is not None], np.int64)
        total, most = np.zeros(self.count, np.float32), limit + _MORE
        rows, scores = search(self._impacts, terms, most, total)
        while len(rows) == most and scores[-1] >= scores[limit - 1] * (1 - _NEAR):
            most *= 2
            rows, scores = search(self._impacts, terms, most, total)
        return in_order(zip(rows.tolist(), scores.tolist(), strict=True), limit)

    def document_frequency(self, term: str) -> int:
        number = self._number.get(term)
        return 0 if number is None else int(self._impacts.start[number + 1] - self._impacts.start[number])


def _save(place: Path, count: int, terms: Sequence[str], start: Ints, row: Array, weight: Floats) -> None:
    # The folder may hold the remains of an interrupted build.
    shutil.rmtree(place, ignore_errors=True)
    make_new_folder(place)
    (place / _TERMS).write_text(json.dumps(terms, ensure_ascii=False), "utf-8")
    np.savez(place / _POSTINGS, count=np.int64(count), starts=start, rows=row, weights=weight)
    (place / _COMPLETE).touch()


def _beside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-arrays")
