"""Corpus passages as chunks: each passage is one chunk with the id of its document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import overload

from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.types import Chunk, Document


class Passages(Sequence[Chunk]):
    """The chunks of documents, made when they are asked for.

    Args:
        documents: whole passages with distinct ids.
        rows: document id -> its position in ``documents``.
        chars: number of characters of all texts.
    """

    def __init__(self, documents: Sequence[Document], rows: Mapping[str, int], chars: int) -> None:
        self.documents = documents
        self.rows = rows
        self.chars = chars

    def __len__(self) -> int:
        return len(self.documents)

    @overload
    def __getitem__(self, row: int) -> Chunk: ...

    @overload
    def __getitem__(self, row: slice) -> list[Chunk]: ...

    def __getitem__(self, row: int | slice) -> Chunk | list[Chunk]:
        if isinstance(row, slice):
            return [passage_chunk(document) for document in self.documents[row]]
        return passage_chunk(self.documents[row])

    def __iter__(self) -> Iterator[Chunk]:
        return map(passage_chunk, self.documents)
