"""Keys: 64-bit hashes in place of words and names, so that millions of them are sorted and found as numbers.

Two of five million words share a key with a probability of one in a million; then they count as one word. Tables of
keys are in files: written piece by piece, then sorted by one range of keys after the other. With them, the memory of a
build depends neither on the number of names nor on that of distinct words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from chatbot_mvp.retrieval.arrays import Array, Ints, first_flags, offsets
from chatbot_mvp.storage.arrays import ArrayFiles

Keys = NDArray[np.uint64]

_FACTOR = np.uint64(0x9E3779B97F4A7C15)
"""Odd, so that no bit of a key is lost when another one is joined to it."""
_BITS = 8
"""Number of leading bits of a key that its place in a piece depends on."""
_TOGETHER = 1 << 20
"""Number of rows up to which the keys of several leading bits are one range."""

Range = tuple[int, int]
"""First leading bits of the keys of a range, and the first ones behind it."""


def key_of(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def keys_of(texts: Iterable[str]) -> Keys:
    return np.array([key_of(text) for text in texts], np.uint64)


def joined(first: Keys, following: Keys) -> Keys:
    """Return the keys of sequences, given the keys of all but their last items and the keys of these."""
    return first * _FACTOR + following


def keys_of_rows(items: Keys, start: Array) -> Keys:
    """Return the key of each row of a flat array, given the offset of each and the total; no row is empty."""
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


class KeyTable:
    """A table with the column ``key`` and others. Each piece of it is ordered by the leading bits of its keys, so that
    a range of keys is a slice of each piece. Rows of a range are in the order of the pieces, and equal keys of a piece
    in their order there. The names of its files begin with ``name``.
    """

    def __init__(self, files: ArrayFiles, name: str) -> None:
        self._files = files
        self._name = name
        self._columns = {"key"}
        self._rows = 0
        self._bounds: list[Ints] = []
        """For each piece, the row of the table at which each of the leading bits begins, and the end."""

    def add(self, key: Keys, **columns: Array) -> None:
        """Append a piece."""
        leading = (key >> np.uint64(64 - _BITS)).astype(np.uint8)
        order = leading.argsort(kind="stable")
        for name, values in {"key": key, **columns}.items():
            self._columns.add(name)
            self._files.append(f"{self._name}.{name}", values.take(order))
        self._bounds.append(self._rows + offsets(np.bincount(leading, minlength=1 << _BITS)))
        self._rows += len(key)

    def ranges(self) -> Iterator[Range]:
        """Yield the ranges of keys, in rising order. The table needs a piece, which may be empty."""
        counts = np.sum([np.diff(bounds) for bounds in self._bounds], axis=0).tolist()
        begin = rows = 0
        for leading, count in enumerate(counts):
            if rows + count > _TOGETHER and begin < leading:
                yield begin, leading
                begin, rows = leading, 0
            rows += count
        yield begin, len(counts)

    def read(self, of: Range, *columns: str) -> tuple[Array, ...]:
        """Return some columns of the rows of a range of keys."""
        slices = [(int(bounds[of[0]]), int(bounds[of[1]])) for bounds in self._bounds]
        return tuple(
            np.concatenate([self._files.read(f"{self._name}.{column}", *each) for each in slices]) for column in columns
        )

    def write(self, of: Range, column: str, values: Array) -> None:
        """Write a column for the rows of a range of keys. All ranges must be written."""
        self._columns.add(column)
        at = 0
        for bounds in self._bounds:
            begin, end = int(bounds[of[0]]), int(bounds[of[1]])
            self._files.write(f"{self._name}.{column}", begin, values[at : at + end - begin])
            at += end - begin

    def piece(self, number: int, *columns: str) -> tuple[Array, ...]:
        """Return some columns of a piece, ordered by the leading bits of their keys."""
        begin, end = int(self._bounds[number][0]), int(self._bounds[number][-1])
        return tuple(self._files.read(f"{self._name}.{column}", begin, end) for column in columns)

    def write_piece(self, number: int, column: str, values: Array) -> None:
        """Write a column of a piece. All pieces must be written."""
        self._columns.add(column)
        self._files.write(f"{self._name}.{column}", int(self._bounds[number][0]), values)

    def __len__(self) -> int:
        """Return the number of pieces."""
        return len(self._bounds)

    def forget(self) -> None:
        """Delete the files."""
        self._files.forget(*(f"{self._name}.{column}" for column in self._columns))


class FirstUses:
    """Numbers keys in the order of their first use. The names of the files begin with ``name``."""

    def __init__(self, files: ArrayFiles, name: str) -> None:
        self.table = KeyTable(files, name)
        self.total = 0
        """Number of distinct keys, after ``finish``."""

    def add(self, keys: Keys, **columns: Array) -> None:
        """Add some keys in the order of their use, and other columns for them in the table."""
        self.table.add(keys, place=np.arange(len(keys), dtype=np.int32), **columns)

    def finish(self) -> None:
        """Number all keys."""
        table = self.table
        for of in table.ranges():
            (key,) = table.read(of, "key")
            order = key.argsort(kind="stable")
            first = np.empty(len(key), bool)
            first[order] = first_flags(key.take(order))
            table.write(of, "first", first)
        for piece in range(len(table)):
            first, place = table.piece(piece, "first", "place")
            in_order = np.empty(len(first), bool)
            in_order[place] = first
            number = (self.total + in_order.cumsum() - 1).astype(np.int32)
            table.write_piece(piece, "number", number.take(place))
            self.total += int(np.count_nonzero(first))
        for of in table.ranges():
            key, number = table.read(of, "key", "number")
            order = key.argsort(kind="stable")
            first = first_flags(key.take(order))
            number[order] = number.take(order[first]).take(first.cumsum() - 1)
            table.write(of, "number", number)

    def numbers(self, piece: int) -> Array:
        """Return the numbers of the keys of a piece, in the order of their use."""
        number, place = self.table.piece(piece, "number", "place")
        in_order = np.empty_like(number)
        in_order[place] = number
        return in_order
