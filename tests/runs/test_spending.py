"""The budget of a run: what is counted, what is restored, and which task may begin."""

from __future__ import annotations

import copy
import threading
from pathlib import Path

import pytest

from chatbot_mvp.llm.base import ChatRequest, Completion, Message, Usage
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.runs.spending import LLM_REQUEST, BudgetReached, Spending
from chatbot_mvp.runs.usage import Spent
from tests.fakes import FakeChatModel
from tests.raising import raises
from tests.runs.test_records import manifest


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path, "run1")
    made.create(manifest())
    return made


def reply(cost: float | None, tokens: tuple[int | None, int | None] = (3, 2), cached: bool = False) -> Completion:
    return Completion("x", "p/m", 0.12345678, usage=Usage(*tokens, cost), cached=cached)


def paid(spending: Spending, phase: str, *costs: float) -> None:
    """One task of this phase whose requests cost this."""
    spending.begin(phase, len(costs))
    for cost in costs:
        spending.seen(phase, reply(cost))
    spending.end(phase, sum(costs))


def test_requests_are_counted_by_phase_and_restored_from_the_events(folder: RunFolder) -> None:
    spending = Spending(folder)
    spending.seen("generate", reply(0.5))
    spending.seen("generate", reply(0.25, (None, 4)))
    spending.seen("judge", reply(None))
    spending.seen("judge", reply(9.0, cached=True))
    expected = {
        "generate": Spent(2, 0, 3, 6, 0.75, 0),
        "judge": Spent(2, 1, 6, 4, 0.0, 1),
    }
    for counted in (spending, Spending(folder)):
        assert counted.by_phase() == expected
        assert counted.total == Spent(4, 1, 9, 10, 0.75, 1)
        assert counted.total.tokens == 19
    [first, *_, last] = folder.read_events(LLM_REQUEST)
    assert (first["phase"], first["model"], first["seconds"], first["cost_usd"]) == ("generate", "p/m", 0.1235, 0.5)
    assert (last["cost_usd"], last["cached"]) == (0.0, 1)


def test_usage_is_in_total_and_by_phase_in_millionths_of_a_dollar(folder: RunFolder) -> None:
    spending = Spending(folder)
    spending.seen("a", reply(0.0000014))
    spending.seen("b", reply(0.0000014))
    usage = spending.usage()
    assert (usage.calls, usage.cost_usd) == (2, 0.000003)
    assert {phase: spent.cost_usd for phase, spent in usage.phases.items()} == {"a": 0.000001, "b": 0.000001}
    assert usage.to_json()["phases"]["a"]["calls"] == 1


def test_every_reply_of_a_metered_model_is_counted_under_its_phase(folder: RunFolder) -> None:
    spending = Spending(folder)
    model = spending.metered("judge", FakeChatModel("bien"))
    assert model.complete(ChatRequest((Message("user", "¿?"),))).text == "bien"
    before = copy.deepcopy(spending.by_phase())
    assert model.complete(ChatRequest((Message("user", "¿?"),))).text == "bien"
    assert (before["judge"].calls, spending.by_phase()["judge"].calls) == (1, 2), "a copy is of that moment"


def test_without_a_budget_any_number_of_tasks_begins(folder: RunFolder) -> None:
    spending = Spending(folder)
    for _ in range(3):
        spending.begin("generate")
        spending.seen("generate", reply(None))
    spending.step()


@pytest.mark.parametrize(("budget", "begins"), [(2.26, True), (2.25, True), (2.24, False), (1.0, False), (0.5, False)])
def test_a_task_begins_if_the_dearest_one_and_a_quarter_fit(folder: RunFolder, budget: float, begins: bool) -> None:
    """1.0 is spent; 1.25 is assumed for the next task."""
    paid(Spending(folder), "generate", 1.0)
    spending = Spending(folder, budget)
    if begins:
        spending.begin("generate")
        return
    with pytest.raises(BudgetReached):
        spending.begin("generate")


