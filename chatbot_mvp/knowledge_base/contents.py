"""What a knowledge base consists of: its files, its chunks, and the texts that it has more than once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from chatbot_mvp.documents.sources import KbFile
from chatbot_mvp.text import fold
from chatbot_mvp.types import Chunk


@dataclass(frozen=True)
class Repeated:
    """A chunk whose text the knowledge base has more than once."""

    chunk: Chunk
    """The first of the equal chunks."""
    times: int
    """How many there are, from 2."""


@dataclass(frozen=True)
class KbContents:
    """What a knowledge base consists of."""

    files: tuple[KbFile, ...]
    chunks: tuple[Chunk, ...]
    repeated: tuple[Repeated, ...]
    """The most frequent first."""


def contents_of(files: Sequence[KbFile], chunks: Sequence[Chunk]) -> KbContents:
    """Return the contents of a knowledge base. Chunks are equal if they differ in case, accents and blanks only."""
    first: dict[str, Chunk] = {}
    count: Counter[str] = Counter()
    for chunk in chunks:
        key = " ".join(fold(chunk.text).split())
        first.setdefault(key, chunk)
        count[key] += 1
    repeated = tuple(Repeated(first[key], times) for key, times in count.most_common() if times > 1)
    return KbContents(tuple(files), tuple(chunks), repeated)
