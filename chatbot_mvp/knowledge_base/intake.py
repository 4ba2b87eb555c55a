"""Read the files of an upload one by one, and track the state of each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, count
from posixpath import dirname
from typing import Any, Literal

from chatbot_mvp.documents.kb_files import KbFile, text_hash
from chatbot_mvp.documents.names import clean_path
from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.errors import ChatbotError, RunStopped, UploadError, all_errors
from chatbot_mvp.knowledge_base.parsed_files import ParsedFiles
from chatbot_mvp.knowledge_base.versions import NewDocument

FileStage = Literal["waiting", "reading", "read", "indexing", "indexed", "failed", "duplicate", "stopped"]


@dataclass(frozen=True)
class FileState:
    """The progress and result of one file of an upload."""

    name: str
    stage: FileStage = "waiting"
    size: int = 0
    """Size of the file in bytes."""
    chars: int = 0
    """Number of characters read."""
    pages: int = 0
    """Number of pages of a PDF; 0 for other formats."""
    empty_pages: int = 0
    """Number of pages without text."""
    lost: dict[str, int] = field(default_factory=dict)
    """What of the file is not in its text, as in ``ParsedText``."""
    pages_read: int = 0
    """Number of pages without text that were read by a reader of such pages so far; ``pages_to_read``: of how many."""
    pages_to_read: int = 0
    cut: bool = False
    """True if only a part of its text was kept."""
    resumed: bool = False
    """True if an earlier upload, which ended before its knowledge base was made, had read it."""
    same_as: str = ""
    """For a duplicate, the earlier file of its folder with the same text; its own name if that document is there."""
    original: str = ""
    """For such a duplicate, the SHA-256 of its file in hex; ``about``: what it says of itself, as in ``ParsedText``."""
    about: dict[str, Any] = field(default_factory=dict)
    replaces: bool = False
    """True if the knowledge base has another document under this name, which the file replaces."""
    code: str = ""
    """Error code of a failed file; ``params`` has the values."""
    message: str = ""
    """Error message of a failed file, in English."""
    params: dict[str, str] = field(default_factory=dict)

    @property
    def active(self) -> bool:
        return self.stage in ("waiting", "reading", "read", "indexing")

    def stopped(self) -> FileState:
        """Return this state with the stage "stopped"."""
        return replace(self, stage="stopped")

    def failed(self, error: ChatbotError) -> FileState:
        params = {name: str(value) for name, value in error.params.items()}
        return replace(self, stage="failed", code=error.code, message=str(error), params=params)

    @property
    def error(self) -> ChatbotError:
        """The error of a failed file."""
        return all_errors()[self.code](self.code, **self.params)


class Intake:
    """The files of one upload. Not safe to share between threads."""

    def __init__(
        self,
        files: Sequence[tuple[str, bytes]],
        limits: tuple[int, int, int],
        parsed: ParsedFiles,
        known: Iterable[tuple[str, str]] = (),
        paths: Collection[str] = (),
        require: Callable[[str, str], None] = lambda path, sha256: None,
        reader: str = "",
    ) -> None:
        """
        Args:
            files: (name, content).
            limits: KB_MAX_CHARS, KB_MAX_UPLOAD_MB and KB_MAX_PAGES.
            parsed: keeps what has been read, so that an equal upload continues there after a stop or a crash.
            known: (hash of its text, path) of each document that is there. In another folder its text is another
                document's.
            paths: the names of all documents that are there. A file of such a name is no duplicate of another one's
                text: left out, it would leave its old text behind.
            require: raises ChatbotError for the path and the hash of the text of a file that may not come.
            reader: as in ``parse_upload``.
        """
        self.states = [FileState(name, size=len(content)) for name, content in files]
        self._done = 0
        self._contents = [content for _, content in files]
        self._limits = limits
        self._parsed = parsed
        self._keys: list[str] = []  # of the files in ``_parsed``
        self._rows: list[int] = []  # row in ``states`` of each file that was read
        self._found: list[NewDocument] = []
        self._seen = {(sha, dirname(path)): path for sha, path in known}
        self._paths = frozenset(paths)
        self._require = require
        self._reader = reader

    @property
    def done(self) -> int:
        """Number of files that need no more reading. They are read in their order."""
        while self._done < len(self.states) and self.states[self._done].stage not in ("waiting", "reading"):
            self._done += 1
        return self._done

    def read(
        self, report: Callable[[str], None], gives_way: Callable[[], bool] = lambda: False
    ) -> list[NewDocument] | None:
        """Parse the files; return each usable one, in the order of their names. Failures are recorded in ``states``.

        Args:
            report: called with the phase "kb_read" after every change and a few times a second; may raise to stop.
            gives_way: called between files. If it returns True, the reading stops, and the next call continues it.

        Returns:
            None if files are left to read.
        """
        self._parsed.prune()
        for row, state in enumerate(self.states):
            if state.stage not in ("waiting", "reading"):
                continue
            if row and gives_way():
                return None
            self._read(row, report)
            report("kb_read")
        taken: set[str] = set()
        for at, one in enumerate(self._found):
            self._found[at] = replace(one, path=_free(one.path, taken))
            taken.add(self._found[at].path)
        order = sorted(range(len(self._found)), key=lambda at: self._found[at].path)
        self._rows = [self._rows[at] for at in order]
        self._found = [self._found[at] for at in order]
        return self._found

    def _read(self, row: int, report: Callable[[str], None]) -> None:
        name, content = self.states[row].name, self._contents[row]
        self._set(row, stage="reading")
        report("kb_read")

        def on_page(done: int, total: int) -> None:
            self._set(row, pages_read=done, pages_to_read=total)
            report("kb_read")

        path = clean_path(name) or name
        key = self._parsed.key(name, content, self._limits, self._reader)
        known = self._parsed.get(key)
        try:
            check = partial(report, "kb_read")
            parsed = known or parse_upload(name, content, *self._limits, check, on_page, self._reader)
            sha = text_hash(parsed.text)
            self._require(path, sha)
        except RunStopped:
            raise
        except ChatbotError as error:
            self.states[row] = self.states[row].failed(error)
            return
        self._keys.append(key)
        if known is None:
            self._parsed.put(key, parsed)
        there = self._seen.get((sha, dirname(path)))
        if there is not None and (name not in self._paths or there == name):
            original = hashlib.sha256(content).hexdigest() if there == name else ""
            self._set(row, stage="duplicate", same_as=there, original=original, about=dict(parsed.about))
            return
        self._seen[sha, dirname(path)] = name
        self._set(
            row,
            stage="read",
            chars=parsed.original_chars,
            pages=len(parsed.page_starts),
            empty_pages=parsed.empty_pages,
            lost=dict(parsed.lost),
            resumed=known is not None,
            replaces=name in self._paths,
        )
        self._rows.append(row)
        self._found.append(NewDocument(path, parsed, content))

    def kept(self, files: Sequence[KbFile], max_chars: int) -> None:
        """Mark the files in ``files`` as being indexed, and the remaining ones as failed for lack of room."""
        kept = {file.name: file for file in files}
        for row, one in zip(self._rows, self._found, strict=True):
            if one.path in kept:
                self._set(row, stage="indexing", cut=kept[one.path].cut)
            else:
                error = UploadError("upload_no_room", name=self.states[row].name, limit=max_chars)
                self.states[row] = self.states[row].failed(error)

    def kept_all(self) -> None:
        """Mark all files that were read as being indexed."""
        for row in self._rows:
            self._set(row, stage="indexing")

    def indexed(self) -> None:
        """Mark all files that were being indexed as indexed, and forget what was kept to continue the upload."""
        self._parsed.drop(self._keys)
        for row, state in enumerate(self.states):
            if state.stage == "indexing":
                self._set(row, stage="indexed")

    def stopped(self) -> None:
        """Mark all unfinished files as stopped."""
        self.states = [state.stopped() if state.active else state for state in self.states]

    def _set(self, row: int, **changes: Any) -> None:
        self.states[row] = replace(self.states[row], **changes)


def _free(path: str, taken: Collection[str]) -> str:
    """Return a path that no other file of the upload has: "a.md", "a (2).md"."""
    stem, dot, suffix = path.rpartition(".")
    others = (f"{stem or suffix} ({number}){dot if stem else ''}{suffix if stem else ''}" for number in count(2))
    return next(one for one in chain([path], others) if one not in taken)
