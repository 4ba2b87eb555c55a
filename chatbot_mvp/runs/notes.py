"""Store users' tags and notes of runs in ``data/run_notes.jsonl``, one appended line per change.

A line says which tags were added and removed, so that two users can tag a run at the same time. A note replaces only
the text that its author has seen, so that nobody overwrites an unseen note.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from chatbot_mvp.errors import FileOfLaterVersion, RunError
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import lock_beside, make_folder
from chatbot_mvp.storage.formats import RUN_NOTE, VERSION, IncompleteFile, known_version
from chatbot_mvp.storage.jsonl import append_lines, read_lines
from chatbot_mvp.storage.lru import FileCache
from chatbot_mvp.text import fold

_log = logging.getLogger(__name__)

TAG_CHARS, NOTE_CHARS = 40, 2_000
"""Maximum length of a tag and a note in characters; longer texts are cut."""


@dataclass(frozen=True, slots=True)
class RunNote:
    """The tags and the note of a run."""

    tags: tuple[str, ...] = ()
    """In the order of their addition; distinct regardless of case and accents."""
    note: str = ""


NO_NOTE = RunNote()


class RunNotes:
    """Safe to use from threads and processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._cache: FileCache[Mapping[str, RunNote]] = FileCache(0)

    def all(self) -> Mapping[str, RunNote]:
        """run_id -> its tags and note, of the runs that have any. Damaged lines are left out."""
        return self._cache.get(self._path, lambda: _read(self._path))

    def tag(self, run_id: str, add: Iterable[str] = (), remove: Iterable[str] = ()) -> RunNote:
        """Add and remove tags, and return the run's tags and note.

        Raises:
            RunError (note_not_written): the file cannot be written.
        """
        line = {"add": _tidy(add), "remove": _tidy(remove)}
        return self._append(run_id, lambda _: line)

    def write(self, run_id: str, text: str, seen: str) -> RunNote:
        """Replace the note ``seen`` by ``text``; "" is no note.

        Raises:
            RunError (note_changed): the current note is not ``seen``; it stays.
            RunError (note_not_written): the file cannot be written.
        """

        def line(now: RunNote) -> dict[str, Any]:
            if now.note != seen:
                raise RunError("note_changed", run_id=run_id, found=now.note)
            return {"note": text.strip()[:NOTE_CHARS]}

        return self._append(run_id, line)

    def _append(self, run_id: str, line: Callable[[RunNote], Mapping[str, Any]]) -> RunNote:
        path = self._path
        try:
            make_folder(path.parent)
            with lock_beside(path):
                # Read again inside the lock: another process may have changed the file just now.
                now = _read(path).get(run_id, NO_NOTE)
                row = {VERSION: RUN_NOTE, "time": utc_now(), "run_id": run_id, **line(now)}
                append_lines(path, [row])
        except OSError as error:
            raise RunError(
                "note_not_written", run_id=run_id, path=str(path), reason=error.strerror or str(error)
            ) from error
        return _changed(now, row)


def _read(path: Path) -> dict[str, RunNote]:
    rows, _ = read_lines(path)
    found: dict[str, RunNote] = {}
    for row in rows:
        try:
            known_version(row, path, RUN_NOTE)
        except (FileOfLaterVersion, IncompleteFile) as error:
            _log.warning("a line was left out: %s", error)
            continue
        run_id = row.get("run_id")
        if isinstance(run_id, str):
            found[run_id] = _changed(found.get(run_id, NO_NOTE), row)
    return found


def _changed(before: RunNote, row: Mapping[str, Any]) -> RunNote:
    if isinstance(row.get("note"), str):
        return replace(before, note=row["note"])
    add, remove = _tidy(row.get("add")), {fold(tag) for tag in _tidy(row.get("remove"))}
    kept = [tag for tag in before.tags if fold(tag) not in remove]
    found: dict[str, str] = {}
    for tag in [*kept, *add]:
        found.setdefault(fold(tag), tag)
    return replace(before, tags=tuple(found.values()))


def _tidy(tags: object) -> list[str]:
    """Put each tag on one line and cut it to TAG_CHARS; values that are not strings are left out."""
    if not isinstance(tags, Iterable) or isinstance(tags, str):
        return []
    return [tidy for tag in tags if isinstance(tag, str) and (tidy := " ".join(tag.split())[:TAG_CHARS].strip())]