def test_the_dearest_task_of_the_phase_counts_and_a_free_one_says_nothing(folder: RunFolder) -> None:
    spending = Spending(folder, 10.0)
    paid(spending, "generate", 2.0)
    paid(spending, "generate", 1.0)
    spending.begin("generate")
    spending.end("generate", None)
    paid(spending, "judge", 0.5)
    spending.begin("judge")  # 6.5 are left
    spending.begin("judge")
    spending.end("judge", 0.0)
    for _ in range(2):
        spending.begin("generate")  # 2.5 each, beside 0.625 for the judge
    with pytest.raises(BudgetReached):
        refuse_at_once(spending, "generate")


def refuse_at_once(spending: Spending, phase: str) -> None:
    """Begin a task when nothing can end any more."""
    spending.close()
    spending.begin(phase)


def test_the_first_task_of_a_phase_is_estimated_by_its_requests_and_the_dearest_one(folder: RunFolder) -> None:
    paid(Spending(folder), "generate", 0.25, 1.0)
    for requests, budget, begins in ((2, 3.75, True), (2, 3.74, False), (1, 2.5, True), (1, 2.49, False)):
        spending = Spending(folder, budget)
        if begins:
            spending.begin("judge", requests)
            continue
        with pytest.raises(BudgetReached):
            spending.begin("judge", requests)


def test_a_budget_that_is_used_up_begins_nothing_even_if_the_cost_is_unknown(folder: RunFolder) -> None:
    with pytest.raises(BudgetReached):
        Spending(folder, 0.0).begin("generate")


def test_the_first_task_runs_alone_and_the_next_one_waits_for_it(folder: RunFolder) -> None:
    spending, began = Spending(folder, 10.0), threading.Event()
    spending.begin("generate")

    def second() -> None:
        spending.begin("generate")
        began.set()

    thread = threading.Thread(target=second)
    thread.start()
    assert not began.wait(0.05)
    spending.end("generate", 1.0)
    assert began.wait(5)
    thread.join()


def test_a_task_that_may_not_fit_waits_for_what_is_at_work_and_begins_if_that_was_cheaper(folder: RunFolder) -> None:
    spending, began = Spending(folder, 4.0), threading.Event()
    paid(spending, "generate", 1.0)
    spending.begin("generate")
    spending.begin("generate")  # 3.0 - 2 x 1.25 leaves 0.5

    def third() -> None:
        spending.begin("generate")
        began.set()

    thread = threading.Thread(target=third)
    thread.start()
    assert not began.wait(0.05)
    spending.end("generate", 0.0)
    assert began.wait(5)
    thread.join()


def test_a_closed_budget_refuses_those_that_wait(folder: RunFolder) -> None:
    spending, refused = Spending(folder, 10.0), threading.Event()
    spending.begin("generate")

    def second() -> None:
        with pytest.raises(BudgetReached):
            spending.begin("generate")
        refused.set()

    thread = threading.Thread(target=second)
    thread.start()
    spending.close()
    assert refused.wait(5)
    thread.join()


def test_a_budget_cannot_be_kept_with_requests_of_unknown_cost(folder: RunFolder) -> None:
    Spending(folder).seen("generate", reply(None))
    spending = Spending(folder, 10.0)
    for check in (lambda: spending.begin("generate"), spending.step):
        with raises("budget_without_price") as raised:
            check()
        assert raised.value.params["calls"] == 1


def test_a_step_stops_before_the_dearest_batch_and_a_quarter_would_exceed_the_budget(folder: RunFolder) -> None:
    """What earlier attempts spent is no batch of this one."""
    paid(Spending(folder), "expand", 2.0)
    spending = Spending(folder, 5.25)
    spending.step()
    spending.seen("expand", reply(1.0))
    spending.step()  # 3.0 spent, 1.25 assumed
    spending.seen("expand", reply(0.5))
    spending.step()  # 3.5 spent
    spending.seen("expand", reply(0.5))
    spending.step()  # 4.0 spent: exactly 1.25 are left
    spending.seen("expand", reply(0.01))
    with pytest.raises(BudgetReached):
        spending.step()


def test_a_run_without_a_request_so_far_begins_under_any_budget(folder: RunFolder) -> None:
    Spending(folder, 0.01).begin("generate")
