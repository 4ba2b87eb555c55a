"""Count the rows of a data set without loading it: from the footer of Parquet files, by lines in other formats."""

from __future__ import annotations

import gzip
import io
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from chatbot_mvp.datasets.layout import folder_layout
from chatbot_mvp.errors import DatasetError
from chatbot_mvp.remote.s3 import RemoteFile, S3Url, Storage

_FOOTER_BYTES = 65_536
"""Bytes read from the end of a remote file. The footer of three columns takes a few thousand."""


@dataclass(frozen=True, slots=True)
class Counts:
    """Number of rows of each part; None if it is unknown without reading or downloading the part."""

    queries: int | None = None
    documents: int | None = None
    qrels: int | None = None


def count_rows(folder: Path, split: str = "") -> Counts:
    """Count the rows of a local folder. The count of a damaged or missing file is None; loading it explains the damage.

    Args:
        split: split of the judgements that are counted; "" for the default one.
    """
    layout = folder_layout(folder)
    return _counted(folder, split, tuple(_version(folder / name) for name in layout.files))


def _version(path: Path) -> tuple[str, int, int]:
    try:
        found = path.stat()
    except OSError:
        return path.name, -1, -1
    return path.name, found.st_size, found.st_mtime_ns


@lru_cache(maxsize=256)  # pages count on every rerun, and counting lines reads the whole file
def _counted(folder: Path, split: str, versions: tuple[tuple[str, int, int], ...]) -> Counts:
    try:
        chosen = folder_layout(folder).choose(str(folder), split)
    except DatasetError:
        return Counts()
    return Counts(_sum(folder, chosen.queries), _sum(folder, chosen.corpus), _sum(folder, chosen.qrels))


def _sum(folder: Path, names: Sequence[str]) -> int | None:
    """Return the number of rows of several files. The first line of a table with tabs is its header."""
    kinds = [Path(name.removesuffix(".gz")).suffix for name in names]
    if ".json" in kinds:
        return None  # ranx' judgements are one JSON object
    with _tolerated():
        counts = [
            _parquet_rows(folder / n) if kind == ".parquet" else _lines(folder / n)
            for n, kind in zip(names, kinds, strict=True)
        ]
        return sum(counts) - kinds.count(".tsv")
    return None


def count_rows_remote(storage: Storage, url: S3Url, files: Sequence[RemoteFile]) -> Counts:
    """Count the rows of a Parquet data set on S3, from the end of each file.

    Raises:
        StorageError
    """
    by_path = {file.path: file for file in files}
    found: dict[str, int] = {}
    for field, name in (("queries", "queries"), ("documents", "corpus"), ("qrels", "qrels")):
        if file := by_path.get(f"{name}.parquet"):
            tail = storage.tail(url, file, _FOOTER_BYTES)
            with _tolerated():
                # pyarrow finds the footer from the end of the buffer, so the missing start of the file does not matter.
                found[field] = _parquet_rows(io.BytesIO(tail))
    return Counts(**found)


def _parquet_rows(source: Path | io.BytesIO) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(source).num_rows)


def _lines(path: Path) -> int:
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
        return sum(1 for line in file if line.strip())


def _tolerated() -> suppress:
    import pyarrow as pa

    return suppress(OSError, EOFError, pa.ArrowException)
