"""Keys: 64-bit hashes in place of words and names, so that millions of them are sorted and found as numbers.

Two of five million words share a key with a probability of one in a million; then they count as one word.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chatbot_mvp.retrieval.bridge.arrays import Array, Ints

Keys = NDArray[np.uint64]

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""Odd, so that no bit of a key is lost when another one is joined to it."""


def key_of(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def keys_of(texts: Iterable[str]) -> Keys:
    return np.array([key_of(text) for text in texts], np.uint64)


def joined(first: Keys, following: Keys) -> Keys:
    """Return the keys of sequences, given the keys of all but their last items and the keys of these."""
    return first * _FACTOR + following


def keys_of_rows(items: Keys, start: Array) -> Keys:
    """Return the key of each row of a flat array; no row is empty.

    Args:
        start: offset of each row, and the total.
    """
    return keys_of_spans(items, start[:-1], np.diff(start))


def keys_of_spans(items: Keys, begin: Array, length: Array) -> Keys:
    """Return the keys of the sequences ``items[begin:begin + length]``; no length is 0."""
    keys = items.take(begin)
    for step in range(1, int(length.max(initial=0))):
        longer = (length > step).nonzero()[0]
        keys[longer] = joined(keys[longer], items.take(begin[longer] + step))
    return keys


def find(known: Keys, wanted: Keys) -> Ints:
    """Return the index of each wanted key in ``known``, which rises; -1 where it is missing."""
    if not len(known):
        return np.full(len(wanted), -1)
    at = known.searchsorted(wanted)
    at[known.take(at, mode="clip") != wanted] = -1
    return at


def first_flags(rising: NDArray[Any]) -> NDArray[np.bool_]:
    """Return for each value of a sorted array whether it differs from the value before."""
    first = np.ones(len(rising), bool)
    np.not_equal(rising[1:], rising[:-1], out=first[1:])
    return first
