"""The paragraphs of a knowledge base file by file, so that those of unchanged files are found once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chatbot_mvp.documents.chunked_files import ChunkedFiles
from chatbot_mvp.retrieval.arrays import offsets
from chatbot_mvp.retrieval.kb.passages import Passage, join_pieces, moved, paragraphs_of
from chatbot_mvp.retrieval.splicing import GONE, Rows, matched, rows_between
from chatbot_mvp.types import Chunk


@dataclass(frozen=True)
class FileRows:
    """How many (joined) chunks and paragraphs each file has."""

    source: ChunkedFiles
    """The files, with the chunks as they were before pieces of paragraphs were joined."""
    chunks: Sequence[int]
    """Number of joined chunks of each file."""
    paragraphs: Sequence[int]
    """Number of paragraphs of each file."""

    def chunk_rows(self, earlier: FileRows) -> Rows:
        """Return which joined chunks are those of an earlier version."""
        return rows_between(same_files(self.source, earlier.source), self.chunks, earlier.chunks)

    def paragraph_rows(self, earlier: FileRows) -> Rows:
        """Return which paragraphs are those of an earlier version."""
        return rows_between(same_files(self.source, earlier.source), self.paragraphs, earlier.paragraphs)


def same_files(now: ChunkedFiles, then: ChunkedFiles) -> list[int]:
    """Return for each file the place of an equal one in another version; GONE for none."""
    if now.made != then.made:
        return [GONE] * len(now.files)
    return matched([file.key for file in now.files], [file.key for file in then.files])


def paragraphs_by_file(
    source: ChunkedFiles, earlier: tuple[FileRows, Sequence[Passage]] | None = None
) -> tuple[list[Chunk], list[Passage], FileRows]:
    """Return the joined chunks, their paragraphs, and how many of them each file has.

    No paragraph of one file is in another one's chunks, because a heading is between them.

    Args:
        earlier: files and paragraphs of another version. Paragraphs of files that are equal are used again.
    """
    files, passages_then = earlier if earlier is not None else (None, ())
    places = same_files(source, files.source) if files is not None else [GONE] * len(source.files)
    first_chunk, first_passage = (
        offsets(np.array(counts, np.int64)).tolist()
        for counts in ((files.chunks, files.paragraphs) if files is not None else ((), ()))
    )
    joined: list[Chunk] = []
    passages: list[Passage] = []
    chunks, paragraphs = [], []
    for file, place in zip(source.files, places, strict=True):
        own = join_pieces(source[file.first : file.end])
        if place == GONE or files is None:
            found: Sequence[Passage] = paragraphs_of(own, first=len(joined))
        else:
            before = passages_then[first_passage[place] : first_passage[place + 1]]
            further = file.start - files.source.files[place].start
            found = moved(before, len(joined) - first_chunk[place], further)
        joined += own
        passages += found
        chunks.append(len(own))
        paragraphs.append(len(found))
    return joined, passages, FileRows(source, chunks, paragraphs)
