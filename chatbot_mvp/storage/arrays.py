"""Arrays in files: written piece by piece, read by slices or mapped into memory, so that no array must fit into it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

_INDEX = "arrays.json"
_PIECE = 1 << 20
"""Number of values that ``ArrayFiles.pieces`` reads at a time."""


class ArrayFiles:
    """One-dimensional arrays that grow at their ends. Each is a file of its own; ``finish`` makes them readable.

    Args:
        folder: an empty folder; None to keep the arrays in memory.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._files: dict[str, BinaryIO] = {}
        self._types: dict[str, np.dtype[Any]] = {}
        self._lengths: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        self._aside: list[Path | dict[str, NDArray[Any]]] = []

    def append(self, name: str, values: NDArray[Any]) -> None:
        """Add values at the end of an array, which is created if it is new. All values of an array have one type."""
        if name not in self._files:
            self._types[name], self._lengths[name] = values.dtype, 0
            self._files[name] = BytesIO() if self._folder is None else (self._folder / name).open("w+b")
        self._write(name, values)
        self._lengths[name] += len(values)

    def append_offsets(self, name: str, counts: NDArray[Any], first: int = 0) -> None:
        """Add the offsets of rows of a flat array.

        Args:
            counts: length of each row.
            first: offset of the first row, which is the first value of a new array.
        """
        if name not in self._files:
            self._ends[name] = first
            self.append(name, np.array([first], np.int64))
        ends = self._ends[name] + np.cumsum(counts, dtype=np.int64)
        self.append(name, ends)
        self._ends[name] = int(ends[-1]) if len(ends) else self._ends[name]

    def write(self, name: str, at: int, values: NDArray[Any]) -> None:
        """Write values at a position of an array, whose length must not change; a missing array is created."""
        if name not in self._files:
            self.append(name, values[:0])
        file = self._files[name]
        file.seek(at * self._types[name].itemsize)
        self._write(name, values)
        file.seek(0, os.SEEK_END)
        self._lengths[name] = max(self._lengths[name], at + len(values))

    def read(self, name: str, begin: int = 0, end: int | None = None) -> NDArray[Any]:
        """Return a copy of an array, which must exist, or of the slice ``begin:end``."""
        file, kind = self._files[name], self._types[name]
        file.seek(begin * kind.itemsize)
        values = np.frombuffer(file.read(-1 if end is None else (end - begin) * kind.itemsize), kind)
        file.seek(0, os.SEEK_END)
        return values

    def pieces(self, name: str) -> Iterator[NDArray[Any]]:
        """Yield copies of the slices of an array, which must exist."""
        for begin in range(0, self._lengths[name], _PIECE):
            yield self.read(name, begin, min(begin + _PIECE, self._lengths[name]))

    def view(self, name: str) -> NDArray[Any]:
        """Return an array, which must exist, for reading. It is mapped if it is in a file, and must not grow."""
        file = self._files[name]
        if isinstance(file, BytesIO):
            return np.frombuffer(file.getbuffer(), self._types[name])
        assert self._folder is not None
        file.flush()
        return _mapped(self._folder / name, self._types[name].str, self._lengths[name])

    def _write(self, name: str, values: NDArray[Any]) -> None:
        if values.dtype != self._types[name]:
            raise TypeError(f"array {name!r} is {self._types[name]}, not {values.dtype}")
        self._files[name].write(np.ascontiguousarray(values).data.cast("B") if values.size else b"")

    def set_aside(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Store some arrays together, for ``set_aside_before``."""
        if self._folder is None:
            self._aside.append(arrays)
            return
        path = self._folder / f"part-{len(self._aside)}.npz"
        self._aside.append(path)
        np.savez(path, allow_pickle=False, **arrays)

    def set_aside_before(self) -> Iterator[dict[str, NDArray[Any]]]:
        """Yield what was set aside, in that order, and delete it."""
        for stored in self._aside:
            if isinstance(stored, dict):
                yield stored
                continue
            with np.load(stored, allow_pickle=False) as arrays:
                yield dict(arrays)
            stored.unlink()
        self._aside = []

    def forget(self, *names: str) -> None:
        """Delete arrays; names that do not exist are ignored."""
        for name in names:
            if (file := self._files.pop(name, None)) is not None:
                file.close()
                if self._folder is not None:
                    (self._folder / name).unlink()

    def finish(self, facts: dict[str, Any]) -> Arrays:
        """Write everything to the disk and return it for reading.

        Args:
            facts: JSON values to store with the arrays.

        Raises:
            OSError: the disk is full or not writable.
        """
        if self._folder is None:
            return Arrays({name: self.view(name) for name in self._files}, facts)
        for file in self._files.values():
            file.flush()
            os.fsync(file.fileno())
            file.close()
        kinds = {name: [self._types[name].str, self._lengths[name]] for name in self._files}
        (self._folder / _INDEX).write_text(json.dumps({"arrays": kinds, "facts": facts}), "utf-8")
        return Arrays.open(self._folder)

    def close(self) -> None:
        """Close all files, after an error too. Arrays in memory stay readable."""
        for file in self._files.values() if self._folder is not None else ():
            with suppress(OSError):  # a full disk, which the write before has reported
                file.close()


class Arrays:
    """Read-only arrays by name, mapped into memory: the system reads what is used, and may drop it again."""

    def __init__(self, values: dict[str, NDArray[Any]], facts: dict[str, Any]) -> None:
        self._values = values
        self.facts = facts

    @classmethod
    def open(cls, folder: Path) -> Arrays:
        """Map the arrays that ``ArrayFiles.finish`` wrote into a folder.

        Raises:
            OSError, ValueError, KeyError: a file is missing, or shorter or longer than it was written.
        """
        index = json.loads((folder / _INDEX).read_text("utf-8"))
        return cls({name: _mapped(folder / name, *kind) for name, kind in index["arrays"].items()}, index["facts"])

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._values[name]

    def get(self, name: str) -> NDArray[Any] | None:
        """Return an array; None if there is none of that name."""
        return self._values.get(name)


def _mapped(path: Path, kind: str, length: int) -> NDArray[Any]:
    size, expected = path.stat().st_size, length * np.dtype(kind).itemsize
    if size != expected:
        raise ValueError(f"{path} has {size} bytes in place of {expected}")
    # A plain array on top of the map: every operation on a ``memmap`` itself is slower.
    return np.asarray(np.memmap(path, kind, "r", shape=(length,))) if length else np.zeros(0, kind)
