"""Types of arrays, and the two things that numpy has no name for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Array = NDArray[Any]

_F = TypeVar("_F", bound=Callable[..., Any])


def compiled(function: _F) -> _F:
    """Compiled by numba at its first call, once per machine: what it makes is kept beside the source.

    A question's arrays are small (some 150 documents), so that numpy would spend its time on calling, not on counting.
    Indexes are not checked in compiled code. The interpreter's lock is free while it runs.
    """
    return cast(_F, numba.njit(cache=True, nogil=True)(function))


def offsets(counts: Array) -> Ints:
    """Where each row begins if rows of these lengths stand one after the other; one more entry than rows."""
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


@compiled
def best_first(score: Floats) -> Ints:
    """Positions by falling score, equal scores in their order."""
    return np.argsort(-score, kind="mergesort")


@compiled
def highest(score: Floats, count: np.int64) -> Ints:
    """The first ``count`` of ``best_first``, or fewer if there are fewer; for a small count."""
    left = score.copy()
    positions = np.empty(min(int(count), len(score)), np.int64)
    for i in range(len(positions)):
        positions[i] = np.argmax(left)
        left[positions[i]] = -np.inf
    return positions
