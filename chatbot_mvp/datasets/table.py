"""The documents of a data set as an Arrow table: compact in memory, and in a mapped file if they are many."""

from __future__ import annotations

import mmap
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, islice
from pathlib import Path
from tempfile import SpooledTemporaryFile, gettempdir
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from chatbot_mvp.storage.files import naming
from chatbot_mvp.types import Document

BATCH_ROWS = 2_048
"""Rows that are read or written at a time."""
_RELEASED = 64
"""Number of batches or single documents after which the pages of a mapped file that were read are released. Otherwise
the whole file would count as memory of this process, because reading a few bytes maps 64 KB and more."""
_IN_MEMORY = 64_000_000
"""Bytes up to which the documents stay in memory. A larger table is a file in the system's folder for temporary files;
it has no name, so the system deletes it with the process, also after a crash."""


class DocumentTable(Sequence[Document]):
    """Documents by row. They are made when they are asked for, so that millions take little memory.

    Args:
        documents: read once. All have the same source.

    Raises:
        FileNotWritten: the folder for temporary files is full.
    """

    def __init__(self, documents: Iterable[Document]) -> None:
        import pyarrow as pa

        # An id may have a lone surrogate, which is no legal text for Arrow.
        kinds = (pa.large_binary(), pa.large_string(), pa.large_string())
        schema = pa.schema(list(zip(("doc_id", "title", "text"), kinds, strict=True)))
        self._source = ""
        self.chars = 0
        """Number of characters of all texts."""
        hashes: list[NDArray[np.int64]] = []
        remaining = iter(documents)
        with naming(Path(gettempdir())), SpooledTemporaryFile(_IN_MEMORY) as file:
            with pa.ipc.new_file(pa.PythonFile(file, "w"), schema) as writer:
                while batch := list(islice(remaining, BATCH_ROWS)):
                    self._source = batch[0].source
                    self.chars += sum(len(document.text) for document in batch)
                    hashes.append(np.fromiter((hash(document.doc_id) for document in batch), np.int64, len(batch)))
                    ids = [document.doc_id.encode("utf-8", "surrogatepass") for document in batch]
                    columns = (ids, [d.title for d in batch], [d.text for d in batch])
                    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
                    writer.write_batch(pa.record_batch(arrays, schema))
            in_memory = file.tell() <= _IN_MEMORY
            file.seek(0)
            content = file.read() if in_memory else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._mapped = None if isinstance(content, bytes) else content
        reader = pa.ipc.open_file(pa.py_buffer(content))
        self._single = 0
        """Number of documents that were read one by one."""
        self._batches = []
        for number in range(reader.num_record_batches):
            self._batches.append(reader.get_batch(number))
            self._release(number)
        self._ends = list(accumulate(batch.num_rows for batch in self._batches))
        # Reading a document from these takes half the time of asking Arrow for it.
        self._columns = [[_Column.of(column) for column in batch.columns] for batch in self._batches]
        self.rows = _Rows(self, np.concatenate((np.zeros(0, np.int64), *hashes)))
        """Id -> row; of documents with one id the first."""

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    @overload
    def __getitem__(self, row: int) -> Document: ...

    @overload
    def __getitem__(self, row: slice) -> tuple[Document, ...]: ...

    def __getitem__(self, row: int | slice) -> Document | tuple[Document, ...]:
        if isinstance(row, slice):
            return tuple(self[number] for number in range(*row.indices(len(self))))
        number = row + len(self) if row < 0 else row
        if not 0 <= number < len(self):
            raise IndexError(f"row {row} of {len(self)} documents")
        at = bisect_right(self._ends, number)
        place = number - (self._ends[at] - self._batches[at].num_rows)
        doc_id, title, text = (column.text(place) for column in self._columns[at])
        self._single += 1
        self._release(self._single)
        return Document(doc_id, title, text, self._source)

    def __iter__(self) -> Iterator[Document]:
        for number, batch in enumerate(self._batches):
            self._release(number)
            for doc_id, title, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                yield Document(doc_id.decode("utf-8", "surrogatepass"), title, text, self._source)

    def _release(self, read: int) -> None:
        """Release the pages of a mapped file if ``read``, a number of batches or documents, is a multiple of 64."""
        if self._mapped is not None and read % _RELEASED == 0 and hasattr(mmap, "MADV_DONTNEED"):
            self._mapped.madvise(mmap.MADV_DONTNEED)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or len(self) != len(other):
            return False
        return all(one == two for one, two in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # equal tables may be in memory and in a file, so none has a hash

    @property
    def in_memory(self) -> bool:
        """Whether the documents are in memory, not in a mapped file."""
        return self._mapped is None

    def repeated(self) -> str | None:
        """Return the id of a document that an earlier one has too; None if all ids are distinct."""
        return self.rows.repeated()


class _Column(NamedTuple):
    """The texts of a column of a batch."""

    start: NDArray[np.int64]
    """Offset of each text in ``content``, and the total."""
    content: memoryview

    @classmethod
    def of(cls, column: Any) -> _Column:
        _, start, content = column.buffers()
        return cls(np.frombuffer(start, np.int64), memoryview(b"" if content is None else content))

    def text(self, row: int) -> str:
        return str(self.content[self.start[row] : self.start[row + 1]], "utf-8", "surrogatepass")


class _Rows(Mapping[str, int]):
    """Finds the rows of ids by sorted hashes: twelve bytes per document in place of the hundred of a dictionary."""

    def __init__(self, documents: DocumentTable, hashes: NDArray[np.int64]) -> None:
        self._documents = documents
        self._order = hashes.argsort(kind="stable").astype(np.int32)
        self._hashes = hashes.take(self._order)

    def __getitem__(self, doc_id: str) -> int:
        at, wanted = int(self._hashes.searchsorted(hash(doc_id))), hash(doc_id)
        while at < len(self._hashes) and self._hashes[at] == wanted:
            row = int(self._order[at])
            if self._documents[row].doc_id == doc_id:
                return row
            at += 1
        raise KeyError(doc_id)

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[str]:
        return (document.doc_id for document in self._documents)

    def repeated(self) -> str | None:
        found = []
        for at in (self._hashes[1:] == self._hashes[:-1]).nonzero()[0].tolist():
            row = int(self._order[at + 1])
            doc_id = self._documents[row].doc_id
            if self[doc_id] != row:
                found.append((row, doc_id))
        return min(found)[1] if found else None
