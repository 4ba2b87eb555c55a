"""Sessions take turns: the queue of one does not hold up the others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from chatbot_mvp.jobs.manager import UNFINISHED, JobManager
from chatbot_mvp.types import ProgressCallback
from tests.jobs.test_manager import in_state
from tests.waiting import wait_until


def test_sessions_take_turns_whatever_the_number_of_their_jobs(tmp_path: Path) -> None:
    manager, gate, order = JobManager(tmp_path), threading.Event(), list[str]()

    def job(name: str) -> Callable[[ProgressCallback], None]:
        return lambda progress: order.append(name)

    manager.submit("gate", "gate", lambda progress: gate.wait(20), "first")
    in_state(manager, "gate", "running")
    for name in ("a1", "a2", "a3", "b1", "b2", "c1"):
        manager.submit(name, name, job(name), name[0])
    gate.set()
    wait_until(lambda: len(order) == 6, 20, "all jobs")
    assert order == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_an_unfinished_job_gives_way_and_goes_on_at_its_next_turn(tmp_path: Path) -> None:
    manager, gate, order = JobManager(tmp_path), threading.Event(), list[str]()

    def long(progress: ProgressCallback) -> object:
        gate.wait(20)
        order.append("long")
        return UNFINISHED if manager.others_wait("a") else None

    manager.submit("long", "long", long, "a")
    for name in ("other", "third"):
        manager.submit(name, name, lambda progress, name=name: order.append(name), name)
    assert [manager.others_wait(owner) for owner in ("a", "other")] == [True, True]
    gate.set()
    assert in_state(manager, "long", "done").job_id == "long"
    assert order == ["long", "other", "third", "long"]


def test_a_job_that_gave_way_can_be_stopped_while_it_waits(tmp_path: Path) -> None:
    manager, gate, begun = JobManager(tmp_path), threading.Event(), threading.Event()

    def second(progress: ProgressCallback) -> None:
        begun.set()
        gate.wait(20)

    manager.submit("long", "long", lambda progress: begun.wait(0.2) or UNFINISHED, "a")
    manager.submit("second", "second", second, "b")
    assert begun.wait(20)
    assert in_state(manager, "long", "queued").active
    manager.stop("long")
    gate.set()
    in_state(manager, "second", "done")
    assert in_state(manager, "long", "stopped").job_id == "long"
