"""Array types, the numba decorator, and small array functions of the walk."""

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
    """Give numba a cache folder that is specific to the current sources of this package.

    numba only checks the file of the compiled function, so it would reuse stale code inlined from another file.
    """
    folder = Path(__file__).parent
    digest = hashlib.sha256()
    for source in sorted(folder.glob("*.py")):
        digest.update(source.read_bytes())
    place = folder / "__pycache__" / f"numba-{digest.hexdigest()[:12]}"
    # If the folder is not writable, numba falls back to its cache folder of the user.
    with suppress(OSError):
        place.mkdir(parents=True, exist_ok=True)
        if os.access(place, os.W_OK):
            numba.config.CACHE_DIR = str(place)  # type: ignore[attr-defined]  # made when numba is imported
        for older in place.parent.glob("numba-*"):
            if older != place:
                shutil.rmtree(older, ignore_errors=True)


_keep_by_sources()


def compiled(function: _F) -> _F:
    """Compile a function with numba at its first call, and cache the machine code beside the source.

    A question's arrays are small (about 150 documents), so numpy would spend most of its time on call overhead.
    Compiled code does not check index bounds. It runs without holding the interpreter's lock.
    """
    return cast(_F, numba.njit(cache=True, nogil=True)(function))


def offsets(counts: Array) -> Ints:
    """Return the start of each row in a flat array of rows with these lengths, and the total length as last entry."""
    return np.concatenate(([0], np.cumsum(counts))).astype(np.int64)


def distinct(values: Array) -> tuple[Array, Ints]:
    """Return (distinct values in rising order, their counts). Sorts ``values`` in place.

    Replaces ``numpy.unique``, whose hash table takes many times the memory of the values.
    """
    values.sort()
    first = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    at = np.flatnonzero(first)
    return values[at], np.diff(at, append=len(values))


@compiled
def best_first(score: Floats) -> Ints:
    """Return the positions by falling score; equal scores keep their order."""
    return np.argsort(-score, kind="mergesort")


@compiled
def highest(score: Floats, count: np.int64) -> Ints:
    """Return the first ``count`` positions of ``best_first``; faster than sorting if ``count`` is small."""
    left = score.copy()
    positions = np.empty(min(int(count), len(score)), np.int64)
    for i in range(len(positions)):
        positions[i] = np.argmax(left)
        left[positions[i]] = -np.inf
    return positions
