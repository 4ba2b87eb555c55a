"""The places that documents come from when a command names them: a file, and the places that are added."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from chatbot_mvp.errors import UploadError
from chatbot_mvp.plugins.registry import Registry
from chatbot_mvp.storage.regular_files import read_regular
from chatbot_mvp.types import ProgressCallback, ignore_progress

if TYPE_CHECKING:
    from chatbot_mvp.settings.model import Settings


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """A place that documents come from. A command names its documents "NAME:REST"."""

    name: str
    files: Callable[[str, Settings, ProgressCallback], Iterable[tuple[str, bytes]]]
    """Called with REST, the settings and what takes progress; gives (file name, content) of each document.

    The suffix of a name says which reader reads it. It raises ChatbotError, OSError or ValueError if there is none.
    """
    summary: str
    """What REST names, for people."""


def _file(rest: str, settings: Settings, progress: ProgressCallback) -> list[tuple[str, bytes]]:
    path = Path(rest)
    return [(path.name, read_regular(path, settings.kb_max_upload_mb * 1_000_000))]


DOCUMENT_SOURCES: Mapping[str, DocumentSource] = Registry(
    "document_source", DocumentSource, (DocumentSource("file", _file, "path of a file"),)
)
"""Name -> source."""


def source_of(reference: str) -> tuple[DocumentSource, str] | None:
    """Return the source that a reference names, and the rest of the reference; None if it names none.

    A path of a file names the source "file", even if it begins as another source's name does.
    """
    if Path(reference).is_file():
        return DOCUMENT_SOURCES["file"], reference
    name, colon, rest = reference.partition(":")
    return (DOCUMENT_SOURCES[name], rest) if colon and name in DOCUMENT_SOURCES else None


def documents_of(
    source: DocumentSource, rest: str, settings: Settings, progress: ProgressCallback = ignore_progress
) -> list[tuple[str, bytes]]:
    """Return (file name, content) of the documents that a source gives; at least one.

    Raises:
        UploadError (document_source_failed): it gives none, or fails.
    """
    try:
        found = list(source.files(rest, settings, progress))
    except (OSError, ValueError) as error:
        raise UploadError("document_source_failed", source=source.name, found=rest, reason=str(error)) from error
    if not found:
        raise UploadError("document_source_failed", source=source.name, found=rest, reason="there are no documents")
    return found
