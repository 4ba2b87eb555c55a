"""Names of rows by what they contain, so that the versions of a knowledge base share the rows that did not change."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence

import numpy as np

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.retrieval.arrays import Array, Ints, entries, offsets

_BYTES = 12  # of a hash: a billion different rows share an id once in 10^11 times


class RowIds:
    """The ids of the rows of one matrix, as hex digits. Equal rows have one id.

    Args:
        matrix: shape (rows, dimensions).
    """

    def __init__(self, matrix: Vectors) -> None:
        found = [hashlib.blake2b(row, digest_size=_BYTES).hexdigest() for row in np.ascontiguousarray(matrix)]
        names = np.array(found, f"S{2 * _BYTES}")
        self._ids, self._first, self._number = np.unique(names, return_index=True, return_inverse=True)
        self._rows = np.argsort(self._number, kind="stable")
        self._start = offsets(np.bincount(self._number, minlength=len(self._ids)))
        self.count = len(found)
        """Number of rows of the matrix."""

    def __len__(self) -> int:
        """Return the number of distinct ids."""
        return len(self._ids)

    @property
    def distinct(self) -> list[str]:
        """All ids, each once, in rising order."""
        return _texts(self._ids)

    def missing(self, present: Collection[str]) -> tuple[list[str], Ints]:
        """Return the distinct ids that are not in ``present``, and the first row of each."""
        there = np.isin(self._ids, np.array(list(present), "S")) if present else np.zeros(len(self), bool)
        return _texts(self._ids[~there]), self._first[~there].astype(np.int64)

    def of_rows(self, rows: Ints) -> list[str]:
        """Return the id of each of some rows."""
        return _texts(self._ids[self._number[rows]])

    def rows_of(self, ids: Sequence[str]) -> tuple[Ints, Ints]:
        """Return (the rows that have some ids; for each, the place of its id in ``ids``). Unknown ids are ignored."""
        if not ids or not len(self):
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        asked = np.array(ids, "S")
        at = np.minimum(np.searchsorted(self._ids, asked), len(self) - 1)
        known = np.flatnonzero(self._ids[at] == asked)
        owner, places = entries(self._start, at[known])
        return self._rows[places].astype(np.int64), known[owner]


def _texts(ids: Array) -> list[str]:
    return [id_.decode() for id_ in ids.tolist()]
