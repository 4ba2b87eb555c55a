"""One attempt at a run of any kind: locks, journal, spending, clock, and early ends."""

from __future__ import annotations

import errno
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from filelock import FileLock, Timeout

from chatbot_mvp.errors import CacheUnusable, ProviderQuotaExhausted, RunError, RunStopped
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.records import RunFolder, not_written
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.spending import BudgetReached, Spending
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import make_folder
from chatbot_mvp.types import Progress, ProgressCallback

_OF_THE_DISK = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO, errno.EROFS, errno.EACCES, errno.EPERM}
"""Error numbers that mean a full or unwritable disk. Others do not: a lost connection, a missing file."""

_OS_ERROR = re.compile(r"\(os error (\d+)\)")
_LOOK_EVERY_S = 0.25


@dataclass(frozen=True)
class Session:
    """The objects that an attempt works with."""

    folder: RunFolder
    journal: Journal
    spending: Spending
    clock: PhaseClock
    progress: ProgressCallback

    def finish(self, result: RunResult, finish: Callable[[RunResult], None]) -> RunResult:
        """Add seconds, usage and peak memory to the result, and write it. The run is then finished.

        Args:
            finish: called with the whole result just before it is written; called again after a crash in between.
        """
        result = replace(
            result,
            seconds=self.clock.seconds,
            usage=self.spending.usage(),
            peak_rss_mb=peak_rss_mb(),
            finished_at=utc_now(),
        )
        self.folder.event("run_complete", metrics=result.metrics)
        finish(result)
        # Write the result last, because its presence marks the run as finished.
        self.folder.finish(result)
        return result


@contextmanager
def working_on(
    folder: RunFolder,
    settings: Settings,
    progress: ProgressCallback,
    *,
    phase: str,
    total: int,
    lock_path: Path | None = None,
    load_seconds: float = 0.0,
    budget_usd: float | None = None,
    retry_failed: bool = False,
) -> Iterator[Session]:
    """Hold a run's lock and work on it. Waits for its turn, since only one run works at a time.

    Args:
        settings: give the paths of the lock that all runs share and of the cache.
        lock_path: a lock to wait for instead of that one.
        phase, total: errors report progress as the number of this phase's records out of ``total``.
        budget_usd: limit for the whole run including earlier attempts, in US dollars; None for no limit.
        retry_failed: treat failed queries as missing.

    Raises:
        RunError (run_busy): another process or thread works on this run.
        RunStopped: the user stopped the run; the error has the run's id.
        RunError (run_out_of_quota, run_over_budget, run_not_written): the run ended early; its records stay.
    """
    try:
        with (
            _writing(folder, settings.cache_dir),
            folder.held(),
            _my_turn(lock_path or settings.run_lock_path, progress),
        ):
            journal = Journal(folder, forget_failed=retry_failed)
            spending = Spending(folder, budget_usd)
            folder.renew()
            folder.event("run_start", resumed=bool(journal.of(phase)))
            with _ended_early(folder.run_id, journal, spending, phase, total):
                yield Session(folder, journal, spending, PhaseClock({"load": load_seconds}), progress)
    except RunStopped as stop:
        raise RunStopped(run_id=folder.run_id) from stop


@contextmanager
def _my_turn(lock_path: Path, progress: ProgressCallback) -> Iterator[None]:
    """Hold the lock that all runs share, since parallel runs would distort timings and exceed the memory.

    Waits for other processes, and reports the phase "queued" meanwhile; ``progress`` may raise to give up. The system
    frees the lock of a process that dies.
    """
    make_folder(lock_path.parent)
    lock = FileLock(lock_path, thread_local=False)
    while not lock.is_locked:
        try:
            lock.acquire(timeout=_LOOK_EVERY_S)
        except Timeout:
            progress(Progress("queued", 0, 0))
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _writing(folder: RunFolder, cache_dir: Path) -> Iterator[None]:
    """Convert every error of a full or unwritable disk (records, index, cache, result) to RunError."""
    try:
        yield
    except CacheUnusable as error:
        raise RunError("run_not_written", run_id=folder.run_id, **error.params) from error
    except OSError as error:
        if error.errno not in _OF_THE_DISK:
            raise
        raise not_written(folder.run_id, str(error.filename or folder.path), error) from error
    except ValueError as error:
        # Tantivy reports a file that it could not write as ValueError with the error number in the text.
        code = _OS_ERROR.search(str(error))
        if code is None or int(code[1]) not in _OF_THE_DISK:
            raise
        raise not_written(folder.run_id, str(cache_dir), error) from error


@contextmanager
def _ended_early(run_id: str, journal: Journal, spending: Spending, phase: str, total: int) -> Iterator[None]:
    """Convert an exhausted budget or quota to an error that reports how far the run came."""
    try:
        yield
    except BudgetReached as end:
        spent = round(spending.total.cost_usd, 4)
        done, budget = len(journal.of(phase)), spending.budget_usd
        raise RunError("run_over_budget", run_id=run_id, done=done, total=total, spent=spent, budget=budget) from end
    except ProviderQuotaExhausted as end:
        raise RunError("run_out_of_quota", run_id=run_id, done=len(journal.of(phase)), total=total, reason=end) from end


class PhaseClock:
    """Seconds per phase of this attempt."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = {phase: round(value, 3) for phase, value in seconds.items()}
        self._phase = ""
        self._since = 0.0

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        self._phase, self._since = phase, time.monotonic()
        yield
        self._book()

    def watching(self, progress: ProgressCallback) -> ProgressCallback:
        """Wrap ``progress`` so that time is booked to the phase that it last reported."""

        def report(state: Progress) -> None:
            if state.phase != self._phase:
                self._book()
                self._phase = state.phase
            progress(state)

        return report

    def _book(self) -> None:
        now = time.monotonic()
        self.seconds[self._phase] = round(self.seconds.get(self._phase, 0.0) + now - self._since, 3)
        self._since = now


def peak_rss_mb() -> float | None:
    """Return the peak resident memory of this process in MB (10^6 bytes); None if the system does not report it."""
    with suppress(OSError):  # on Linux: getrusage, used below, would include the parent process
        status = Path("/proc/self/status").read_text("ascii", "replace")
        if found := re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE):
            return round(int(found[1]) * 1024 / 1e6, 1)
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak * (1 if sys.platform == "darwin" else 1024) / 1e6, 1)
