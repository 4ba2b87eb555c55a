"""A run on disk: manifest, append-only records and events, and the finished result. Reading is all a resume needs.

``<results>/<run_id>/manifest.json``   what is measured, written once
``<results>/<run_id>/records.jsonl``   one line per query and phase, fsynced in batches
``<results>/<run_id>/events.jsonl``    what happened when
``<results>/<run_id>/<run_id>.json``   the result; its presence means that the run is finished
``<results>/<run_id>/.renewing``       beside a result: a retry has begun whose result is not written yet
"""

from __future__ import annotations

import json
import logging
import os
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout

from chatbot_mvp.errors import RunBusy, RunNotBegun, RunNotFound, RunNotWritten, RunUnreadable
from chatbot_mvp.runs.result import BENCHMARK, RunResult, read_result, result_json

_log = logging.getLogger(__name__)


BUNDLE, TREC = "bundle", "trec"
"""Where a run was imported from: a zip of ``benchmark export``, a TREC run file."""


@dataclass(frozen=True)
class RunManifest:
    """What a run measures. A resume refuses to go on if any of it is not the same any more."""

    run_id: str
    dataset: str
    """The data set's name."""
    dataset_ref: str
    """How it is found again: a name here, an absolute folder, or ``s3://bucket/…/name/``."""
    dataset_sha256: str
    """Of its files; of files and sample where documents or queries were left out (``datasets.sampling``)."""
    strategy: str
    settings_masked: dict[str, Any]
    """The settings at the start; secrets as "***"."""
    fingerprint: str
    """Of the retrieval pipeline; with answers, of prompts, models and judge as well."""
    code_version: str
    queries: int
    """Queries of the run, after ``EVAL_MAX_QUERIES`` or ``DEV_MODE``."""
    documents: int
    """Documents of the run, after ``EVAL_MAX_CORPUS`` or ``DEV_MODE``."""
    started_at: str
    """ISO 8601, UTC."""
    generator: str = ""
    """Provider and model of the answers; "" for a run of retrieval only, and so for the following two."""
    judge: str = ""
    """Provider and model of the judgements; "" without any."""
    prompts: str = ""
    """Names the prompts of generation and judging, by versions and a hash of their files."""
    imported: str = ""
    """``BUNDLE`` for a run of another machine, ``TREC`` for one of another program; "" for a run of this machine."""
    kind: str = BENCHMARK
    """``BENCHMARK`` or ``RAGAS``."""
    evaluation: dict[str, Any] = field(default_factory=dict)
    """Of a Ragas evaluation: its configuration and the hash of its rows."""


