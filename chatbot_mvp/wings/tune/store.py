"""Keep tunes on disk. What was measured is in the records of the trials, so that a resume needs only the plan.

``<tunes>/<tune_id>/plan.json``     what is tried, written once
``<tunes>/<tune_id>/trials/<id>/``  the records of one configuration, as of a run
``<tunes>/<tune_id>/attempts.jsonl`` the seconds of each attempt that did not die
``<tunes>/<tune_id>/result.json``   the result; its presence means that the tune is finished
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from pydantic import TypeAdapter, ValidationError

from chatbot_mvp.app import App
from chatbot_mvp.errors import FileOfLaterVersion, RunError
from chatbot_mvp.evaluation.keeping import KbKeeper
from chatbot_mvp.knowledge_base.purged_files import purge_files
from chatbot_mvp.knowledge_base.purged_text import Purged
from chatbot_mvp.runs.result import first_problem
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import is_held, make_new_folder, naming, write_json
from chatbot_mvp.storage.formats import TUNE, VERSION, known_version
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.storage.jsonl import append_lines, read_lines
from chatbot_mvp.wings.tune.errors import TuneError, TuneUnreadable
from chatbot_mvp.wings.tune.types import TunePlan, TuneResult

_PLAN, _RESULT, _ATTEMPTS = "plan.json", "result.json", "attempts.jsonl"

_REWRITTEN = (".json", ".jsonl", ".csv")


def tunes_dir(settings: Settings) -> Path:
    """Return the folder with one folder per tune."""
    return settings.data_dir / "tunes"


class TuneFolder:
    """The files of one tune."""

    def __init__(self, root: Path, tune_id: str) -> None:
        self.tune_id = tune_id
        self.path = root / tune_id
        self.trials = self.path / "trials"

    def create(self, plan: TunePlan) -> None:
        """Create the folder and write the plan.

        Raises:
            FileNotWritten
        """
        with naming(self.path):
            make_new_folder(self.path)
            write_json(self.path / _PLAN, {VERSION: TUNE, **asdict(plan)})

    def plan(self) -> TunePlan:
        """Read the plan.

        Raises:
            TuneError (tune_not_found), TuneUnreadable
        """
        if not re.fullmatch(r"[\w.-]+", self.tune_id) or not (self.path / _PLAN).is_file():
            raise TuneError("tune_not_found", tune_id=self.tune_id)
        plan: TunePlan = self._read(_PLAN, TunePlan)
        return plan

    @property
    def finished(self) -> bool:
        """Whether there is a result."""
        return (self.path / _RESULT).is_file()

    def finish(self, result: TuneResult) -> TuneResult:
        """Write the result with the seconds of all attempts, and return it.

        Raises:
            FileNotWritten
        """
        rows, _ = read_lines(self.path / _ATTEMPTS)
        result = replace(result, seconds=round(sum(float(row["seconds"]) for row in rows if "seconds" in row), 1))
        with naming(self.path / _RESULT):
            write_json(self.path / _RESULT, {VERSION: TUNE, **asdict(result)})
        return result

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Note how many seconds an attempt takes, also if it fails."""
        started = time.monotonic()
        try:
            yield
        finally:
            seconds = round(time.monotonic() - started, 3)
            with naming(self.path / _ATTEMPTS):
                append_lines(self.path / _ATTEMPTS, [{"ended_at": utc_now(), "seconds": seconds}], sync=False)

    def result(self) -> TuneResult:
        """Read the result.

        Raises:
            TuneError (tune_not_found, tune_not_finished), TuneUnreadable
        """
        if not self.finished:
            self.plan()
            raise TuneError("tune_not_finished", tune_id=self.tune_id)
        result: TuneResult = self._read(_RESULT, TuneResult)
        return result

    @property
    def busy(self) -> bool:
        """Whether a process works on the tune."""
        return is_held(self.path / ".lock")

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the tune's lock while working on it. The system frees the lock when the process dies.

        Raises:
            RunError (run_busy): another process or thread holds the lock.
        """
        # Wait a moment, because a page that reads the state holds the lock for an instant.
        lock = FileLock(self.path / ".lock", timeout=2, thread_local=False)
        try:
            lock.acquire()
        except Timeout as error:
            raise RunError("run_busy", run_id=self.tune_id) from error
        try:
            yield
        finally:
            lock.release()

    def _read(self, name: str, kind: type) -> Any:
        path = self.path / name
        try:
            values = known_version(parse_json(path.read_bytes()), path, TUNE)
            return _adapter(kind).validate_json(json.dumps(values))
        except ValidationError as error:
            raise TuneUnreadable(tune_id=self.tune_id, reason=f"{name}: {first_problem(error)}") from error
        except (ValueError, AttributeError, OSError, FileOfLaterVersion) as error:
            raise TuneUnreadable(tune_id=self.tune_id, reason=f"{name}: {error}") from error


def tune_folders(root: Path) -> list[TuneFolder]:
    """List all tunes with a plan, newest first."""
    with suppress(OSError):
        names = sorted((path.parent.name for path in root.glob(f"*/{_PLAN}")), reverse=True)
        return [TuneFolder(root, name) for name in names]
    return []


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


def _purge(app: App, purged: Purged) -> int:
    return purge_files(_files(tunes_dir(app.settings), purged.kb_id), purged)


def _files(tunes: Path, kb_id: str) -> Iterator[Path]:
    for plan in tunes.glob("*/plan.json"):
        if kb_id.encode() in plan.read_bytes():
            yield from (path for path in plan.parent.rglob("*") if path.suffix in _REWRITTEN)


KEEPER = KbKeeper(purge=_purge)
"""Tunes quote texts of the knowledge base."""
