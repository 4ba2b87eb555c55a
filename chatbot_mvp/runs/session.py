"""One attempt at a run, whatever it measures: its locks, journal and spending, its clock, and how it may end early."""

from __future__ import annotations

import errno
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from chatbot_mvp.errors import (
    CacheUnusable,
    ProviderQuotaExhausted,
    RunNotWritten,
    RunOutOfQuota,
    RunOverBudget,
    RunStopped,
)
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.queue import my_turn
from chatbot_mvp.runs.records import RunFolder, utc_now
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.spending import BudgetReached, Spending
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Progress, ProgressCallback

_OF_THE_DISK = {
    *(errno.ENOSPC, errno.EFBIG, errno.EDQUOT, errno.EIO),
    *(errno.EROFS, errno.EACCES, errno.EPERM),
}
"""Anything else that the system says is no matter of the disk: a lost connection, a file that is not there."""

_OS_ERROR = re.compile(r"\(os error (\d+)\)")


@dataclass(frozen=True)
class Session:
    """What an attempt works with."""

    folder: RunFolder
    journal: Journal
    spending: Spending
    clock: PhaseClock
    progress: ProgressCallback

    def finish(self, result: RunResult, finish: Callable[[RunResult], None]) -> RunResult:
        """Write the result, complete with what only the attempt knows; it is then that the run counts as finished.

        Args:
            finish: told of the whole result just before; after a crash in between, told again.
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
        # Last: its presence is what says that the run is finished.
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
    load_seconds: float = 0.0,
    budget_usd: float | None = None,
    retry_failed: bool = False,
) -> Iterator[Session]:
    """Hold a run and work on it; waits for its turn, since one run works at a time.

    Args:
        settings: say where the lock is that all runs share, and where indexes are.
        phase, total: how far the run came is told by the records of this phase, out of so many.
        budget_usd: of the whole run with its earlier attempts; None for no limit.
        retry_failed: failed queries count as missing.

    Raises:
        RunBusy: somebody else works on this run.
        RunStopped: asked for; with the run's id, which whoever asked need not know.
        RunOutOfQuota, RunOverBudget, RunNotWritten: it ended early; what is recorded stays.
    """
    try:
        with _writing(folder, settings.cache_dir), folder.held(), my_turn(settings.run_lock_path, progress):
            journal = Journal(folder, forget_failed=retry_failed)
            spending = Spending(folder, budget_usd)
            folder.renew()
            folder.event("run_start", resumed=bool(journal.of(phase)))
            with _ended_early(folder.run_id, journal, spending, phase, total):
                yield Session(folder, journal, spending, PhaseClock({"load": load_seconds}), progress)
    except RunStopped as stop:
        raise RunStopped(run_id=folder.run_id) from stop


@contextmanager
def _writing(folder: RunFolder, cache_dir: Path) -> Iterator[None]:
    """A disk that is full or refuses, whatever was to be written: records, an index, a cache, the result."""
    try:
        yield
    except CacheUnusable as error:
        path, reason = error.params["path"], error.params["reason"]
        raise RunNotWritten(run_id=folder.run_id, path=path, reason=reason) from error
    except OSError as error:
        if error.errno not in _OF_THE_DISK:
            raise
        path, reason = str(error.filename or folder.path), error.strerror or str(error)
        raise RunNotWritten(run_id=folder.run_id, path=path, reason=reason) from error
    except ValueError as error:
        # As tantivy tells of a file that it could not write.
        code = _OS_ERROR.search(str(error))
        if code is None or int(code[1]) not in _OF_THE_DISK:
            raise
        raise RunNotWritten(run_id=folder.run_id, path=str(cache_dir), reason=str(error)) from error


@contextmanager
def _ended_early(run_id: str, journal: Journal, spending: Spending, phase: str, total: int) -> Iterator[None]:
    """Says of a budget or a quota that is used up how far the run came, wherever it asked a provider."""
    try:
        yield
    except BudgetReached as end:
        spent, budget = round(spending.total.cost_usd, 4), spending.budget_usd
        done = len(journal.of(phase))
        raise RunOverBudget(run_id=run_id, done=done, total=total, spent=spent, budget=budget) from end
    except ProviderQuotaExhausted as end:
        raise RunOutOfQuota(run_id=run_id, done=len(journal.of(phase)), total=total, reason=end) from end


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
        """``progress``; the time from the first word of another phase on is booked to that one."""

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
    """Highest resident memory of this process so far, in MB (10^6 bytes); None where the system does not tell."""
    with suppress(OSError):  # Linux; what follows would count the process that started this one too
        status = Path("/proc/self/status").read_text("ascii", "replace")
        if found := re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE):
            return round(int(found[1]) * 1024 / 1e6, 1)
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak * (1 if sys.platform == "darwin" else 1024) / 1e6, 1)
