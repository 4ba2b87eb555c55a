"""Background jobs: one at a time, in order, visible and stoppable from any process, found dead when they are."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chatbot_mvp.errors import KbNotWritten, UnknownChoice
from chatbot_mvp.jobs.manager import JobManager, JobStatus
from chatbot_mvp.settings.model import PROJECT_ROOT
from chatbot_mvp.types import Progress, ProgressCallback
from tests.raising import raises
from tests.waiting import wait_until

OWNER = """
import sys, time
from pathlib import Path
from chatbot_mvp.jobs.manager import JobManager
from chatbot_mvp.types import Progress

def work(progress):
    for done in range(10_000):
        progress(Progress("retrieve", done, 10_000, done * 0.02))
        time.sleep(0.02)

manager = JobManager(Path(sys.argv[1]))
manager.submit("job1", "Owned elsewhere", work)
while manager.status("job1").active:
    time.sleep(0.01)
"""


class Gate:
    """Work that reports progress until its gate is opened."""

    def __init__(self) -> None:
        self.started, self.gate = threading.Event(), threading.Event()
        self.ran = 0

    def __call__(self, progress: ProgressCallback) -> None:
        self.ran += 1
        self.started.set()
        limit = time.monotonic() + 20
        while not self.gate.wait(timeout=0.01):
            progress(Progress("retrieve", 3, 10, 1.5))
            assert time.monotonic() < limit


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "jobs"


@pytest.fixture
def manager(folder: Path) -> JobManager:
    return JobManager(folder)


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.gate.set()


def status_of(manager: JobManager, job_id: str) -> JobStatus:
    status = manager.status(job_id)
    assert status is not None
    return status


def in_state(manager: JobManager, job_id: str, *states: str) -> JobStatus:
    def look() -> JobStatus | None:
        status = manager.status(job_id)
        return status if status and status.state in states else None

    status: JobStatus = wait_until(look)
    return status


def test_a_job_goes_from_queued_over_running_to_done(manager: JobManager, gate: Gate) -> None:
    manager.submit("first", "First", gate)
    manager.submit("second", "Second", lambda progress: None)
    running = in_state(manager, "first", "running")
    queued = status_of(manager, "second")
    assert running.title == "First"
    assert (queued.state, queued.active, running.active) == ("queued", True, True)
    gate.gate.set()
    done = [in_state(manager, name, "done") for name in ("first", "second")]
    assert [status.active for status in done] == [False, False]


def test_jobs_run_one_at_a_time_in_the_order_of_their_submission(manager: JobManager) -> None:
    log: list[str] = []

    def work(name: str) -> Callable[[ProgressCallback], None]:
        def run(progress: ProgressCallback) -> None:
            log.append(f"{name} begins")
            time.sleep(0.02)
            log.append(f"{name} ends")

        return run

    for name in ("c", "a", "b"):
        manager.submit(name, name, work(name))
    in_state(manager, "b", "done")
    assert log == [f"{name} {what}" for name in "cab" for what in ("begins", "ends")]


def test_progress_gives_phase_count_rate_and_time_left(manager: JobManager) -> None:
    """8 of 20 done, 3 of them before this attempt: 5 in 2 s are 2.5/s, the other 12 take 4.8 s."""
    reported, gate = threading.Event(), threading.Event()

    def work(progress: ProgressCallback) -> None:
        progress(Progress("retrieve", 8, 20, seconds=2.0, done_before=3))
        reported.set()
        gate.wait(timeout=20)

    manager.submit("job", "Job", work)
    assert reported.wait(timeout=20)
    status = status_of(manager, "job")
    gate.set()
    assert (status.phase, status.done, status.total, status.rate) == ("retrieve", 8, 20, 2.5)
    assert status.seconds_left == pytest.approx(4.8)
    done = in_state(manager, "job", "done")
    assert (done.done, done.rate, done.seconds_left) == (8, None, None)


@pytest.mark.parametrize(
    ("progress", "rate", "left"),
    [
        (Progress("x", 0, 10), None, None),
        (Progress("x", 5, 10, 0.0, 0), None, None),
        (Progress("x", 5, 10, 3.0, 5), None, None),
        (Progress("x", 6, 10, 2.0, 0), 3.0, 4 / 3),
        (Progress("x", 10, 10, 5.0, 0), 2.0, 0.0),
    ],
)
def test_rate_and_time_left_are_unknown_before_this_attempt_has_done_anything(
    progress: Progress, rate: float | None, left: float | None
) -> None:
    assert progress.rate == rate
    assert progress.seconds_left == (left if left is None else pytest.approx(left))


def test_a_stop_ends_a_running_job_at_its_next_progress(manager: JobManager, gate: Gate) -> None:
    manager.submit("job", "Job", gate)
    assert gate.started.wait(timeout=20)
    manager.stop("job")
    status = in_state(manager, "job", "stopped")
    assert (status.active, status.error, status.done) == (False, None, 3)


def test_a_stop_that_was_asked_for_shows_as_stopping_until_the_job_comes_to_it(manager: JobManager) -> None:
    started, gate = threading.Event(), threading.Event()

    def work(progress: ProgressCallback) -> None:
        started.set()
        gate.wait(timeout=20)
        progress(Progress("x", 1, 2))

    manager.submit("job", "Job", work)
    assert started.wait(timeout=20)
    manager.stop("job")
    status = status_of(manager, "job")
    gate.set()
    assert (status.state, status.active) == ("stopping", True)
    in_state(manager, "job", "stopped")


def test_a_queued_job_that_is_stopped_never_begins(manager: JobManager, gate: Gate) -> None:
    second = Gate()
    manager.submit("first", "First", gate)
    manager.submit("second", "Second", second)
    manager.stop("second")
    # At once: it need not wait for its turn to be told that it has none.
    status = status_of(manager, "second")
    assert (status.state, status.phase) == ("stopped", "")
    manager.submit("second", "Second", second := Gate())
    manager.stop("second")
    gate.gate.set()
    assert in_state(manager, "first", "done").error is None
    manager.submit("third", "Third", lambda _: None)
    in_state(manager, "third", "done")
    assert second.ran == 0


def test_a_stop_of_an_ended_or_unknown_job_changes_nothing(manager: JobManager) -> None:
    manager.submit("job", "Job", lambda progress: None)
    done = in_state(manager, "job", "done")
    manager.stop("job")
    manager.stop("unknown")
    assert manager.status("job") == done
    assert manager.status("unknown") is None
    assert [status.job_id for status in manager.statuses()] == ["job"]


def test_a_failed_job_keeps_the_errors_text_code_and_values_and_the_next_one_runs(manager: JobManager) -> None:
    error = UnknownChoice(kind="strategy", found="X", legal="A, B")

    def fail(progress: ProgressCallback) -> None:
        raise error

    manager.submit("bad", "Bad", fail)
    manager.submit("good", "Good", lambda progress: None)
    failed = in_state(manager, "bad", "failed")
    assert (failed.error, failed.error_code) == (str(error), "unknown_choice")
    assert failed.error_params == {"kind": "strategy", "found": "X", "legal": "A, B"}
    in_state(manager, "good", "done")


def test_an_unexpected_error_fails_the_job_with_its_kind_and_text(manager: JobManager) -> None:
    def fail(progress: ProgressCallback) -> None:
        raise ZeroDivisionError("nothing to divide by")

    manager.submit("bad", "Bad", fail)
    failed = in_state(manager, "bad", "failed")
    assert (failed.error, failed.error_code) == ("ZeroDivisionError: nothing to divide by", None)


def test_a_job_whose_end_cannot_be_written_ends_with_its_reason_and_can_be_submitted_again(
    folder: Path, manager: JobManager
) -> None:
    error = KbNotWritten(name="a.md", path=str(folder), reason="No space left on device")
    away = folder.with_name("away")

    def fail(progress: ProgressCallback) -> None:
        folder.rename(away)
        raise error

    manager.submit("job1", "Job", fail)
    failed = in_state(manager, "job1", "failed", "interrupted")
    assert (failed.error, failed.error_code) == (str(error), "kb_not_written")
    # Whoever looks at a job's lock may have made the folder again.
    shutil.copytree(away, folder, dirs_exist_ok=True)
    manager.submit("job1", "Again", lambda progress: None)
    in_state(manager, "job1", "done")
    assert json.loads((folder / "job1.json").read_text("utf-8"))["state"] == "done"


@pytest.mark.slow
def test_a_job_cannot_be_submitted_while_it_is_active_but_again_afterwards(
    folder: Path, manager: JobManager, gate: Gate
) -> None:
    manager.submit("job", "Job", gate)
    with raises("run_busy", match="job"):
        JobManager(folder).submit("job", "Job", lambda progress: None)
    manager.stop("job")
    in_state(manager, "job", "stopped")
    manager.submit("job", "Again", lambda progress: None)
    assert in_state(manager, "job", "done").title == "Again"
    assert gate.ran == 1


def test_a_second_manager_over_the_folder_sees_the_job_and_stops_it(folder: Path, gate: Gate) -> None:
    owner, other = JobManager(folder), JobManager(folder)
    owner.submit("job", "Job", gate)
    running = in_state(other, "job", "running")
    assert [(status.job_id, status.state) for status in other.statuses()] == [("job", running.state)]
    other.stop("job")
    in_state(owner, "job", "stopped")
    in_state(other, "job", "stopped")


def test_jobs_are_listed_the_newest_id_first_and_a_damaged_state_is_left_out(folder: Path, manager: JobManager) -> None:
    for name in ("2030_a", "2031_b", "2032_c"):
        manager.submit(name, name, lambda progress: None)
        in_state(manager, name, "done")
    (folder / "2031_b.json").write_text("{", "utf-8")
    assert [status.job_id for status in manager.statuses()] == ["2032_c", "2030_a"]


def test_a_job_survives_in_the_list_of_a_new_manager(folder: Path) -> None:
    JobManager(folder).submit("job", "Job", lambda progress: None)
    in_state(JobManager(folder), "job", "done")


def start_owner(tmp_path: Path, folder: Path) -> subprocess.Popen[bytes]:
    script = tmp_path / "owner.py"
    script.write_text(OWNER, "utf-8")
    return subprocess.Popen(
        [sys.executable, str(script), str(folder)], env={**os.environ, "PYTHONPATH": str(PROJECT_ROOT)}
    )


def test_a_job_of_another_process_is_seen_and_stopped_from_here(tmp_path: Path, folder: Path) -> None:
    owner = start_owner(tmp_path, folder)
    try:
        manager = JobManager(folder)
        status = in_state(manager, "job1", "running")
        assert status.title == "Owned elsewhere"
        with raises("run_busy"):
            manager.submit("job1", "Mine", lambda progress: None)
        manager.stop("job1")
        in_state(manager, "job1", "stopped")
        assert owner.wait(timeout=10) == 0
    finally:
        owner.kill()
        owner.wait(timeout=10)


def test_a_job_whose_process_was_killed_is_interrupted_and_can_be_submitted_again(tmp_path: Path, folder: Path) -> None:
    owner = start_owner(tmp_path, folder)
    manager = JobManager(folder)
    try:
        wait_until(lambda: in_state(manager, "job1", "running").total)
        owner.send_signal(signal.SIGKILL)
        owner.wait(timeout=10)
    finally:
        owner.kill()
        owner.wait(timeout=10)
    status = status_of(manager, "job1")
    assert (status.state, status.active, status.total) == ("interrupted", False, 10_000)
    # The file still has what the dead process wrote; the judgement is made by looking.
    assert json.loads((folder / "job1.json").read_text("utf-8"))["state"] == "running"
    manager.submit("job1", "Again", lambda progress: None)
    in_state(manager, "job1", "done")


def test_a_manager_has_a_thread_while_it_has_work_and_only_then(folder: Path) -> None:
    before = set(threading.enumerate())

    def begun() -> int:
        return sum(thread.name == "jobs" for thread in set(threading.enumerate()) - before)

    manager = JobManager(folder)
    assert begun() == 0
    for job in ("first", "second"):  # also after its thread has ended
        gate = Gate()
        manager.submit(job, job, gate)
        assert gate.started.wait(20)
        assert begun() == 1
        gate.gate.set()
        wait_until(lambda: begun() == 0)
