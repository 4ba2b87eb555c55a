"""Calls a reader inside the confined process, and turns its failures into errors."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chatbot_mvp.documents.reading.extracted import MAX_TEXT_CHARS, Extracted
from chatbot_mvp.documents.reading.reader import MEMORY_MB, GivenFile
from chatbot_mvp.errors import ChatbotError, UploadError
from chatbot_mvp.plugins.kinds import attribute


class OutOfTimeError(BaseException):
    """Not an Exception, because readers catch those of damaged pages and go on."""


def read_with(
    source: str,
    kind: str,
    name: str,
    content: bytes,
    max_pages: int,
    on_pages: Callable[[int], None] = lambda pages: None,
) -> Extracted:
    """Read a file with a reader, inside the restricted process.

    Args:
        source: "module:function" of the reader.
        on_pages: as in ``GivenFile``.

    Raises:
        UploadError: the file cannot be read, or its text is too large.
        MissingPackage: the reader's package is not installed.
    """
    try:
        found = attribute(source)(GivenFile(name, content, max_pages, on_pages))
        if not isinstance(found, Extracted):
            raise TypeError(f"{source} returned a {type(found).__name__}, not Extracted")
    except ChatbotError:
        raise
    except OutOfTimeError as error:
        raise UploadError("upload_too_slow", name=name, seconds=math.ceil(time.process_time())) from error
    except MemoryError as error:
        raise UploadError("upload_expands", name=name, limit_mb=MEMORY_MB) from error
    except Exception as error:
        reason = f"{type(error).__name__}: {error}".strip(": ")[:200]
        raise UploadError("upload_damaged", name=name, kind=kind, reason=reason) from error
    if len(found.text) > MAX_TEXT_CHARS:
        raise UploadError("upload_expands", name=name, limit_mb=MAX_TEXT_CHARS // 1_000_000)
    return found


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
        write({"failed": f"{type(error).__name__}: {error}".strip(": ")[:200]})
