"""Take rows out of inverted indexes and put others in, without sorting what stays."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Flags, Ints, entries, offsets

GONE = -1
"""In place of a row: there is none."""


class Rows(NamedTuple):
    """Which rows of a list are those of an earlier one."""

    origin: Ints
    """For each row, the equal row of the earlier list; GONE for a new one."""
    placed: Array
    """For each row of the earlier list, its row now; GONE if it went or moved past another one. It rises."""

    @property
    def fresh(self) -> Flags:
        """For each row, whether it is not in ``placed``."""
        flags = np.ones(len(self.origin), bool)
        flags[self.placed[self.placed != GONE]] = False
        return flags

    def without(self, gone: Array) -> Rows:
        """Return these rows where some rows of the earlier list are equal to none."""
        origin, placed = self.origin.copy(), self.placed.copy()
        origin[np.isin(origin, gone)] = GONE
        placed[gone] = GONE
        return Rows(origin, placed)

    def within(self, before: Ints, now: Ints) -> Array:
        """Return ``placed`` of what the rows consist of.

        Args:
            before, now: start of each row's parts, and the total, in the earlier list and in this one.
        """
        placed = np.full(int(before[-1]), GONE, np.int32)
        kept = np.flatnonzero(self.placed != GONE)
        placed[entries(before, kept)[1]] = entries(now, self.placed[kept])[1]
        return placed


def matched(keys: Sequence[Hashable], earlier: Sequence[Hashable]) -> list[int]:
    """Return for each key the place of an equal one in ``earlier``, each of which is given once; GONE for none."""
    waiting: dict[Hashable, deque[int]] = defaultdict(deque)
    for place, key in enumerate(earlier):
        waiting[key].append(place)
    return [waiting[key].popleft() if waiting.get(key) else GONE for key in keys]


def rows_between(places: Sequence[int], lengths: Sequence[int], earlier: Sequence[int]) -> Rows:
    """Return which rows are those of an earlier list, for lists that consist of blocks of rows.

    Args:
        places: of each block, as ``matched`` gives them.
        lengths: rows of each block; those of equal blocks are equal.
        earlier: rows of each block of the earlier list.
    """
    start, before = offsets(np.array(lengths, np.int64)), offsets(np.array(earlier, np.int64))
    origin, placed = np.full(int(start[-1]), GONE, np.int64), np.full(int(before[-1]), GONE, np.int32)
    staying = _rising(places)
    for block, place in enumerate(places):
        if place == GONE:
            continue
        now, then = slice(start[block], start[block + 1]), slice(before[place], before[place + 1])
        origin[now] = np.arange(then.start, then.stop)
        if block in staying:
            placed[then] = np.arange(now.start, now.stop)
    return Rows(origin, placed)


def spliced(
    start: Ints, row: Array, times: Array | None, placed: Array, added: tuple[Array, Array, Array], features: int
) -> tuple[Ints, Array, Array | None]:
    """Return (start, row, times) of postings after some rows went, others moved, and others came.

    Args:
        start, row, times: the postings: entries ``start[f]:start[f + 1]`` belong to feature f, with rising rows.
        placed: as in ``Rows``.
        added: feature, row and times of each new entry, in rising order; no row of ``placed`` is among them.
        features: number of features now; those of the postings keep their numbers.
    """
    row = placed.take(row)
    kept = row != GONE
    until = np.zeros(len(kept) + 1, np.int32 if len(kept) < 2**31 else np.int64)
    np.cumsum(kept, out=until[1:])
    begin = np.full(features + 1, until[-1], np.int64)
    begin[: len(start)] = until[start]
    row = row[kept]
    feature, at_row, at_times = added
    at = _lower_bounds(row, begin.take(feature), begin.take(feature + 1), at_row)
    if times is not None:
        times = np.insert(times[kept], at, at_times)
    row = np.insert(row, at, at_row)
    return begin + offsets(np.bincount(feature, minlength=features)), row, times


def _lower_bounds(values: Array, begin: Ints, end: Ints, wanted: Array) -> Ints:
    """Return for each wanted value the first place from ``begin`` to ``end`` whose value is not below it."""
    low, high = begin.copy(), end.copy()
    active = np.flatnonzero(low < high)
    while len(active):
        middle = (low[active] + high[active]) >> 1
        below = values.take(middle) < wanted[active]
        low[active[below]] = middle[below] + 1
        high[active[~below]] = middle[~below]
        active = active[low[active] < high[active]]
    return low


def _rising(places: Sequence[int]) -> set[int]:
    """Return where a longest rising part of ``places`` stands; GONE never belongs to it."""
    ends: list[int] = []  # the last place of the best rising part of each length
    at: list[int] = []  # where it stands
    before: dict[int, int] = {}
    for block, place in enumerate(places):
        if place == GONE:
            continue
        length = bisect_left(ends, place)
        if length:
            before[block] = at[length - 1]
        ends[length : length + 1], at[length : length + 1] = [place], [block]
    found = set()
    block = at[-1] if at else GONE
    while block != GONE:
        found.add(block)
        block = before.get(block, GONE)
    return found
