"""Array types and small array functions of the indexes. Ragged data is one flat array with the offsets of its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]
Array = NDArray[Any]


def offsets(counts: Array) -> Ints:
    """Return the start of each row in a flat array of rows with these lengths, and the total length as last entry."""
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def rows_of(lengths: Array) -> Array:
    """Return the row number of every item, for rows of the given lengths: (2, 1) gives (0, 0, 1)."""
    return np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)


def entries(start: Ints, rows: Array) -> tuple[Ints, Ints]:
    """List the entries of some rows of a flat array, row after row.

    Args:
        start: offset of each row of the flat array, and the total.
        rows: numbers of the rows, shape (R,).

    Returns:
        (index into ``rows``, place in the flat array) of each entry.
    """
    begin = start.take(rows)
    count = start.take(rows + 1) - begin
    end = count.cumsum()
    owner = np.arange(len(rows)).repeat(count)
    places = np.arange(len(owner))
    places += (begin - end + count).repeat(count)
    return owner, places


def first_flags(rising: Array) -> Flags:
    """Return for each value of a sorted array whether it differs from the value before."""
    first = np.ones(len(rising), bool)
    np.not_equal(rising[1:], rising[:-1], out=first[1:])
    return first


def distinct(values: Array) -> tuple[Array, Ints]:
    """Return (distinct values in rising order, their counts). Sorts ``values`` in place.

    Replaces ``numpy.unique``, whose hash table takes many times the memory of the values.
    """
    values.sort()
    at = first_flags(values).nonzero()[0]
    return values[at], np.diff(np.append(at, len(values)))


def best_first(score: Array) -> Ints:
    """Return the positions by falling score; equal scores keep their order."""
    return (-score).argsort(kind="stable")


def best_rows(scores: Array, limit: int) -> Ints:
    """Return the rows of the ``limit`` highest scores, best first, ties by row."""
    count = min(limit, len(scores))
    if count == 0:
        return np.zeros(0, np.int64)
    # Rows that tie for the last place are ordered by row number, so collect all of them first.
    rows = np.flatnonzero(scores >= np.partition(scores, len(scores) - count)[len(scores) - count])
    return rows.take(best_first(scores.take(rows))[:count])
