"""Array types and small array functions of the walk."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Array = NDArray[Any]

REACH = 5
"""Number of content words on either side of a mention that count as near."""


def offsets(counts: Array) -> Ints:
    """Return the start of each row in a flat array of rows with these lengths, and the total length as last entry."""
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


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


def distinct(values: Array) -> tuple[Array, Ints]:
    """Return (distinct values in rising order, their counts). Sorts ``values`` in place.

    Replaces ``numpy.unique``, whose hash table takes many times the memory of the values.
    """
    values.sort()
    first = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    at = np.flatnonzero(first)
    return values[at], np.concatenate((at[1:], [len(values)]))[: len(at)] - at


def best_first(score: Floats) -> Ints:
    """Return the positions by falling score; equal scores keep their order."""
    return (-score).argsort(kind="stable")
