"""The files that somebody gives to a knowledge base: named on this machine, in folders, by sources, or received."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath

from chatbot_mvp.documents.names import clean_path
from chatbot_mvp.documents.origins import DOCUMENT_SOURCES, documents_of, source_of
from chatbot_mvp.documents.reading.readers import SUFFIXES
from chatbot_mvp.errors import ChatbotError, UploadError
from chatbot_mvp.knowledge_base.intake import FileState
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.regular_files import read_regular
from chatbot_mvp.types import ProgressCallback, ignore_progress

_UNSEEN = (".", "~$")
"""Names in a folder that begin so are no documents: hidden files, and the locks of office programs."""


@dataclass(frozen=True)
class GivenFile:
    """A file that may become a document."""

    name: str
    """As whoever gives it knows it."""
    path: str
    """As the knowledge base shall know it."""
    size: int
    """In bytes."""
    read: Callable[[int], bytes]
    """Called with a number of bytes, gives its content, of which it may leave out what is beyond; raises OSError."""


@dataclass(frozen=True)
class Given:
    """Files for a knowledge base, each with a path of its own."""

    files: tuple[GivenFile, ...]
    failed: tuple[FileState, ...] = ()
    """What was named and cannot be used."""
    ignored: tuple[str, ...] = ()
    """Paths of what no reader reads in folders, and of hidden files."""


def given(
    references: Sequence[str], settings: Settings, into: str = "", progress: ProgressCallback = ignore_progress
) -> Given:
    """Return what some references name.

    Args:
        references: files, folders with everything below them, and documents of sources, as "NAME:REST". A file in a
            folder keeps its path below that folder.
        into: folder of the knowledge base that all of them go into; "" for none.
    """
    found: list[GivenFile] = []
    failed, ignored = [], []
    for reference in references:
        try:
            if Path(reference).is_dir():
                files, others, links = _folder(reference, into)
                if not files and not links:
                    raise UploadError("upload_folder_empty", name=_shown(reference), legal=", ".join(SUFFIXES))
                found += files
                ignored += others
                failed += links
            else:
                found += _named(reference, settings, into, progress)
        except ChatbotError as error:
            failed.append(FileState(_shown(reference)).failed(error))
    return _apart(found, failed, ignored)


def given_folder(folder: str, into: str = "") -> Given:
    """Return the files of a folder, with everything below it.

    Args:
        into: as in ``given``.

    Raises:
        UploadError (upload_not_found, upload_not_readable): there is no such folder, or a part of it cannot be read.
    """
    if not Path(folder).is_dir():
        raise _not_found(folder)
    files, ignored, links = _folder(folder, into)
    return _apart(files, links, ignored)


def given_contents(files: Sequence[tuple[str, bytes]], into: str = "") -> Given:
    """Return files that were received, as (path, content).

    Args:
        into: as in ``given``.
    """
    return _apart([_content(name, content, into) for name, content in files], [], [])


def _named(reference: str, settings: Settings, into: str, progress: ProgressCallback) -> list[GivenFile]:
    if (named := source_of(reference)) is None:
        raise _not_found(reference)
    source, rest = named
    if source.name == "file" and Path(rest).is_file():
        return [_file(Path(rest), Path(rest).name, into)]
    return [_content(name, content, into) for name, content in documents_of(source, rest, settings, progress)]


def _folder(folder: str, into: str) -> tuple[list[GivenFile], list[str], list[FileState]]:
    """Return the files of a folder that a reader reads, the paths of the others, and the links in place of either.

    A link is not followed, since it may lead anywhere on this machine; it is told, since documents may be behind it. A
    folder that cannot be read ends it: what is below would seem to be gone.
    """

    def fail(error: OSError) -> None:
        raise _unreadable(str(error.filename or folder), error) from error

    files, ignored, links = [], [], []
    for where, folders, names in os.walk(folder, onerror=fail):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in (*folders, *sorted(names)):
            path = Path(where, name)
            below = path.relative_to(folder).as_posix()
            is_document = name in folders or (not name.startswith(_UNSEEN) and path.suffix.lower() in SUFFIXES)
            if is_document and path.is_symlink():
                links.append(FileState(_path(below, into)).failed(UploadError("upload_link", name=_shown(below))))
            elif name not in folders and is_document and path.is_file():
                files.append(_file(path, below, into, Path(folder)))
            elif name not in folders:
                ignored.append(_path(below, into))
    return files, ignored, links


def _file(path: Path, name: str, into: str, folder: Path | None = None) -> GivenFile:
    """``folder``: of which it is a part, so that no link below it is followed; None for a file that is named itself."""
    try:
        size = path.stat().st_size
    except OSError as error:
        raise _unreadable(str(path), error) from error
    return GivenFile(_shown(name), _path(name, into), size, partial(read_regular, path, below=folder))


def _content(name: str, content: bytes, into: str) -> GivenFile:
    return GivenFile(_shown(name), _path(name, into), len(content), lambda _: content)


def _apart(files: Sequence[GivenFile], failed: list[FileState], ignored: Sequence[str]) -> Given:
    """Return the files in the order of their paths; those whose path an earlier one has are refused."""
    found: dict[str, GivenFile] = {}
    for file in files:
        if (other := found.setdefault(file.path, file)) is not file:
            refused = UploadError("upload_same_path", name=file.name, path=file.path, other=other.name)
            failed.append(FileState(file.name, size=file.size).failed(refused))
    return Given(tuple(found[path] for path in sorted(found)), tuple(failed), tuple(ignored))


def contents(given: Given, max_mb: int) -> Iterator[tuple[GivenFile, bytes | FileState]]:
    """Yield each file with its content, or with the state that says why it cannot be read.

    Args:
        max_mb: KB_MAX_UPLOAD_MB; a larger file is not read.
    """
    most = max_mb * 1_000_000
    for file in given.files:
        try:
            try:
                content = b"" if file.size > most else file.read(most)
            except OSError as error:
                raise _unreadable(file.name, error) from error
            if (size := max(file.size, len(content))) > most:
                raise UploadError("upload_too_large", name=file.path, size_mb=round(size / 1e6, 1), limit_mb=max_mb)
            yield file, content
        except UploadError as error:
            yield file, FileState(file.path, size=file.size).failed(error)


def _path(name: str, into: str) -> str:
    return clean_path(f"{into}/{_shown(name)}".lstrip("/")) or PurePath(_shown(name)).name


def _shown(name: str) -> str:
    """Return a name of this machine as text; bytes that are none become the sign for that."""
    return os.fsencode(name).decode("utf-8", "replace")


def _not_found(reference: str) -> UploadError:
    return UploadError(
        "upload_not_found", name=_shown(reference), legal=", ".join(f"{name}:" for name in DOCUMENT_SOURCES)
    )


def _unreadable(name: str, error: OSError) -> UploadError:
    return UploadError("upload_not_readable", name=_shown(name), reason=error.strerror or str(error))
