"""Runs background jobs one at a time in a thread. Their state is on disk, visible to every session and process.

Owners take turns: the next job is the oldest one of the owner whose last turn is the longest ago.

Files per job: ``<jobs>/<job_id>.json`` holds its state; ``.lock`` is held by the process that runs it, so a "running"
state whose lock is free means that the process died; ``.stop`` exists once a stop was requested.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from filelock import FileLock, Timeout

from chatbot_mvp.errors import ChatbotError, FileOfLaterVersion, RunError, RunStopped
from chatbot_mvp.jobs.states import StateFiles
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import is_held, make_folder
from chatbot_mvp.storage.formats import JOB, complete, known_version
from chatbot_mvp.types import Progress, ProgressCallback

log = logging.getLogger(__name__)

JobState = Literal["queued", "running", "stopping", "stopped", "done", "failed", "interrupted"]
ACTIVE: frozenset[JobState] = frozenset({"queued", "running", "stopping"})

_WRITE_EVERY_S = 0.25
_REPORTED = ("phase", "done", "total", "rate", "seconds_left", "failed", "tokens", "cost_usd")
"""What a job's status takes over from its progress as it is."""


@dataclass(frozen=True)
class JobStatus:
    """State of a job at one moment."""

    job_id: str
    title: str
    state: JobState
    phase: str = ""
    done: int = 0
    total: int = 0
    rate: float | None = None
    """Units per second; None when not known."""
    seconds_left: float | None = None
    failed: int = 0
    """How many of the ``done`` units failed."""
    tokens: int | None = None
    """Tokens used by the job so far; None for a job that uses no model."""
    cost_usd: float | None = None
    error: str | None = None
    error_code: str | None = None
    """Code of a ChatbotError, whose values are in ``error_params``; None for an unexpected error (see the log)."""
    error_params: dict[str, str] = field(default_factory=dict)
    updated_at: str = ""
    """ISO 8601, UTC."""
    provider: str = ""
    """As in ``Progress``."""

    @property
    def active(self) -> bool:
        return self.state in ACTIVE


UNFINISHED: Final = object()
"""Returned by work that gives way to other owners' jobs. It is queued again, and called again at its next turn."""

Work = Callable[[ProgressCallback], object]


@dataclass(frozen=True, eq=False)
class _Waiting:
    """A queued job."""

    status: JobStatus
    work: Work
    lock: FileLock
    owner: str


