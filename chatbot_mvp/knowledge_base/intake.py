"""Takes files one by one and tells the state of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from chatbot_mvp.documents.parsing import ParsedText, parse_upload
from chatbot_mvp.documents.sources import KbFile, text_hash
from chatbot_mvp.errors import ChatbotError, RunStopped, UploadNoRoom

FileStage = Literal["waiting", "reading", "read", "indexing", "indexed", "failed", "duplicate", "stopped"]


@dataclass(frozen=True)
class FileState:
    """How far a file is."""

    name: str
    stage: FileStage = "waiting"
    chars: int = 0
    """Characters read."""
    pages: int = 0
    """Of a PDF; 0 for other formats."""
    empty_pages: int = 0
    """Pages without text."""
    cut: bool = False
    """Whether not all of its text found room."""
    same_as: str = ""
    """Name of the file that a duplicate repeats."""
    code: str = ""
    """Of the error of a file that failed, with its values in ``params``."""
    message: str = ""
    """The same in English."""
    params: dict[str, str] = field(default_factory=dict)

    @property
    def active(self) -> bool:
        return self.stage in ("waiting", "reading", "read", "indexing")

    def stopped(self) -> FileState:
        """As it is when the work on it was given up."""
        return replace(self, stage="stopped")

    def failed(self, error: ChatbotError) -> FileState:
        params = {name: str(value) for name, value in error.params.items()}
        return replace(self, stage="failed", code=error.code, message=str(error), params=params)

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


class Intake:
    """The files of one upload. For one thread."""

    def __init__(self, names: Sequence[str], max_chars: int, max_mb: int, max_pages: int) -> None:
        self.states = [FileState(name) for name in names]
        self._limits = (max_chars, max_mb, max_pages)
        self._rows: list[int] = []  # row in ``states`` of each file that was read

    @property
    def done(self) -> int:
        """Files that need no more reading."""
        return sum(state.stage not in ("waiting", "reading") for state in self.states)

    def read(self, contents: Sequence[bytes], told: Callable[[str], None]) -> list[tuple[str, ParsedText]]:
        """(name, text) of each file that can be used, in order.

        Args:
            told: called with the phase "read" after every change and a few times a second; may raise to stop.
        """
        max_chars, max_mb, max_pages = self._limits
        found: list[tuple[str, ParsedText]] = []
        seen: dict[str, str] = {}
        for row, content in enumerate(contents):
            name = self.states[row].name
            self._set(row, stage="reading")
            told("kb_read")
            try:
                parsed = parse_upload(name, content, max_chars, max_mb, max_pages, lambda: told("kb_read"))
            except RunStopped:
                raise
            except ChatbotError as error:
                self.states[row] = self.states[row].failed(error)
                continue
            sha = text_hash(parsed.text)
            if sha in seen:
                self._set(row, stage="duplicate", same_as=seen[sha])
                continue
            seen[sha] = name
            self._set(
                row,
                stage="read",
                chars=parsed.original_chars,
                pages=len(parsed.page_starts),
                empty_pages=parsed.empty_pages,
            )
            self._rows.append(row)
            found.append((name, parsed))
        told("kb_read")
        return found

    def kept(self, files: Sequence[KbFile], max_chars: int) -> None:
        """The files that found room are being indexed; the last ones may not have."""
        for row, file in zip(self._rows, files, strict=False):
            self._set(row, stage="indexing", cut=file.cut)
        for row in self._rows[len(files) :]:
            self.states[row] = self.states[row].failed(UploadNoRoom(name=self.states[row].name, limit=max_chars))

    def indexed(self) -> None:
        """All that was being indexed is."""
        for row, state in enumerate(self.states):
            if state.stage == "indexing":
                self._set(row, stage="indexed")

    def stopped(self) -> None:
        """The work was given up."""
        self.states = [state.stopped() if state.active else state for state in self.states]

    def _set(self, row: int, **changes: Any) -> None:
        self.states[row] = replace(self.states[row], **changes)
