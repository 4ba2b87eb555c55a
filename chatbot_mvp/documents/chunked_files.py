"""The chunks of a source text file by file, so that those of unchanged files are made once.

Each file is chunked for itself: a fence of code that a file leaves open does not hide where the next one begins. All
else is as ``chunk_document`` has it for the whole text.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from chatbot_mvp.documents.chunking import TARGET_CHARS, packed
from chatbot_mvp.documents.kb_files import KbFile
from chatbot_mvp.documents.languages import Tallies, languages_told, tallies_of
from chatbot_mvp.types import Chunk, Document


@dataclass(frozen=True, slots=True)
class FileChunks:
    """The chunks of one file, with its heading."""

    key: bytes
    """Equal keys mean equal chunks, but for their ids and offsets."""
    start: int
    """Offset of the file's heading in the source text, in characters."""
    first: int
    """Row of its first chunk."""
    end: int
    """Row behind its last chunk."""
    told: dict[str, Tallies] = field(default_factory=dict, compare=False, repr=False)
    """Main language -> what its chunks tell about languages. Equal files of several versions share it."""


class ChunkedFiles(list[Chunk]):
    """The chunks of a source text, in order, and which of them are whose. It is not changed.

    Args:
        files: one after the other, with all rows of ``chunks``.
        made: what decides the chunks besides the texts; files are compared only where it is equal.
    """

    def __init__(self, chunks: Iterable[Chunk], files: Sequence[FileChunks], made: tuple[object, ...]) -> None:
        super().__init__(chunks)
        self.files = tuple(files)
        self.made = made

    def languages(self, main: str) -> tuple[str, ...]:
        """Return ``languages_of`` the chunks. Each file is read once for all versions."""
        for file in self.files:
            if main not in file.told:
                file.told[main] = tallies_of(self[file.first : file.end], main)
        return languages_told((file.told[main] for file in self.files), main)


def chunk_files(
    document: Document, files: Sequence[KbFile], chars: int = TARGET_CHARS, known: ChunkedFiles | None = None
) -> ChunkedFiles:
    """Split a source text into chunks, each file for itself. Ids count over the whole text, offsets are those in it.

    Args:
        document: the source text that ``join_sources`` gave with ``files``.
        chars: length at which a chunk is complete, in characters.
        known: the chunks of another version, which are used again for files that are equal.
    """
    text, doc_id = document.text, document.doc_id
    starts = [0, *(file.end + 2 for file in files[:-1])]  # behind the blank line after the file before
    several = len(starts) > 1
    made = (doc_id, chars, several)
    title = document.title.encode("utf-8", "surrogatepass")
    reusable = known if known is not None and known.made == made else None
    waiting: dict[bytes, deque[FileChunks]] = defaultdict(deque)
    for file in reusable.files if reusable is not None else ():
        waiting[file.key].append(file)
    chunks: list[Chunk] = []
    found: list[FileChunks] = []
    for start, end in pairwise([*starts, len(text)]):
        part = text[start:end]
        digest = hashlib.blake2b(part.encode("utf-8", "surrogatepass"), digest_size=16)
        key = digest.digest()
        digest.update(b"\0" + title)
        with_title = digest.digest()  # the title is that of the first file: most files have headings and do not need it
        first, told = len(chunks), dict[str, Tallies]()
        if reusable is not None and (same := waiting.get(key) or waiting.get(with_title)):
            before = same.popleft()
            key, told = before.key, before.told
            chunks += _moved(reusable[before.first : before.end], first - before.first, start - before.start)
        else:
            for path, offset, piece in packed(part, chars, has_title=False if several else None):
                at = start + offset
                key = key if path else with_title
                chunks.append(
                    Chunk(f"{doc_id}:{len(chunks):04d}", doc_id, path or document.title, piece, at, at + len(piece))
                )
        found.append(FileChunks(key, start, first, len(chunks), told))
    return ChunkedFiles(chunks, found, made)


def _moved(chunks: Sequence[Chunk], rows: int, chars: int) -> Sequence[Chunk]:
    """Return the chunks that many rows and characters further on."""
    if not rows and not chars:
        return chunks
    first = int(chunks[0].chunk_id.rpartition(":")[2]) + rows if chunks else 0
    return [
        Chunk(f"{one.doc_id}:{number:04d}", one.doc_id, one.section, one.text, one.start + chars, one.end + chars)
        for number, one in enumerate(chunks, first)
    ]
