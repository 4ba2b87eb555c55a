"""Calls a reader inside the confined process, and turns its failures into errors."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chatbot_mvp.documents.reading.extracted import MAX_TEXT_CHARS, Extracted
from chatbot_mvp.documents.reading.reader import MEMORY_MB, GivenFile
from chatbot_mvp.errors import ChatbotError, ReaderFailed, UploadError
from chatbot_mvp.plugins.kinds import attribute


class OutOfTimeError(BaseException):
    """Not an Exception, because readers catch those of damaged pages and go on."""


def read_with(source: str, kind: str, file: GivenFile) -> Extracted:
    """Read a file with a reader, inside the restricted process.

    Args:
        source: "module:function" of the reader.
        kind: the format's name in errors.

    Raises:
        UploadError: the file cannot be read, or its text is too large.
        ReaderFailed: it lacks a module, or was refused a file or a call. The document comes as bytes: no fault of it.
    """
    try:
        found = attribute(source)(file)
        if not isinstance(found, Extracted):
            raise TypeError(f"{source} returned a {type(found).__name__}, not Extracted")
    except OutOfTimeError as error:
        raise UploadError("upload_too_slow", name=file.name, seconds=math.ceil(time.process_time())) from error
    except MemoryError as error:
        raise UploadError("upload_expands", name=file.name, limit_mb=MEMORY_MB) from error
    except Exception as error:
        refused = _refusal_in(error)
        if isinstance(error, ChatbotError) and refused is None:
            raise
        parameters = {"name": file.name, "kind": kind, "reason": _reason(refused or error)}
        if refused is not None or isinstance(error, ImportError):
            raise ReaderFailed(**parameters) from error
        raise UploadError("upload_damaged", **parameters) from error
    if len(found.text) > MAX_TEXT_CHARS:
        raise UploadError("upload_expands", name=file.name, limit_mb=MAX_TEXT_CHARS // 1_000_000)
    return found


def _refusal_in(error: BaseException | None) -> PermissionError | None:
    """Return what was refused to a reader that failed, whatever its libraries made of it."""
    while error is not None and not isinstance(error, PermissionError):
        error = error.__cause__ or error.__context__
    return error


def _reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".strip(": ")[:200]


def read_pages(
    source: str,
    file: GivenFile,
    pages: Sequence[int],
    options: Mapping[str, Any],
    write: Callable[[dict[str, Any]], None],
) -> None:
    """Read some pages with a reader of pages, and write each as soon as it is read; then ``file.on_pages`` is called.

    A failure is written, too, and ends the reading.
    """
    try:
        for done, (page, text) in enumerate(attribute(source)(file, list(pages), **options), 1):
            write({"page": page, "text": text[:MAX_TEXT_CHARS]})
            file.on_pages(done)
    except (Exception, OutOfTimeError) as error:  # noqa: BLE001 -- the pages that were read are kept
        write({"failed": _reason(error)})
