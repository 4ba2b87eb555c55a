"""Count the rows of a data set without loading it: from the footer of Parquet files, by lines in other formats."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path

from chatbot_mvp.datasets.files import beir_files, dataset_files
from chatbot_mvp.datasets.storage import RemoteFile, S3Url, Storage

_FOOTER_BYTES = 65_536
"""Bytes read from the end of a remote file. The footer of three columns takes a few thousand."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Number of rows of each part; None if it is unknown without reading or downloading the part."""

    queries: int | None = None
    documents: int | None = None
    qrels: int | None = None


def count_rows(folder: Path) -> Counts:
    """Count the rows of a local folder. The count of a damaged file is None; loading it explains the damage."""
    return _counted(folder, tuple(_version(path) for path in dataset_files(folder)))


def _version(path: Path) -> tuple[str, int, int]:
    try:
        found = path.stat()
    except OSError:
        return path.name, -1, -1
    return path.name, found.st_size, found.st_mtime_ns


@lru_cache(maxsize=256)  # pages count on every rerun, and counting lines reads the whole file
def _counted(folder: Path, versions: tuple[tuple[str, int, int], ...]) -> Counts:
    if (folder / "corpus.parquet").is_file():
        return Counts(*(_tolerant(partial(_rows_of_file, folder / f"{name}.parquet")) for name in _PARTS))
    corpus, queries, *qrels = beir_files(folder)
    judged = [_tolerant(partial(_lines, path)) for path in qrels]
    # The first line of each qrels file is its header.
    rows = None if None in judged else sum(number - 1 for number in judged if number)
    return Counts(_tolerant(partial(_lines, queries)), _tolerant(partial(_lines, corpus)), rows)


def count_rows_remote(storage: Storage, url: S3Url, files: Sequence[RemoteFile]) -> Counts:
    """Count the rows of a Parquet data set on S3, from the end of each file.

    Raises:
        StorageError
    """
    by_path = {file.path: file for file in files}
    found = []
    for name in _PARTS:
        file = by_path.get(f"{name}.parquet")
        tail = storage.tail(url, file, _FOOTER_BYTES) if file else b""
        found.append(_tolerant(partial(_rows_of_footer, tail)))
    return Counts(*found)


_PARTS = ("queries", "corpus", "qrels")


def _rows_of_file(path: Path) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


def _rows_of_footer(tail: bytes) -> int:
    import pyarrow.parquet as pq

    # pyarrow finds the footer from the end of the buffer, so the missing start of the file does not matter.
    return int(pq.read_metadata(io.BytesIO(tail)).num_rows)


def _lines(path: Path) -> int:
    with path.open("rb") as file:
        return sum(1 for line in file if line.strip())


def _tolerant(count: Callable[[], int]) -> int | None:
    import pyarrow as pa

    try:
        return count()
    except (OSError, pa.ArrowException):
        return None
