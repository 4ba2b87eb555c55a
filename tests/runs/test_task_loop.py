"""The loop over tasks: what is recorded, what is tried again and when, and what ends it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from chatbot_mvp.errors import ProviderError, ProviderUnavailable
from chatbot_mvp.llm.base import Completion, Usage
from chatbot_mvp.runs import task_loop
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.records import QueryRecord, RunFolder
from chatbot_mvp.runs.spending import BudgetReached, Spending
from chatbot_mvp.runs.task_loop import Done, Lane, TaskLoop, costed, failed_task
from tests.raising import raises
from tests.runs.test_records import manifest
from tests.waiting import SOON_S

Work = Callable[[str], Done]


@pytest.fixture(autouse=True)
def short_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_loop, "_REST_S", 0.01)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path, "run1")
    made.create(manifest())
    return made


def loop_of(folder: RunFolder, calls: int = 1, **work: Work) -> tuple[TaskLoop[str], Journal]:
    journal = Journal(folder)
    lanes = {name: Lane(calls, of_lane) for name, of_lane in work.items()}
    return TaskLoop("run1", journal, Spending(folder), lanes), journal


def ok(query_id: str, phase: str = "generate") -> Done:
    return Done(QueryRecord("run1", query_id, phase, "ok", {}))


def failed(query_id: str, passing: bool = False, of_provider: bool = True) -> Done:
    return Done(QueryRecord("run1", query_id, "generate", "failed", {}, f"away {query_id}."), passing, of_provider)


def run(
    loop: TaskLoop[str], lane: str, tasks: list[str], recorded: Callable[[QueryRecord], None] = lambda _: None
) -> None:
    with loop.winding_up():
        for task in tasks:
            loop.give(lane, task)
        while loop.busy:
            loop.step(recorded)


def test_every_outcome_is_recorded_before_it_is_reported(folder: RunFolder) -> None:
    loop, journal = loop_of(folder, generate=ok)
    tasks, seen = [f"q{n}" for n in range(70)], list[str]()

    def report(record: QueryRecord) -> None:
        assert record.query_id in RunFolder(folder.path.parent, "run1").all_records()[0]["generate"]
        seen.append(record.query_id)

    assert not loop.busy and loop.seconds_so_far("generate") == loop.seconds("generate") == 0.0
    run(loop, "generate", tasks, report)
    assert sorted(seen) == sorted(tasks) == sorted(journal.ok("generate"))
    assert loop.waiting("generate") == loop.open("generate") == 0
    assert 0 < loop.seconds("generate") <= loop.seconds_so_far("generate") + 0.001


def test_a_passing_failure_is_tried_again_twice_after_all_others_and_then_recorded(folder: RunFolder) -> None:
    tried: list[str] = []

    def work(task: str) -> Done:
        tried.append(task)
        return failed(task, passing=True) if task == "bad" else ok(task)

    loop, journal = loop_of(folder, generate=work)
    run(loop, "generate", ["bad", "q1", "q2"])
    assert sorted(tried[:3]) == ["bad", "q1", "q2"]
    assert tried[3:] == ["bad", "bad"]
    assert journal.failed("generate") == 1
    assert journal.of("generate")["bad"].error == "away bad."


def test_a_late_try_that_succeeds_leaves_no_trace_of_the_failure(folder: RunFolder) -> None:
    tries = iter([failed("q", passing=True), ok("q")])
    loop, journal = loop_of(folder, generate=lambda _: next(tries))
    loop.give("generate", "q")
    with loop.winding_up():
        while loop.waiting("generate"):
            loop.step()
        assert loop.busy and loop.open("generate") == 1
        assert journal.of("generate") == {}, "a resume would do it again"
        while loop.busy:
            loop.step()
    assert (journal.ok("generate"), journal.failed("generate")) == ({"q"}, 0)


def test_a_lasting_failure_is_recorded_at_once(folder: RunFolder) -> None:
    loop, journal = loop_of(folder, generate=failed)
    run(loop, "generate", ["q"])
    assert journal.failed("generate") == 1


def test_late_tries_of_a_lane_wait_for_the_lanes_before_it(folder: RunFolder) -> None:
    go_on, tries = threading.Event(), list[str]()

    def generate(task: str) -> Done:
        assert go_on.wait(5)
        return ok(task)

    def judge(task: str) -> Done:
        tries.append(task)
        return failed(task, passing=True) if len(tries) == 1 else ok(task, "judge")

    loop, _ = loop_of(folder, generate=generate, judge=judge)
    with loop.winding_up():
        loop.give("generate", "q1")
        loop.give("judge", "q2")
        until = time.monotonic() + 0.25
        while time.monotonic() < until:
            loop.step()
        assert tries == ["q2"]
        go_on.set()
        while loop.busy:
            loop.step()
    assert tries == ["q2", "q2"]


def test_25_failures_in_a_row_end_the_loop_and_what_was_put_off_is_recorded(folder: RunFolder) -> None:
    loop, journal = loop_of(folder, generate=lambda task: failed(task, passing=task == "late"))
    with raises("run_gave_up", match=r"25 failures in a row: away q\d+\."):
        run(loop, "generate", ["late", *(f"q{n}" for n in range(60))])
    assert "late" in journal.of("generate")
    assert journal.failed("generate") >= 25


@pytest.mark.parametrize(
    "twenty_fifth", [ok("other"), failed("other", of_provider=False)], ids=["a success", "a failure of the task itself"]
)
def test_24_failures_and_one_that_is_none_of_the_provider_do_not(folder: RunFolder, twenty_fifth: Done) -> None:
    loop, journal = loop_of(folder, generate=lambda task: twenty_fifth if task == "other" else failed(task))
    for block in (range(24), range(24, 48)):
        with_one = [*(f"q{n}" for n in block), "other"]
        for task in with_one:
            loop.give("generate", task)
            while loop.busy:
                loop.step()
    assert journal.failed("generate") >= 48


def test_an_error_that_concerns_every_request_ends_the_loop_but_loses_no_other_outcome(folder: RunFolder) -> None:
    first = threading.Event()

    def work(task: str) -> Done:
        if task == "fatal":
            assert first.wait(5)
            raise BudgetReached
        first.set()
        return ok(task)

    loop, journal = loop_of(folder, generate=work)
    with pytest.raises(BudgetReached):
        run(loop, "generate", ["q1", "fatal"])
    assert journal.ok("generate") == {"q1"}


def test_after_the_end_no_task_begins_and_what_is_at_work_is_recorded_unless_it_may_pass(folder: RunFolder) -> None:
    begun, go_on = threading.Semaphore(0), threading.Event()
    tried: list[str] = []

    def work(task: str) -> Done:
        tried.append(task)
        begun.release()
        assert go_on.wait(5)
        return failed(task, passing=True) if task == "q0" else ok(task)

    loop, journal = loop_of(folder, generate=work)  # four threads
    with pytest.raises(KeyboardInterrupt), loop.winding_up():
        for n in range(9):
            loop.give("generate", f"q{n}")
        for _ in range(4):
            assert begun.acquire(timeout=5)
        threading.Timer(0.05, go_on.set).start()
        raise KeyboardInterrupt
    assert sorted(tried) == ["q0", "q1", "q2", "q3"]
    assert journal.ok("generate") == {"q1", "q2", "q3"}
    assert journal.failed("generate") == 0


def test_a_task_that_does_not_end_is_left_after_a_while(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_loop, "_PATIENCE_S", 0.05)
    never, begun = threading.Event(), threading.Event()

    def work(task: str) -> Done:
        begun.set()
        never.wait(2 * SOON_S)
        return ok(task)

    loop, journal = loop_of(folder, generate=work)
    started = time.monotonic()
    with loop.winding_up():
        loop.give("generate", "q")
        assert begun.wait(5)
    assert time.monotonic() - started < SOON_S
    assert journal.of("generate") == {}
    never.set()


def test_a_failure_of_one_request_is_an_outcome_and_one_of_every_request_is_raised() -> None:
    passing = ProviderUnavailable(provider="p", model="m", address="a", tries=1, reason="away")
    done = failed_task("run1", "q1", "judge", passing)
    assert (done.passing, done.of_provider) == (True, True)
    assert done.record == QueryRecord("run1", "q1", "judge", "failed", {"code": "provider_unavailable"}, str(passing))
    every = ProviderError("provider_key_refused", provider="p", model="m", variable="KEY", reason="no")
    with raises("provider_key_refused"):
        failed_task("run1", "q1", "judge", every)


def test_a_task_costs_what_its_paid_requests_cost_also_if_it_fails(folder: RunFolder) -> None:
    spending = Spending(folder, 10.0)
    with pytest.raises(ValueError, match="x"), costed(spending, "generate", 2) as completions:
        completions += [
            Completion("", "m", 0.0, usage=Usage(1, 1, cost), cached=cost == 9.0) for cost in (1.0, 2.0, 9.0)
        ]
        raise ValueError("x")
    with costed(spending, "generate"), costed(spending, "generate"):
        pass  # 3.0 each, with a quarter more: both fit into 10.0
    spending.close()
    with pytest.raises(BudgetReached), costed(spending, "generate"):
        pass


def test_a_task_whose_replies_were_cached_says_nothing_of_the_cost_of_others(folder: RunFolder) -> None:
    spending = Spending(folder, 10.0)
    with costed(spending, "generate") as completions:
        completions.append(Completion("", "m", 0.0, cached=True))
    began = threading.Event()
    with costed(spending, "generate"):
        thread = threading.Thread(target=lambda: (spending.begin("generate"), began.set()))
        thread.start()
        assert not began.wait(0.05), "the cost of the first one is still unknown"
    assert began.wait(5)
    thread.join()
