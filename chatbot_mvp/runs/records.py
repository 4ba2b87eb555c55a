"""Store a run on disk: manifest, append-only records and events, and the result. A resume needs nothing else.

``<results>/<run_id>/manifest.json``   what is measured, written once
``<results>/<run_id>/records.jsonl``   one line per query and phase, fsynced in batches
``<results>/<run_id>/events.jsonl``    what happened when
``<results>/<run_id>/<run_id>.json``   the result; its presence means that the run is finished
``<results>/<run_id>/.renewing``       beside a result: marks a retry that has not written its result yet
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout

from chatbot_mvp.errors import FileOfLaterVersion, RunError, RunNotFound, RunUnreadable
from chatbot_mvp.runs.manifest import RunManifest, parse_manifest
from chatbot_mvp.runs.result import RunResult, read_result, result_json
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import is_held, make_new_folder, write_json
from chatbot_mvp.storage.formats import MANIFEST, VERSION, complete, known_version
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.storage.jsonl import append_lines, read_lines

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class QueryRecord:
    """The result of one phase for one query."""

    run_id: str
    query_id: str
    phase: str
    status: Literal["ok", "failed"]
    payload: dict[str, Any]
    error: str | None = None


RunState = Literal["finished", "running", "unfinished"]


class RunFolder:
    """One run's files."""

    def __init__(self, root: Path, run_id: str) -> None:
        self.run_id = run_id
        self.path = root / run_id
        self.result_path = self.path / f"{run_id}.json"
        self._records = self.path / "records.jsonl"
        self._renewing = self.path / ".renewing"
        # Wait up to two seconds, because a page that reads the state holds the lock for a moment.
        self._lock = FileLock(self.path / ".lock", timeout=2)

    def create(self, manifest: RunManifest) -> None:
        """Create the folder and write the manifest.

        Raises:
            FileExistsError: another run has this id.
            RunError (run_not_begun): the disk is full or not writable; nothing is left behind.
        """
        try:
            make_new_folder(self.path)
            write_json(self.path / "manifest.json", {VERSION: MANIFEST, **asdict(manifest)})
        except FileExistsError:
            raise
        except OSError as error:
            with suppress(OSError):
                self.path.rmdir()
            raise RunError(
                "run_not_begun", folder=str(self.path.parent), reason=error.strerror or str(error)
            ) from error

    def manifest(self) -> RunManifest:
        """Read the manifest.

        Raises:
            RunNotFound: no such run.
            RunUnreadable: the manifest is damaged, or a later version wrote it.
        """
        path = self.path / "manifest.json"
        if not re.fullmatch(r"[\w.-]+", self.run_id) or not path.is_file():
            raise RunNotFound(run_id=self.run_id, folder=str(self.path.parent))
        try:
            values = known_version(parse_json(path.read_bytes()), path, MANIFEST)
            return parse_manifest(json.dumps(values).encode())
        except (ValueError, AttributeError, OSError, FileOfLaterVersion) as error:
            raise RunUnreadable(run_id=self.run_id, reason=f"manifest.json: {error}") from error

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the run's lock while working on it. The system frees the lock when the process dies.

        Raises:
            RunError (run_busy): another process or thread holds the lock.
        """
        try:
            self._lock.acquire()
        except Timeout as error:
            raise RunError("run_busy", run_id=self.run_id) from error
        try:
            yield
        finally:
            self._lock.release()

    @property
    def finished(self) -> bool:
        """Whether the result exists and no retry is in progress."""
        return self.result_path.is_file() and not self._renewing.exists()

    def renew(self) -> None:
        """Mark the run as unfinished for a retry. The earlier result stays readable until there is a new one.

        The mark lets a retry that dies be found and resumed like any other attempt.
        """
        if self.result_path.is_file():
            self._renewing.touch()

    def finish(self, result: RunResult) -> None:
        """Write the result, the last step of a run.

        Raises:
            RunError: a figure is NaN or infinite, or the disk is full or not writable; an earlier result stays.
        """
        try:
            write_json(self.result_path, result_json(result))
            self._renewing.unlink(missing_ok=True)
        except (ValueError, OSError) as error:
            raise not_written(self.run_id, self.result_path.name, error) from error

    def state(self) -> RunState:
        """Return whether the run is finished, being worked on, or neither."""
        if self.finished:
            return "finished"
        return "running" if is_held(self.path / ".lock") else "unfinished"

    def records(self, phase: str) -> tuple[dict[str, QueryRecord], int]:
        """Return (query_id -> its last record of a phase, number of damaged lines, incomplete ones included)."""
        phases, damaged = self.all_records()
        return phases.get(phase, {}), damaged

    def all_records(self) -> tuple[dict[str, dict[str, QueryRecord]], int]:
        """Return (phase -> query_id -> its last record, number of damaged lines)."""
        found: dict[str, dict[str, QueryRecord]] = {}
        rows, damaged = read_lines(self._records)
        for row in rows:
            try:
                record = _record(row)
            except (TypeError, ValueError):
                damaged += 1
                continue
            found.setdefault(record.phase, {})[record.query_id] = record
        return found, damaged

    def records_of(self, query_id: str) -> dict[str, QueryRecord]:
        """Return phase -> the last record of one query. Parses only this query's lines."""
        if not self._records.is_file():
            return {}
        wanted = json.dumps(query_id, ensure_ascii=False).encode()
        found: dict[str, QueryRecord] = {}
        with self._records.open("rb") as lines:
            for line in lines:
                if wanted not in line:
                    continue
                with suppress(ValueError, TypeError):
                    record = _record(parse_json(line))
                    if record.query_id == query_id:
                        found[record.phase] = record
        return found

    def failed_queries(self) -> set[str]:
        """Return the queries whose last record of any phase is a failure."""
        phases, _ = self.all_records()
        return {key for records in phases.values() for key, record in records.items() if record.status == "failed"}

    def append_records(self, records: Iterable[QueryRecord]) -> None:
        """Append records and fsync. When this returns, they survive a crash.

        Raises:
            RunError: the disk is full or not writable, or a number is NaN or infinite; earlier records stay.
        """
        self._append(self._records, [vars(record) for record in records], sync=True)

    def event(self, name: str, **values: Any) -> None:
        """Append an event. Events record the course and cost of a run, not the results of its queries."""
        self.events(name, [values])

    def events(self, name: str, rows: Iterable[dict[str, Any]]) -> None:
        """Append several events of one kind, and log them.

        Raises:
            RunError (run_not_written): as in ``append_records``.
        """
        common = {"time": utc_now(), "event": name, "run_id": self.run_id}
        lines = [{**common, **row} for row in rows]
        self._append(self.path / "events.jsonl", lines, sync=False)
        for line in lines:
            _log.info("%s", name, extra={"event": line})

    def read_events(self, name: str) -> Iterator[dict[str, Any]]:
        """Yield the events of one kind, in order. Damaged lines are skipped."""
        rows, _ = read_lines(self.path / "events.jsonl")
        return (row for row in rows if row.get("event") == name)

    def _append(self, path: Path, rows: list[dict[str, Any]], sync: bool) -> None:
        try:
            append_lines(path, rows, sync)
        except (ValueError, OSError) as error:
            raise not_written(self.run_id, path.name, error) from error

    def result(self) -> RunResult:
        """Read the result of a run.

        Raises:
            RunNotFound: the run is not finished or does not exist.
            RunUnreadable: the file is damaged.
        """
        self.manifest()
        if not self.result_path.is_file():
            raise RunNotFound(run_id=self.run_id, folder=str(self.path.parent))
        return read_result(self.result_path, self.run_id)


def not_written(run_id: str, path: str, error: ValueError | OSError) -> RunError:
    """Return the error of a run whose file ``path`` could not be written."""
    return RunError("run_not_written", run_id=run_id, path=path, reason=getattr(error, "strerror", None) or str(error))


def run_folders(root: Path) -> list[RunFolder]:
    """List all runs with a manifest, newest first."""
    names = sorted((path.parent.name for path in root.glob("*/manifest.json")), reverse=True)
    return [RunFolder(root, name) for name in names]


def _record(row: dict[str, Any]) -> QueryRecord:
    """Return the record of a line.

    Raises:
        TypeError, ValueError: a field is missing, unknown or of another type.
    """
    record = QueryRecord(**complete(row, QueryRecord))
    texts = (record.run_id, record.query_id, record.phase, record.error or "")
    if not all(isinstance(text, str) for text in texts) or not isinstance(record.payload, dict):
        raise TypeError("a field has another type")
    if record.status not in ("ok", "failed"):
        raise ValueError(f"status {record.status!r}")
    return record