class JobManager:
    """Runs the jobs of each owner in the order of submission, and owners in turns.

    Create one per process; processes share statuses through the folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._states = StateFiles()
        self._waiting: dict[str, _Waiting] = {}
        """Queued jobs of this process by their id, the oldest first."""
        self._turns: dict[str, int] = {}
        """Number of the last turn of each owner since the queue was last empty."""
        self._guard = threading.Lock()
        self._is_at_work = False

    def submit(self, job_id: str, title: str, work: Work, owner: str = "") -> None:
        """Queue ``work``. It receives a progress callback that raises RunStopped once a stop was requested.

        Args:
            work: may return UNFINISHED to give way.
            owner: the session that takes turns with the others.

        Raises:
            RunError (run_busy): a job with this id is queued or running, in this or another process.
            OSError: the disk is full or not writable.
        """
        make_folder(self._folder)
        lock = FileLock(self._path(job_id, "lock"), timeout=1, thread_local=False)
        try:
            lock.acquire()
        except Timeout as error:
            raise RunError("run_busy", run_id=job_id) from error
        self._path(job_id, "stop").unlink(missing_ok=True)
        status = JobStatus(job_id, title, "queued", updated_at=utc_now())
        self._states.create(self._path(job_id, "json"), asdict(status))
        self._enqueue(_Waiting(status, work, lock, owner))

    def others_wait(self, owner: str) -> bool:
        """Return whether another owner has a queued job in this process."""
        with self._guard:
            return any(entry.owner != owner for entry in self._waiting.values())

    def stop(self, job_id: str) -> None:
        """Request a job to stop at its next safe point. A queued job ends at once; an ended job is unchanged."""
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

    def forget(self, job_id: str) -> None:
        """Remove the state of a job that has ended; one at work, or in the queue, stays."""
        status = self.status(job_id)
        if status is not None and not status.active:
            for suffix in ("json", "stop"):
                self._path(job_id, suffix).unlink(missing_ok=True)

    def status(self, job_id: str) -> JobStatus | None:
        """Return a job's state, or None if the job does not exist or its file is damaged."""
        try:
            status = self._stored(job_id)
            if not status.active:
                return status
            if not is_held(self._path(job_id, "lock")):
                # Read again: the job may have ended between reading its file and checking its lock.
                again = self._stored(job_id)
                return replace(status, state="interrupted") if again.active else again
        except (OSError, ValueError, TypeError, AttributeError, FileOfLaterVersion) as error:
            log.debug("the state of job %s cannot be read: %s", job_id, error)
            return None
        return replace(status, state="stopping") if self._path(job_id, "stop").exists() else status

    def statuses(self) -> list[JobStatus]:
        """Return all jobs, in descending order of id (newest first)."""
        found = (self.status(path.stem) for path in sorted(self._folder.glob("*.json"), reverse=True))
        return [status for status in found if status]

    def _stored(self, job_id: str) -> JobStatus:
        path = self._path(job_id, "json")
        return JobStatus(**complete(known_version(self._states.read(path), path, JOB), JobStatus))

    def _work(self) -> None:
        while entry := self._next():
            try:
                self._run(entry)
            except Exception:
                # The thread must continue with the next job.
                log.exception("a job could not be ended")

    def _enqueue(self, entry: _Waiting) -> None:
        with self._guard:
            self._waiting[entry.status.job_id] = entry
            if not self._is_at_work:
                # Daemon thread: the server exits without waiting for a job, which can be resumed later.
                threading.Thread(target=self._work, name="jobs", daemon=True).start()
                self._is_at_work = True

    def _next(self) -> _Waiting | None:
        """Take a job from the queue; None if there is none, and the thread ends: it would keep all that a job knows."""
        with self._guard:
            if not self._waiting:
                self._turns.clear()
                self._is_at_work = False
                return None
            turn = max(self._turns.values(), default=0) + 1
            entry = min(self._waiting.values(), key=lambda waiting: self._turns.get(waiting.owner, 0))
            self._turns[entry.owner] = turn
            return self._waiting.pop(entry.status.job_id)

    def _run(self, entry: _Waiting) -> None:
        reporter = _Reporter(self, replace(entry.status, state="running"))
        again: _Waiting | None = None
        try:
            reporter.check_stop()
            self._write(reporter.status)
            if entry.work(reporter) is UNFINISHED:
                reporter.check_stop()
                status = replace(reporter.status, state="queued", rate=None, seconds_left=None)
                self._write(status)
                again = replace(entry, status=status)
                return
            self._write(replace(reporter.status, state="done", rate=None, seconds_left=None))
        except RunStopped:
            self._write(replace(reporter.status, state="stopped", rate=None, seconds_left=None))
        except ChatbotError as error:
            params = {name: str(value) for name, value in error.params.items()}
            self._write(
                replace(reporter.status, state="failed", error=str(error), error_code=error.code, error_params=params)
            )
        except Exception as error:
            log.exception("job %s failed", entry.status.job_id)
            self._write(replace(reporter.status, state="failed", error=f"{type(error).__name__}: {error}"))
        finally:
            if again is not None:
                self._enqueue(again)
            else:
                with suppress(OSError):
                    self._path(entry.status.job_id, "stop").unlink(missing_ok=True)
                entry.lock.release()

    def _write(self, status: JobStatus) -> None:
        status = replace(status, updated_at=utc_now())
        self._states.write(self._path(status.job_id, "json"), asdict(status))

    def _path(self, job_id: str, suffix: str) -> Path:
        return self._folder / f"{job_id}.{suffix}"


class _Reporter:
    """The progress callback of a job: saves its status and raises RunStopped when a stop was requested."""

    def __init__(self, manager: JobManager, status: JobStatus) -> None:
        self._manager = manager
        self._written = 0.0
        self.status = status

    def check_stop(self) -> None:
        if self._manager._path(self.status.job_id, "stop").exists():
            raise RunStopped(run_id=self.status.job_id)

    def __call__(self, progress: Progress) -> None:
        new_phase = progress.phase != self.status.phase
        reported = {name: getattr(progress, name) for name in _REPORTED}
        self.status = replace(self.status, **reported, provider=progress.provider or self.status.provider)
        now = time.monotonic()
        if new_phase or now - self._written >= _WRITE_EVERY_S:
            self._manager._write(self.status)
            self._written = now
        self.check_stop()