@dataclass(frozen=True)
class QueryRecord:
    """What one phase gave for one query."""

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
        # Two seconds: a page that looks at the state holds the lock for a moment.
        self._lock = FileLock(self.path / ".lock", timeout=2)
        self._writing = threading.Lock()

    def create(self, manifest: RunManifest) -> None:
        """Make the folder and write the manifest.

        Raises:
            FileExistsError: another run has this id.
            RunNotBegun: the disk is full or refuses; nothing is left behind.
        """
        try:
            self.path.mkdir(parents=True)
            write_json(self.path / "manifest.json", asdict(manifest))
        except FileExistsError:
            raise
        except OSError as error:
            with suppress(OSError):
                self.path.rmdir()
            folder = str(self.path.parent)
            raise RunNotBegun(folder=folder, reason=error.strerror or str(error)) from error

    def manifest(self) -> RunManifest:
        """
        Raises:
            RunNotFound, RunUnreadable
        """
        path = self.path / "manifest.json"
        if not re.fullmatch(r"[\w.-]+", self.run_id) or not path.is_file():
            raise RunNotFound(run_id=self.run_id, folder=str(self.path.parent))
        try:
            return RunManifest(**json.loads(path.read_text("utf-8")))
        except (ValueError, TypeError, OSError) as error:
            raise RunUnreadable(run_id=self.run_id, reason=f"manifest.json: {error}") from error

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the lock of whoever works on the run; the system frees it when the process dies.

        Raises:
            RunBusy: another process or thread has it.
        """
        try:
            self._lock.acquire()
        except Timeout as error:
            raise RunBusy(run_id=self.run_id) from error
        try:
            yield
        finally:
            self._lock.release()

    @property
    def finished(self) -> bool:
        """Whether the result says all that is recorded."""
        return self.result_path.is_file() and not self._renewing.exists()

    def renew(self) -> None:
        """From now on the run counts as unfinished, whose earlier result can be read until there is a new one.

        A retry that dies has to be found, and resumed, like any other attempt.
        """
        if self.result_path.is_file():
            self._renewing.touch()

    def finish(self, result: RunResult) -> None:
        """Write the result, the last thing of a run.

        Raises:
            RunNotWritten: a figure is NaN or infinite; what was there before stays.
        """
        try:
            write_json(self.result_path, result_json(result))
        except ValueError as error:
            raise RunNotWritten(run_id=self.run_id, path=self.result_path.name, reason=str(error)) from error
        self._renewing.unlink(missing_ok=True)

    def state(self) -> RunState:
        """Whether there is a result, somebody at work, or neither."""
        if self.finished:
            return "finished"
        probe = FileLock(self.path / ".lock", timeout=0)
        try:
            probe.acquire()
        except Timeout:
            return "running"
        probe.release()
        return "unfinished"

    def records(self, phase: str) -> tuple[dict[str, QueryRecord], int]:
        """(query_id -> its last record of a phase, number of damaged lines). A torn last line counts as damaged."""
        phases, damaged = self.all_records()
        return phases.get(phase, {}), damaged

    def all_records(self) -> tuple[dict[str, dict[str, QueryRecord]], int]:
        """(phase -> query_id -> its last record, number of damaged lines)."""
        found: dict[str, dict[str, QueryRecord]] = {}
        rows, damaged = read_json_lines(self._records)
        for row in rows:
            try:
                record = QueryRecord(**row)
            except TypeError:
                damaged += 1
                continue
            found.setdefault(record.phase, {})[record.query_id] = record
        return found, damaged

    def records_of(self, query_id: str) -> dict[str, QueryRecord]:
        """phase -> the last record of one query; only its own lines are parsed."""
        if not self._records.is_file():
            return {}
        wanted = json.dumps(query_id, ensure_ascii=False).encode()
        found: dict[str, QueryRecord] = {}
        with self._records.open("rb") as lines:
            for line in lines:
                if wanted not in line:
                    continue
                with suppress(ValueError, TypeError):
                    record = QueryRecord(**json.loads(line))
                    if record.query_id == query_id:
                        found[record.phase] = record
        return found

    def failed_queries(self) -> set[str]:
        """Queries for which the last record of some phase is a failure."""
        phases, _ = self.all_records()
        return {key for records in phases.values() for key, record in records.items() if record.status == "failed"}

    def append_records(self, records: Iterable[QueryRecord]) -> None:
        """Append and fsync: once this returns, the records survive a crash.

        Raises:
            RunNotWritten: the disk is full or refuses; what was written before stays.
        """
        self._append(self._records, [vars(record) for record in records], sync=True)

    def event(self, name: str, **values: Any) -> None:
        """Append to the events; they tell a story and what was spent, and are not needed to resume."""
        self.events(name, [values])

    def events(self, name: str, rows: Iterable[dict[str, Any]]) -> None:
        """Append several events of one kind, and log them.

        Raises:
            RunNotWritten
        """
        common = {"time": utc_now(), "event": name, "run_id": self.run_id}
        lines = [{**common, **row} for row in rows]
        self._append(self.path / "events.jsonl", lines, sync=False)
        for line in lines:
            _log.info("%s", name, extra={"event": line})

    def read_events(self, name: str) -> Iterator[dict[str, Any]]:
        """The events of one kind, in their order; damaged lines are left out."""
        rows, _ = read_json_lines(self.path / "events.jsonl")
        return (row for row in rows if row.get("event") == name)

    def _append(self, path: Path, rows: list[dict[str, Any]], sync: bool) -> None:
        try:
            # Several threads tell events, and a line must not begin within another one.
            with self._writing:
                append_json_lines(path, rows, sync)
        except OSError as error:
            raise RunNotWritten(run_id=self.run_id, path=path.name, reason=error.strerror or str(error)) from error

    def result(self) -> RunResult:
        """The finished run as it was written.

        Raises:
            RunNotFound: not finished, or no such run.
            RunUnreadable: the file is damaged.
        """
        self.manifest()
        if not self.result_path.is_file():
            raise RunNotFound(run_id=self.run_id, folder=str(self.path.parent))
        return read_result(self.result_path, self.run_id)


def run_folders(root: Path) -> list[RunFolder]:
    """Every run with a manifest, the newest first."""
    names = sorted((path.parent.name for path in root.glob("*/manifest.json")), reverse=True)
    return [RunFolder(root, name) for name in names]


def append_json_lines(path: Path, rows: list[dict[str, Any]], sync: bool = True) -> None:
    """Append rows to a JSON Lines file. A torn last line, left by a crash, is first ended, so that it stays alone."""
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    with path.open("ab+") as file:
        if file.tell() > 0:
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                data = b"\n" + data
        file.write(data)
        file.flush()
        if sync:
            os.fsync(file.fileno())


def read_json_lines(path: Path) -> tuple[list[dict[str, Any]], int]:
    """(the rows that are JSON objects, the number of lines that are not). Damaged lines stay in the file."""
    rows: list[dict[str, Any]] = []
    damaged = 0
    if not path.is_file():
        return rows, damaged
    for line in path.read_bytes().split(b"\n"):
        if not line.strip():
            continue
        row = None
        with suppress(ValueError):
            row = json.loads(line)
        if isinstance(row, dict):
            rows.append(row)
        else:
            damaged += 1
    return rows, damaged


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Atomic and fsynced: the file is there whole or not at all.

    Raises:
        ValueError: a figure is NaN or infinite, which JSON cannot represent.
    """
    partial = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    try:
        with partial.open("w", encoding="utf-8") as file:
            file.write(
                json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
            )  # at once: a large result has millions of pieces
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except (OSError, ValueError):
        # On a full disk half a file would take the place that the next attempt needs.
        partial.unlink(missing_ok=True)
        raise


def utc_now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
