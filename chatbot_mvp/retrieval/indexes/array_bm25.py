"""BM25 search with NumPy, for a machine where Tantivy cannot be imported. Its rankings are those of Tantivy."""

from __future__ import annotations

import json
import shutil
from array import array
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chatbot_mvp.retrieval.indexes.bm25 import DocumentWeights, in_order, term_weight
from chatbot_mvp.storage.files import make_new_folder
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, Progress, ProgressCallback, ignore_progress

_POSTINGS, _TERMS, _COMPLETE = "postings.npz", "terms.json", "complete"
_NEAR = 1e-5
"""Relative distance from the last score within the limit up to which hits take part in the breaking of ties."""


class ArrayIndex:
    """A ``LexicalSearch`` in memory: for each term the rows with it and their weights (see ``bm25``).

    ``folder`` is that of Tantivy's index; this one is beside it, so that neither engine reads the other's files.
    """

    def __init__(
        self,
        analyzer: Analyzer,
        count: int,
        terms: Sequence[str],
        starts: NDArray[np.int64],
        rows: NDArray[np.int32],
        weights: NDArray[np.float32],
    ) -> None:
        """
        Args:
            count: number of chunks, those without terms included.
            terms: the vocabulary.
            starts: shape (terms + 1,): the postings of term i are those from starts[i] to starts[i + 1].
            rows, weights: shape (postings,): the row of each posting, and its weight in the score.
        """
        self.analyzer = analyzer
        self.count = count
        self._place = {term: number for number, term in enumerate(terms)}
        self._starts, self._rows, self._weights = starts, rows, weights

    @classmethod
    def build(
        cls,
        chunks: Sequence[Chunk],
        analyzer: Analyzer,
        folder: Path | None = None,
        progress: ProgressCallback = ignore_progress,
    ) -> ArrayIndex:
        """Index ``chunks``, in a folder beside ``folder`` if it is given (``open`` loads it later), else in memory."""
        numbers: dict[str, int] = {}
        rows: dict[int, array[int]] = defaultdict(lambda: array("i"))
        counts: dict[int, array[int]] = defaultdict(lambda: array("i"))
        lengths = np.zeros(len(chunks), np.int64)
        for row, chunk in enumerate(chunks):
            found = [numbers.setdefault(term, len(numbers)) for term in analyzer.terms(chunk.index_text)]
            lengths[row] = len(found)
            for number in dict.fromkeys(found):
                rows[number].append(row)
                counts[number].append(found.count(number))
            if row % 2_000 == 0:
                progress(Progress("index", row, len(chunks)))
        sizes = [len(rows[number]) for number in range(len(numbers))]
        starts = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
        of_rows = _joined([rows[number] for number in range(len(numbers))])
        frequencies = _joined([counts[number] for number in range(len(numbers))])
        weights = DocumentWeights(max(1.0, float(lengths.sum())) / max(1, len(chunks)))
        made = cls(
            analyzer, len(chunks), list(numbers), starts, of_rows, weights.of_postings(frequencies, lengths[of_rows])
        )
        if folder is not None:
            made._save(_beside(folder))
        progress(Progress("index", len(chunks), len(chunks)))
        return made

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
        """Return (row, BM25 score) of the best ``limit`` chunks, ties by row; empty if the query has no terms."""
        scores = np.zeros(self.count, np.float32)
        for term in dict.fromkeys(self.analyzer.terms(query)):
            if (number := self._place.get(term)) is not None:
                part = slice(self._starts[number], self._starts[number + 1])
                weight = np.float32(term_weight(int(part.stop - part.start), self.count))
                scores[self._rows[part]] += weight * self._weights[part]
        found = np.flatnonzero(scores)
        if len(found) > limit:
            last = np.partition(scores[found], -limit)[-limit] if limit > 0 else np.inf
            found = found[scores[found] >= last * (1 - _NEAR)]
        return in_order(zip(found.tolist(), scores[found].tolist(), strict=True), limit)

    def document_frequency(self, term: str) -> int:
        """Return the number of chunks in which ``term`` occurs."""
        number = self._place.get(term)
        return 0 if number is None else int(self._starts[number + 1] - self._starts[number])

    def _save(self, place: Path) -> None:
        # The folder may hold the remains of an interrupted build.
        shutil.rmtree(place, ignore_errors=True)
        make_new_folder(place)
        (place / _TERMS).write_text(json.dumps(list(self._place), ensure_ascii=False), "utf-8")
        count = np.int64(self.count)
        np.savez(place / _POSTINGS, count=count, starts=self._starts, rows=self._rows, weights=self._weights)
        (place / _COMPLETE).touch()


def _joined(parts: Sequence[array[int]]) -> NDArray[np.int32]:
    return np.concatenate([np.asarray(part, np.int32) for part in parts]) if parts else np.zeros(0, np.int32)


def _beside(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}-arrays")
