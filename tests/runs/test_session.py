"""One attempt at a run: how it begins, how its early ends are reported, and what a finished one has."""

from __future__ import annotations

import errno
import time
from dataclasses import replace
from pathlib import Path

import pytest

from chatbot_mvp.errors import CacheUnusable, ProviderQuotaExhausted, RunStopped
from chatbot_mvp.llm.base import Completion, Usage
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.session import PhaseClock, Session, peak_rss_mb, working_on
from chatbot_mvp.runs.spending import BudgetReached
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Progress, ignore_progress
from tests.made_results import made_result
from tests.raising import raises
from tests.runs.test_records import manifest, record


@pytest.fixture
def folder(settings: Settings) -> RunFolder:
    made = RunFolder(settings.results_dir, "run1")
    made.create(manifest())
    return made


def attempt(
    folder: RunFolder, settings: Settings, fails: BaseException | None = None, budget: float | None = None
) -> None:
    with working_on(folder, settings, ignore_progress, phase="retrieve", total=3, budget_usd=budget) as session:
        session.journal.add([record("q1")])
        if fails is not None:
            raise fails


RECORDS = "/data/records.jsonl"


@pytest.mark.parametrize(
    ("error", "path", "reason"),
    [
        (OSError(errno.ENOSPC, "No space left", RECORDS), RECORDS, "No space left"),
        (OSError(errno.EROFS, "Read-only file system", RECORDS), RECORDS, "Read-only file system"),
        (CacheUnusable(path=RECORDS, reason="No space; read-only"), RECORDS, "No space; read-only"),
        (OSError(errno.EIO, "Input/output error"), "{folder}", "Input/output error"),
        # An index has words of its own.
        (ValueError("IO error: No space left on device (os error 28)"), "{cache}", "No space"),
    ],
    ids=["full", "not writable", "a cache", "no file named", "an index"],
)
def test_a_full_or_unwritable_disk_ends_a_run_with_the_file_or_folder_and_the_reason(
    folder: RunFolder, settings: Settings, error: Exception, path: str, reason: str
) -> None:
    with raises("run_not_written") as raised:
        attempt(folder, settings, error)
    assert raised.value.params["run_id"] == "run1"
    assert raised.value.params["path"] == path.format(folder=folder.path, cache=settings.cache_dir)
    assert reason in str(raised.value.params["reason"])
    assert raised.value.__cause__ is error


@pytest.mark.parametrize(
    "error",
    [
        ConnectionResetError(errno.ECONNRESET, "reset"),
        FileNotFoundError(errno.ENOENT, "none", "x"),
        ValueError("a value"),
        ValueError("IO error: reset (os error 104)"),
        KeyboardInterrupt(),
    ],
)
def test_other_errors_stay_as_they_are(folder: RunFolder, settings: Settings, error: BaseException) -> None:
    with pytest.raises(type(error)) as raised:
        attempt(folder, settings, error)
    assert raised.value is error


def test_a_stop_gets_the_id_of_the_run(folder: RunFolder, settings: Settings) -> None:
    with pytest.raises(RunStopped, match="'run1'"):
        attempt(folder, settings, RunStopped(run_id=""))


def test_a_used_up_budget_or_quota_says_how_far_the_run_came(folder: RunFolder, settings: Settings) -> None:
    with working_on(folder, settings, ignore_progress, phase="retrieve", total=3) as session:
        session.spending.seen("generate", Completion("", "m", 0.0, usage=Usage(1, 1, 0.123456)))
    with raises("run_over_budget") as over:
        attempt(folder, settings, BudgetReached(), 0.5)
    assert over.value.params == {"run_id": "run1", "done": 1, "total": 3, "spent": 0.1235, "budget": 0.5}
    quota = ProviderQuotaExhausted(provider="p", model="m", reason="monthly limit")
    with raises("run_out_of_quota", match=r"1 of 3.*monthly limit"):
        attempt(folder, settings, quota)


def test_an_attempt_says_whether_it_resumes(folder: RunFolder, settings: Settings) -> None:
    attempt(folder, settings)
    attempt(folder, settings)
    assert [event["resumed"] for event in folder.read_events("run_start")] == [False, True]


def test_failed_queries_are_missing_only_in_a_retry(folder: RunFolder, settings: Settings) -> None:
    folder.append_records([replace(record("q1"), status="failed"), record("q2")])
    missing = {}
    for retry in (False, True):
        with working_on(folder, settings, ignore_progress, phase="retrieve", total=3, retry_failed=retry) as session:
            missing[retry] = session.journal.missing("retrieve", ["q1", "q2", "q3"])
    assert missing == {False: ["q3"], True: ["q1", "q3"]}


def test_a_run_waits_for_the_one_that_works_and_says_that_it_is_queued(
    folder: RunFolder, settings: Settings, tmp_path: Path
) -> None:
    other = RunFolder(settings.results_dir, "run2")
    other.create(manifest("run2"))
    seen: list[Progress] = []

    def give_up(progress: Progress) -> None:
        seen.append(progress)
        raise RunStopped(run_id="")

    with working_on(folder, settings, ignore_progress, phase="retrieve", total=3):
        with pytest.raises(RunStopped, match="'run2'"), working_on(other, settings, give_up, phase="retrieve", total=3):
            pass
        own = tmp_path / "locks" / "own.lock"
        with working_on(
            other, settings, give_up, phase="retrieve", total=3, lock_path=own, load_seconds=1.23456
        ) as session:
            assert session.clock.seconds == {"load": 1.235}
    assert [progress.phase for progress in seen] == ["queued"]


def test_a_finished_run_has_its_seconds_usage_and_memory_and_is_written_last(
    folder: RunFolder, settings: Settings
) -> None:
    written: list[bool] = []

    def finish(result: RunResult) -> None:
        assert result.usage.calls == 1
        written.append(folder.finished)

    def work(session: Session) -> RunResult:
        session.spending.seen("generate", Completion("", "m", 0.0, usage=Usage(1, 1, 0.5)))
        with session.clock("retrieve"):
            time.sleep(0.01)
        return session.finish(made_result(run_id="run1", metrics={"mrr": 0.5}), finish)

    with working_on(folder, settings, ignore_progress, phase="retrieve", total=3, load_seconds=0.5) as session:
        result = work(session)
    assert written == [False]
    assert folder.finished
    assert result.seconds["load"] == 0.5 and 0.01 <= result.seconds["retrieve"] < 5
    assert (result.usage.cost_usd, result.peak_rss_mb is not None) == (0.5, True)
    assert result.finished_at > result.started_at
    assert [event["metrics"] for event in folder.read_events("run_complete")] == [{"mrr": 0.5}]
    assert replace(folder.result(), format_version=0) == replace(result, format_version=0)


def test_time_is_booked_to_the_phase_that_was_reported_last(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    clock, seen = PhaseClock({"load": 0.12345}), list[Progress]()
    with clock("index"):
        report = clock.watching(seen.append)
        for phase, seconds in (("index", 1.0), ("embed", 2.0), ("embed", 4.0), ("index", 8.0)):
            report(Progress(phase, 0, 1))
            now[0] += seconds
    with clock("embed"):
        now[0] += 16.0
    assert clock.seconds == {"load": 0.123, "index": 9.0, "embed": 22.0}
    assert len(seen) == 4


def test_the_peak_of_memory_is_that_of_this_process_in_megabytes() -> None:
    peak = peak_rss_mb()
    assert peak is not None and 20 < peak < 20_000
    ballast = bytearray(60_000_000)
    ballast[::4096] = b"x" * len(ballast[::4096])
    assert (peak_rss_mb() or 0.0) >= peak
