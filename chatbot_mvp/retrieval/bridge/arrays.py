"""Two operations on ragged data that numpy has no name for."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Array = NDArray[Any]


def gather(starts: Array, ends: Array) -> tuple[Ints, Ints]:
    """The positions starts[i]..ends[i]-1 of all rows one after the other, and the row i of each."""
    lengths = ends - starts
    rows = np.repeat(np.arange(len(starts)), lengths)
    before = np.concatenate(([0], np.cumsum(lengths)[:-1])) if len(starts) else np.zeros(0, np.int64)
    return np.arange(len(rows)) + np.repeat(starts - before, lengths), rows


def offsets(counts: Array) -> Ints:
    """Where each row begins if rows of these lengths stand one after the other; one more entry than rows."""
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def row_maximum(values: Array, rows: Array, count: int) -> Floats:
    """The highest value of each row, 0 for a row without any."""
    highest = np.zeros(count, np.float32)
    np.maximum.at(highest, rows, values)
    return highest
