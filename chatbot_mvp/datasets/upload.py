"""Check and store an uploaded data set, a zip or three Parquet files. Uploads are untrusted.

They are loaded first in a separate process with limited time and memory:
``python -m chatbot_mvp.datasets.upload SECONDS MEMORY_MB OUTPUT_MB FOLDER`` prints JSON: {} or the loader's error.
"""

from __future__ import annotations

import json
import math
import os
import re
import shutil
import stat
import sys
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import IO, Any

from chatbot_mvp.datasets.layout import layout_of
from chatbot_mvp.datasets.limited import MEMORY_MB, SECONDS, Limits, limit_this_process, output_of
from chatbot_mvp.datasets.loading import check_dataset
from chatbot_mvp.errors import ChatbotError, DatasetError, all_errors
from chatbot_mvp.storage.files import make_folder, replaced_folder
from chatbot_mvp.storage.json_object import parse_json

UploadedFile = tuple[str, IO[bytes]]
"""(file name, content)"""

EXPANSION = 8
"""Limit of the unpacked size, as a multiple of the upload limit. Texts usually pack to a third or a quarter."""

_MOST_ENTRIES = 1_000
_STEEP = 250
"""Limit of unpacked to packed size for an entry over one megabyte."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,59}")
_ABOUT = re.compile(r"README(\.md)?|LICEN[CS]E(\.\w+)?", re.IGNORECASE)
_PARQUET = frozenset({"corpus.parquet", "queries.parquet", "qrels.parquet"})


def usable_name(name: str) -> str:
    """Strip a name and check that it can be a folder name.

    Raises:
        DatasetError: it has other characters than letters, digits, "_", "." and "-", or more than 60.
    """
    name = name.strip()
    if not _NAME.fullmatch(name):
        raise DatasetError("dataset_name_unusable", name=name)
    return name


def take_upload(files: Sequence[UploadedFile], folder: Path, limit_mb: int) -> None:
    """Check an upload and replace ``folder`` with it. If the upload is refused, ``folder`` stays as it was.

    Args:
        files: one zip, or the three Parquet files.
        limit_mb: size limit of all files together in megabytes (10^6 bytes).

    Raises:
        DatasetError: the upload is too large, damaged, unsafe or incomplete.
        DatasetError: the loader rejects the data set.
    """
    shown = ", ".join(name for name, _ in files)
    size = 0
    for _, content in files:
        size += content.seek(0, 2)
        content.seek(0)
    if size > limit_mb * 1_000_000:
        raise DatasetError("dataset_upload_too_large", name=shown, size_mb=math.ceil(size / 1e6), limit_mb=limit_mb)
    with replaced_folder(folder) as work:
        if len(files) == 1 and files[0][0].lower().endswith(".zip"):
            _unpack(*files[0], work, limit_mb * EXPANSION)
        else:
            parts = {PurePosixPath(name).name: content for name, content in files}
            _require_parts(shown, parts)
            for name in _PARQUET:
                with (work / name).open("wb") as target:
                    shutil.copyfileobj(parts[name], target)
        try_to_load(work, shown)


def _unpack(name: str, content: IO[bytes], work: Path, limit_mb: int) -> None:
    try:
        with zipfile.ZipFile(content) as archive:
            for path, info in _parts(name, archive, limit_mb).items():
                target = work / path
                make_folder(target.parent)
                with archive.open(info) as source, target.open("wb") as file:
                    # zipfile never unpacks more than the declared size, whose sum was checked.
                    shutil.copyfileobj(source, file)
    # zipfile raises NotImplementedError for an unknown compression and RuntimeError for a password.
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise DatasetError("dataset_upload_damaged", name=name, reason=str(error) or type(error).__name__) from error


def _parts(name: str, archive: zipfile.ZipFile, limit_mb: int) -> Mapping[str, zipfile.ZipInfo]:
    """Return the data set's files by path relative to its folder, which may be a subfolder of the archive."""
    infos = [info for info in archive.infolist() if not info.filename.endswith("/")]  # is_dir() fails on ""
    for info in infos:
        path = PurePosixPath(info.filename)
        leads_out = path.is_absolute() or ".." in path.parts or "\\" in info.filename or ":" in "".join(path.parts[:1])
        if leads_out or stat.S_ISLNK(info.external_attr >> 16):
            raise DatasetError("dataset_upload_unsafe", name=name, entry=info.filename)
    if len(infos) > _MOST_ENTRIES:
        raise DatasetError("dataset_upload_too_many_entries", name=name, entries=len(infos), limit=_MOST_ENTRIES)
    home = _home([info.filename for info in infos])
    inside = {info.filename: info.filename.removeprefix(home) for info in infos if info.filename.startswith(home)}
    parts = frozenset(layout_of(inside.values()).files)
    found: dict[str, zipfile.ZipInfo] = {}
    for info in infos:
        relative = inside.get(info.filename, "")
        if relative in parts or _ABOUT.fullmatch(relative):
            if relative in found:
                raise DatasetError("dataset_upload_unsafe", name=name, entry=info.filename)
            found[relative] = info
    for info in found.values():
        ratio = -(-info.file_size // max(1, info.compress_size))
        if info.file_size > 1_000_000 and ratio > _STEEP:
            raise DatasetError("dataset_upload_too_steep", name=name, entry=info.filename, ratio=ratio, limit=_STEEP)
    if (size := sum(info.file_size for info in found.values())) > limit_mb * 1_000_000:
        largest = max(found.values(), key=lambda info: info.file_size)
        size_mb = round(size / 1e6)
        raise DatasetError(
            "dataset_upload_expands", name=name, entry=largest.filename, size_mb=size_mb, limit_mb=limit_mb
        )
    _require_parts(name, found or {info.filename: info for info in infos})
    return found


def _home(names: Sequence[str]) -> str:
    """Return the archive's folder that is a data set, with a trailing slash; "" for the top level or if none is."""
    # Not deeper than three folders: a hostile archive could have very many.
    parents = {f"{parent}/" for name in names for parent in PurePosixPath(name).parents[-4:] if parent.name}
    for home in sorted({"", *parents}, key=lambda home: (home.count("/"), home)):
        if layout_of(name.removeprefix(home) for name in names if name.startswith(home)).corpus:
            return home
    return ""


def _require_parts(name: str, parts: Mapping[str, object]) -> None:
    layout = layout_of(parts)
    if not (layout.corpus and layout.queries and layout.qrels):
        raise DatasetError("dataset_upload_incomplete", name=name, found=", ".join(sorted(parts)[:8]) or "-")


def try_to_load(folder: Path, name: str, seconds: int = SECONDS, memory_mb: int = MEMORY_MB) -> None:
    """Check that the loader accepts ``folder``.

    Args:
        name: name of the upload, for error messages.
        seconds: time limit.
        memory_mb: limit of the address space in megabytes.

    Raises:
        DatasetError: the loader's error, with paths relative to ``folder``.
        DatasetError (dataset_upload_too_demanding): loading exceeded a limit.
    """
    try:
        answer = parse_json(output_of(__name__, [str(folder)], Limits(seconds, memory_mb)))
    except ValueError as error:
        raise DatasetError("dataset_upload_too_demanding", name=name, seconds=seconds, memory_mb=memory_mb) from error
    if answer:
        raise _error(answer, folder)


def _error(answer: Mapping[str, Any], folder: Path) -> ChatbotError:
    params = dict(answer["params"])
    if "path" in params:
        # The temporary folder of the trial would only confuse the user.
        params["path"] = params["path"].removeprefix(f"{folder}{os.sep}")
    return all_errors()[answer["code"]](answer["code"], **params)


def main() -> None:
    [folder] = limit_this_process()
    answer: dict[str, Any] = {}
    try:
        check_dataset(Path(folder))
    except ChatbotError as error:
        if isinstance(error.__cause__, MemoryError):
            sys.exit(1)
        answer = {"code": error.code, "params": {name: str(value) for name, value in error.params.items()}}
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
