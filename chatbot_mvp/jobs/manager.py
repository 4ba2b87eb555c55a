"""Background jobs: one after the other in a thread, their state on disk, visible to every session and process.

``<jobs>/<job_id>.json`` is the state; ``.lock`` is held by the process that owns the job, so a state of "running"
without a holder means that the process died; ``.stop`` asks for a stop.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Literal

from filelock import FileLock, Timeout

from chatbot_mvp.errors import ChatbotError, RunBusy, RunStopped
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import write_json
from chatbot_mvp.types import Progress, ProgressCallback

log = logging.getLogger(__name__)

JobState = Literal["queued", "running", "stopping", "stopped", "done", "failed", "interrupted"]
ACTIVE: frozenset[JobState] = frozenset({"queued", "running", "stopping"})

_WRITE_EVERY_S = 0.25


@dataclass(frozen=True)
class JobStatus:
    """What is known of a job."""

    job_id: str
    title: str
    state: JobState
    phase: str = ""
    done: int = 0
    total: int = 0
    rate: float | None = None
    """Units per second, None when not known."""
    seconds_left: float | None = None
    failed: int = 0
    """Of ``done``, the units that failed."""
    tokens: int | None = None
    """Of the whole job so far; None for one that asks no model."""
    cost_usd: float | None = None
    error: str | None = None
    error_code: str | None = None
    """Of a ChatbotError, whose values are in ``error_params``; None for an unexpected error (see the log)."""
    error_params: dict[str, str] = field(default_factory=dict)
    updated_at: str = ""
    """ISO 8601, UTC."""

    @property
    def active(self) -> bool:
        return self.state in ACTIVE


Work = Callable[[ProgressCallback], object]


@dataclass(frozen=True, eq=False)
class _Waiting:
    """A job that has not begun."""

    status: JobStatus
    work: Work
    lock: FileLock


class JobManager:
    """Runs jobs in submission order. One per process; statuses are shared through the folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._queue: SimpleQueue[_Waiting] = SimpleQueue()
        self._waiting: dict[str, _Waiting] = {}
        """Those that this process has queued and not begun."""
        self._guard = threading.Lock()
        # A daemon: the server's exit does not wait for a job, which is resumed as after any other end of its process.
        threading.Thread(target=self._work, name="jobs", daemon=True).start()

    def submit(self, job_id: str, title: str, work: Work) -> None:
        """Queue ``work``; it gets a progress callback that raises RunStopped when a stop was asked for.

        Raises:
            RunBusy: a job of this id is queued or running, here or in another process.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self._path(job_id, "lock"), timeout=1, thread_local=False)
        try:
            lock.acquire()
        except Timeout as error:
            raise RunBusy(run_id=job_id) from error
        self._path(job_id, "stop").unlink(missing_ok=True)
        status = JobStatus(job_id, title, "queued")
        self._write(status)
        entry = _Waiting(status, work, lock)
        with self._guard:
            self._waiting[job_id] = entry
        self._queue.put(entry)

    def stop(self, job_id: str) -> None:
        """Ask a job to stop at its next clean place; one that waits is over at once, one that has ended stays so."""
        with self._guard:
            entry = self._waiting.pop(job_id, None)
        if entry is not None:
            try:
                self._write(replace(entry.status, state="stopped"))
            finally:
                entry.lock.release()
            return
        status = self.status(job_id)
        if status and status.active:
            self._path(job_id, "stop").touch()

    def status(self, job_id: str) -> JobStatus | None:
        """A job's state, or None if there is no such job or its file is damaged."""
        try:
            status = JobStatus(**json.loads(self._path(job_id, "json").read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        if not status.active:
            return status
        if not self._is_held(job_id):
            # Read once more: it may have ended between the two looks.
            again = json.loads(self._path(job_id, "json").read_text("utf-8"))
            return replace(status, state="interrupted") if again["state"] in ACTIVE else JobStatus(**again)
        return replace(status, state="stopping") if self._path(job_id, "stop").exists() else status

    def statuses(self) -> list[JobStatus]:
        """All jobs, the newest id first."""
        found = (self.status(path.stem) for path in sorted(self._folder.glob("*.json"), reverse=True))
        return [status for status in found if status]

    def _is_held(self, job_id: str) -> bool:
        probe = FileLock(self._path(job_id, "lock"), timeout=0)
        try:
            probe.acquire()
        except Timeout:
            return True
        probe.release()
        return False

    def _work(self) -> None:
        while True:
            try:
                entry = self._queue.get()
                with self._guard:
                    begins = self._waiting.get(entry.status.job_id) is entry
                    if begins:
                        del self._waiting[entry.status.job_id]
                if begins:  # else it was stopped while it waited
                    self._run(entry.status, entry.work, entry.lock)
            except Exception:
                # On a full disk not even the end of a job can be written; those behind it have their turn.
                log.exception("the state of a job cannot be written")

    def _run(self, status: JobStatus, work: Work, lock: FileLock) -> None:
        reporter = _Reporter(self, replace(status, state="running"))
        try:
            reporter.check_stop()
            self._write(reporter.status)
            work(reporter)
            self._write(replace(reporter.status, state="done", rate=None, seconds_left=None))
        except RunStopped:
            self._write(replace(reporter.status, state="stopped", rate=None, seconds_left=None))
        except ChatbotError as error:
            params = {name: str(value) for name, value in error.params.items()}
            self._write(
                replace(reporter.status, state="failed", error=str(error), error_code=error.code, error_params=params)
            )
        except Exception as error:
            log.exception("job %s failed", status.job_id)
            self._write(replace(reporter.status, state="failed", error=f"{type(error).__name__}: {error}"))
        finally:
            self._path(status.job_id, "stop").unlink(missing_ok=True)
            lock.release()

    def _write(self, status: JobStatus) -> None:
        status = replace(status, updated_at=utc_now())
        # Progress is written several times a second, and is worth nothing after a power failure.
        write_json(self._path(status.job_id, "json"), asdict(status), indent=None, durable=False)

    def _path(self, job_id: str, suffix: str) -> Path:
        return self._folder / f"{job_id}.{suffix}"


class _Reporter:
    """The progress callback that a job's work gets."""

    def __init__(self, manager: JobManager, status: JobStatus) -> None:
        self._manager = manager
        self._written = 0.0
        self.status = status

    def check_stop(self) -> None:
        if self._manager._path(self.status.job_id, "stop").exists():
            raise RunStopped(run_id=self.status.job_id)

    def __call__(self, progress: Progress) -> None:
        new_phase = progress.phase != self.status.phase
        self.status = replace(
            self.status,
            phase=progress.phase,
            done=progress.done,
            total=progress.total,
            rate=progress.rate,
            seconds_left=progress.seconds_left,
            failed=progress.failed,
            tokens=progress.tokens,
            cost_usd=progress.cost_usd,
        )
        now = time.monotonic()
        if new_phase or now - self._written >= _WRITE_EVERY_S:
            try:
                self._manager._write(self.status)
            except OSError as error:
                # What the job itself writes says whether it can go on.
                log.warning("the progress of job %s cannot be written: %s", self.status.job_id, error)
            self._written = now
        self.check_stop()
