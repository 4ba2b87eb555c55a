"""Types of arrays, and the two things that numpy has no name for."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
Array = NDArray[Any]

_F = TypeVar("_F", bound=Callable[..., Any])


def _keep_by_sources() -> None:
    """One place for what the sources of this folder, as they are now, compile to.

    numba itself looks only at the file of a function, and would go on using what it inlined from another one.
    """
    folder = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted(folder.glob("*.py")):
        digest.update(source.read_bytes())
    place = folder / "__pycache__" / f"numba-{digest.hexdigest()[:12]}"
    # Where nothing can be written, numba has a folder of its own for each user.
    with suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
        if os.access(place, os.W_OK):
            numba.config.CACHE_DIR = str(place)  # type: ignore[attr-defined]  # made when numba is imported
        for older in place.parent.glob("numba-*"):
            if older != place:
                shutil.rmtree(older, ignore_errors=True)


_keep_by_sources()


def compiled(function: _F) -> _F:
    """Compiled by numba at its first call, once per machine and version: what it makes is kept beside the source.

    A question's arrays are small (some 150 documents), so that numpy would spend its time on calling, not on counting.
    Indexes are not checked in compiled code. The interpreter's lock is free while it runs.
    """
    return cast(_F, numba.njit(cache=True, nogil=True)(function))


def offsets(counts: Array) -> Ints:
    """Where each row begins if rows of these lengths stand one after the other; one more entry than rows."""
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def distinct(values: Array) -> tuple[Array, Ints]:
    """(each value once, in rising order; how often it is there). ``values`` are put in order on the way.

    As ``numpy.unique``, whose hash table of millions of numbers takes many times their own memory.
    """
    values.sort()
    first = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    at = np.flatnonzero(first)
    return values[at], np.diff(at, append=len(values))


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
