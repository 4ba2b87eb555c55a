"""An estimate tells what a run will take before it spends: from lengths for nothing, from a pilot closely."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import RunStopped
from chatbot_mvp.evaluation.benchmark.estimate import (
    CHARS_PER_TOKEN,
    Amount,
    Estimate,
    PhaseEstimate,
    busy_seconds,
    share_of_time,
    total_of,
)
from chatbot_mvp.evaluation.benchmark.pilot import projected, spread
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.settings.model import Settings
from tests.fakes import fake_app
from tests.llm.http_stub import Fault, Response
from tests.llm.openai_stub import MODEL, OpenAiStub
from tests.raising import raises
from tests.stopping import at, stop_when

AT_ONCE = 6


@pytest.fixture
def stub() -> Iterator[OpenAiStub]:
    with OpenAiStub() as server:
        yield server


@pytest.fixture
def make(settings: Settings, stub: OpenAiStub) -> Callable[..., App]:
    """An App whose provider is the stub and whose vectors are fake; changes are settings."""

    def app(**changes: Any) -> App:
        own = {
            "provider": "openai",
            "openai_base_url": stub.url,
            "openai_model_name": MODEL,
            "openai_api_key": "k",
            "nim_max_concurrent_requests": AT_ONCE,
            "generation_enabled": True,
            "retrieval_strategy": "LEXICAL",
        }
        return fake_app(settings.with_changes(**{**own, **changes}))

    return app


def phases(estimate: Estimate | None) -> dict[str, PhaseEstimate]:
    assert estimate is not None
    return {phase.phase: phase for phase in estimate.phases}


def close(found: float, true: float, share: float) -> bool:
    return abs(found - true) <= share * true


@pytest.mark.slow
def test_a_pilot_of_ten_tells_calls_tokens_cost_and_seconds_of_the_run_that_follows(
    make: Callable[..., App], stub: OpenAiStub
) -> None:
    stub.seconds = 0.2
    app = make()
    estimate = app.runs.pilot(10)
    assert stub.calls == 30
    assert estimate.pilot is not None
    assert (estimate.pilot.queries, estimate.pilot.calls, estimate.pilot.cached, estimate.pilot.kept) == (
        10,
        30,
        0,
        True,
    )
    assert (app.archive.runs()[0], app.archive.unfinished()) == ([], [])
    assert list((app.settings.cache_dir / "pilots").iterdir()) == []
    result = app.runs.run_now()
    usage = result.usage
    assert (estimate.total.calls.expected, usage.calls, usage.cached) == (120, 120, 30)
    assert stub.calls == 120
    for phase, found in phases(estimate).items():
        true = usage.phases[phase]
        assert (found.calls, found.free_calls) == (Amount(true.calls, true.calls, true.calls), true.cached)
        assert close(found.prompt_tokens.expected, true.prompt_tokens, 0.1)
        assert close(found.completion_tokens.expected, true.completion_tokens, 0.1)
        assert found.prompt_tokens.low is not None
        assert found.prompt_tokens.high is not None
        assert found.prompt_tokens.low <= true.prompt_tokens <= found.prompt_tokens.high
    assert estimate.total.cost_usd is not None
    assert close(estimate.total.cost_usd.expected, usage.cost_usd, 0.1)
    assert estimate.total.seconds is not None
    folder = RunFolder(app.settings.results_dir, result.run_id)
    [begun] = folder.read_events("run_start")
    *_, ended = folder.read_events("query_result")
    took = (datetime.fromisoformat(ended["time"]) - datetime.fromisoformat(begun["time"])).total_seconds()
    assert close(estimate.total.seconds.expected, took, 0.3), (estimate.total.seconds, took, result.seconds)


def test_lengths_alone_ask_nothing_write_nothing_and_come_near(make: Callable[..., App], stub: OpenAiStub) -> None:
    app = make(llm_cache_enabled=False, eval_max_queries=12)
    estimate = app.runs.plan_run().estimate
    assert stub.calls == 0
    assert not app.settings.data_dir.exists()
    assert estimate is not None
    assert (estimate.basis, estimate.chars_per_token, estimate.pilot) == ("lengths", CHARS_PER_TOKEN, None)
    found = phases(estimate)
    assert [phase.seconds for phase in found.values()] == [None, None]
    assert estimate.total.seconds is None
    usage = app.runs.run_now().usage
    assert estimate.total.calls == Amount(usage.calls)
    assert close(estimate.total.prompt_tokens.expected, usage.prompt_tokens, 0.2)
    # Now there are calls of the same model to go by.
    after = phases(app.runs.plan_run().estimate)
    assert {phase.seconds_basis for phase in after.values()} == {"earlier_runs"}


def test_a_model_without_a_price_has_no_cost_and_a_free_one_costs_nothing(make: Callable[..., App]) -> None:
    estimate = make(openai_model_name="house-model").runs.plan_run().estimate
    assert estimate is not None
    assert [(phase.cost_usd, phase.price) for phase in estimate.phases] == [(None, None)] * 2
    assert estimate.total.cost_usd is None
    demo = make(provider="demo").runs.plan_run().estimate
    assert demo is not None
    assert [(phase.phase, phase.model, phase.calls.expected) for phase in demo.phases] == [("generate", "demo", 40)]
    assert demo.total.cost_usd == Amount(0)
    assert demo.total.prompt_tokens.expected == 0
    mixed = make(judge_provider="openai", judge_model_name="house-model").runs.plan_run().estimate
    assert mixed is not None
    assert [phase.cost_usd is None for phase in mixed.phases] == [False, True]
    assert mixed.total.cost_usd is None


def test_a_run_that_asks_no_model_has_no_estimate(make: Callable[..., App]) -> None:
    plan = make().runs.plan_run(generation_enabled=False)
    assert plan.estimate is None
    assert (plan.generator, plan.judge) == (None, None)
    assert not {"generate", "judge", "similarity"} & set(plan.phases)
    assert {"generate", "similarity"} <= set(make().runs.plan_run(generation_enabled=True).phases)
    assert plan.as_json()["estimate"] is None


def test_what_retrieval_asks_of_a_model_is_counted(make: Callable[..., App]) -> None:
    app = make(generation_enabled=False, retrieval_strategy="CONTEXTUAL_HYBRID", reranker_enabled=True)
    found = phases(app.runs.plan_run(eval_max_corpus=60, eval_max_queries=5, reranker_candidates=20).estimate)
    assert {name: phase.calls.expected for name, phase in found.items()} == {"enrich": 60, "retrieval": 100}
    found = phases(app.runs.plan_run(eval_max_corpus=60, eval_max_queries=5, retrieval_context_questions=4).estimate)
    assert (found["enrich"].calls.expected, found["questions"].calls.expected) == (60, 60)
    assert found["questions"].completion_tokens.expected > found["enrich"].completion_tokens.expected
    plan = app.runs.plan_run(retrieval_context_questions=4)
    assert plan.phases.index("enrich") < plan.phases.index("questions") < plan.phases.index("check_questions")
    assert "questions" not in app.runs.plan_run(retrieval_context_questions=0).phases
    # No bundled question is short enough to be expanded.
    assert make(generation_enabled=False, query_expansion_llm=True).runs.plan_run().estimate is None


def test_a_pilot_of_an_enriching_strategy_enriches_a_few_and_retrieves_with_a_stand_in(
    make: Callable[..., App], stub: OpenAiStub
) -> None:
    app = make(retrieval_strategy="CONTEXTUAL_HYBRID", judge_metrics="")
    estimate = app.runs.pilot(4)
    assert stub.calls == 4 + 4
    assert estimate.pilot is not None
    assert (estimate.pilot.stand_in, estimate.pilot.kept, estimate.pilot.calls) == ("LEXICAL", False, 8)
    found = phases(estimate)
    assert {name: phase.calls.expected for name, phase in found.items()} == {"enrich": 80, "generate": 40}
    assert (found["enrich"].free_calls, found["generate"].free_calls) == (4, 0)


def test_a_pilot_asks_for_questions_of_a_few_passages(make: Callable[..., App], stub: OpenAiStub) -> None:
    app = make(retrieval_strategy="CONTEXTUAL_HYBRID", judge_metrics="", retrieval_context_questions=3)
    stub.reply = "¿Qué dice?"
    estimate = app.runs.pilot(4)
    assert stub.calls == 4 + 4 + 4
    found = phases(estimate)
    calls = {name: (phase.calls.expected, phase.free_calls) for name, phase in found.items()}
    assert calls == {"enrich": (80, 4), "questions": (80, 4), "generate": (40, 0)}
    assert {phase.seconds_basis for phase in found.values()} == {"pilot"}
    assert phases(app.runs.plan_run().estimate)["questions"].calls.expected == 76, (
        "the run reuses the replies of the pilot"
    )


def test_a_second_pilot_is_free_and_does_not_take_the_rest_for_free(make: Callable[..., App], stub: OpenAiStub) -> None:
    app = make()
    first, second = app.runs.pilot(5), app.runs.pilot(5)
    assert stub.calls == 15
    assert second.pilot is not None
    assert (second.pilot.cached, second.pilot.cost_usd) == (15, 0)
    assert second.total.cost_usd == first.total.cost_usd
    assert {phase.seconds for phase in second.phases} == {None}


def test_a_pilot_that_gets_no_reply_says_why_and_leaves_nothing(make: Callable[..., App], stub: OpenAiStub) -> None:
    app = make(nim_max_retries=0)
    stub.faults.append(Fault())  # the list of models
    stub.faults.extend([Fault(Response.json({"error": {"message": "house rules"}}, 400))] * 3)
    with raises("pilot_failed", match="house rules"):
        app.runs.pilot(3)
    with raises("pilot_failed", match="cost more than"):
        app.runs.pilot(3, budget_usd=0.0001)
    with pytest.raises(RunStopped):
        app.runs.pilot(3, stop_when(at("generate")))
    assert list((app.settings.cache_dir / "pilots").iterdir()) == []
    assert not app.settings.submissions_path.exists()


def test_queries_are_spread_over_the_whole_and_by_seed() -> None:
    items = list(range(40))
    for seed in range(20):
        picked = spread(items, 10, seed)
        assert [item // 4 for item in picked] == list(range(10))
        assert picked == spread(items, 10, seed)
    assert len({tuple(spread(items, 10, seed)) for seed in range(20)}) > 1
    assert spread(items, 99, 1) == items
    assert spread([], 3, 1) == []


def test_a_projection_has_two_standard_errors_to_either_side() -> None:
    # Mean 2, deviation 1, three more: 6 + 6 with 2 * sqrt(3 + 9 / 3).
    amount = projected([1.0, 2.0, 3.0], 3)
    assert (amount.expected, amount.rounded(3)) == (12.0, Amount(12.0, 7.101, 16.899))
    assert projected([5.0], 2) == Amount(15.0, 15.0, 15.0)
    assert projected([1.0, 3.0], 0) == Amount(4.0, 4.0, 4.0)
    assert projected([1.0, 3.0], 0, done=False) == Amount(0.0, 0.0, 0.0)


def event(end: float, seconds: float) -> dict[str, Any]:
    return {"time": f"2030-01-01T00:00:{end:06.3f}+00:00", "seconds": seconds}


def test_busy_time_is_that_of_any_call_and_pauses_do_not_count() -> None:
    together = [event(2, 1), event(2.5, 1.5), event(30, 1)]
    assert busy_seconds(together) == pytest.approx(2.5)
    assert share_of_time([], 4) is None
    # Four calls through one place: each has waited for those before it.
    waiting = [event(n, n) for n in (1, 2, 3, 4)]
    assert share_of_time(waiting, 1) == pytest.approx(1.0)
    assert share_of_time([event(1, 1)], 4) == pytest.approx(0.25)


def test_models_of_one_provider_share_its_limit_and_those_of_two_work_side_by_side(make: Callable[..., App]) -> None:
    estimate = make().runs.plan_run().estimate
    assert estimate is not None
    one, two = (replace(phase, seconds=Amount(10.0)) for phase in estimate.phases)
    assert total_of([one, two]).seconds == Amount(20.0)
    assert total_of([one, replace(two, model="groq/m")]).seconds == Amount(10.0)
    assert total_of([one, replace(two, seconds=None)]).seconds is None
