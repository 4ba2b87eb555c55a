"""What ends an evaluation early, and what a resume or a retry then asks: exactly what is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from chatbot_mvp.errors import RunStopped
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.jsonl import read_lines
from chatbot_mvp.types import Progress, ignore_progress
from chatbot_mvp.wings.ragas.config import config_from
from chatbot_mvp.wings.ragas.rows import InputRow, to_json_lines
from chatbot_mvp.wings.ragas.service import RagasService
from tests.llm.http_stub import Request, Response
from tests.raising import raises
from tests.waiting import wait_until
from tests.wings.ragas.conftest import app_of, environment_of, given
from tests.wings.ragas.judging.judge_stub import JudgeStub

Rows = Callable[[int], list[InputRow]]
METRICS = ["LLMContextPrecisionWithReference", "LLMContextRecall", "Faithfulness", "ContextRelevance"]
CONFIG = config_from({"metrics": METRICS})


def stopped(settings: Settings, rows: list[InputRow], after: int) -> str:
    """The id of an evaluation that was stopped once so many scores were there; little of it is at work at a time."""
    settings = settings.with_changes(nim_max_concurrent_requests=1)

    def progress(now: Progress) -> None:
        if now.phase == "score" and now.done >= after:
            raise RunStopped(run_id="?")

    with pytest.raises(RunStopped):
        app_of(settings).get(RagasService).run_now("x", rows, CONFIG, progress)
    [run] = app_of(settings).archive.unfinished()
    return run.run_id


def unbroken(settings: Settings, rows: list[InputRow], tmp_path: Path) -> RunResult:
    return app_of(settings.with_changes(data_dir=tmp_path / "elsewhere")).get(RagasService).run_now("x", rows, CONFIG)


def same(one: RunResult, other: RunResult) -> bool:
    names = ("metrics", "scored", "intervals", "per_query", "not_scored")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def test_a_stopped_evaluation_goes_on_with_exactly_what_is_missing(
    asking: Settings, stub: JudgeStub, rows: Rows, tmp_path: Path
) -> None:
    run_id = stopped(asking, rows(8), after=10)
    [unfinished] = app_of(asking).archive.unfinished()
    assert (unfinished.recorded, unfinished.queries) == (0, 8), "no row has all of its scores"
    so_far = app_of(asking).runs.so_far(run_id)
    assert list(so_far) == list(CONFIG.metrics)
    assert 10 <= sum(scored for _, scored, _ in so_far.values()) < 32
    assert so_far["ragas_nv_context_relevance"] == (None, 0, 8)
    resumed = app_of(asking).runs.resume_now(run_id)
    records, _ = read_lines(asking.results_dir / run_id / "records.jsonl")
    assert len({(row["phase"], row["query_id"]) for row in records}) == len(records) == 32
    bodies = [request.body for request in stub.requests]
    assert len(bodies) == len(set(bodies)), "nothing was asked twice"
    assert same(resumed, unbroken(asking, rows(8), tmp_path))
    assert len(stub.requests) == 2 * len(bodies)
    with raises("run_already_finished"):
        app_of(asking).runs.resume_now(run_id)


@pytest.mark.slow
def test_killed_with_sigkill_an_evaluation_ends_as_an_unbroken_one(
    asking: Settings, stub: JudgeStub, rows: Rows, tmp_path: Path
) -> None:
    data = tmp_path / "rows.jsonl"
    data.write_bytes(to_json_lines(given(count=8)))
    environment = environment_of(asking, stub) | {"NIM_MAX_CONCURRENT_REQUESTS": "2"}
    stub.piece_delay = 0.05
    metrics = [part for name in METRICS for part in ("--metric", name)]
    process = subprocess.Popen(
        [sys.executable, "-m", "chatbot_mvp.cli", "ragas", "run", str(data), *metrics],
        cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_until(lambda: len(stub.requests) >= 30 or process.poll() is not None, 60, "30 requests")
    assert process.poll() is None
    process.kill()
    process.wait(10)
    stub.piece_delay = 0.0
    [run] = app_of(asking).archive.unfinished()
    before = len(stub.requests)
    resumed = app_of(asking).runs.resume_now(run.run_id)
    after = len(stub.requests) - before
    whole = unbroken(asking, rows(8), tmp_path)
    total = len(stub.requests) - before - after
    assert 0 < after < total, "what was recorded before the kill was not asked again"
    assert same(resumed, whole)


@pytest.mark.slow
def test_a_retry_asks_only_for_the_rows_that_failed(
    asking: Settings, stub: JudgeStub, rows: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = given(count=4)[3]["user_input"]
    answer = JudgeStub.answer

    def refuses(self: JudgeStub, request: Request) -> Response:
        if word in request.json["messages"][-1]["content"]:
            return Response.json({"error": {"message": "not this one"}}, 400)
        return answer(self, request)

    monkeypatch.setattr(JudgeStub, "answer", refuses)
    first = app_of(asking).get(RagasService).run_now("x", rows(6), CONFIG)
    assert set(first.failures.values()) == {1}
    assert len(first.failures) == len(METRICS)
    assert {"provider": 1} in first.not_scored.values()
    monkeypatch.undo()
    stub.requests.clear()
    second = app_of(asking).runs.resume_now(first.run_id, retry_failed=True)
    assert all(word in request.body.decode() or "1. Afirmación" in request.body.decode() for request in stub.requests)
    assert second.failures == {}
    assert same(second, unbroken(asking, rows(6), tmp_path))


@pytest.mark.parametrize("what", ["prompts", "rows"])
def test_an_evaluation_that_would_not_be_the_same_is_not_resumed(asking: Settings, rows: Rows, what: str) -> None:
    run_id = stopped(asking, rows(4), after=2)
    folder = asking.results_dir / run_id
    if what == "prompts":
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
        (folder / "manifest.json").write_text(json.dumps({**manifest, "prompts": "es-1-000000"}), "utf-8")
    else:
        changed = [{**row, "retrieved_contexts": ["otro"]} for row in given(count=4)]
        (folder / "input.jsonl").write_bytes(to_json_lines(changed))
    with raises("run_mismatch", match=what):
        app_of(asking).runs.resume_now(run_id)


def test_a_budget_ends_an_evaluation_and_more_lets_it_go_on(asking: Settings, rows: Rows, tmp_path: Path) -> None:
    prices = '[[price]]\nprovider = "openai"\nmodel = "judge"\ninput = 10.0\noutput = 10.0\n'
    asking.data_dir.mkdir(parents=True, exist_ok=True)
    (asking.data_dir / "prices.toml").write_text(prices + 'date = 2026-11-01\nsource = "a test"\n', "utf-8")
    with raises("run_over_budget") as raised:
        app_of(asking).get(RagasService).run_now("x", rows(6), CONFIG, ignore_progress, budget_usd=0.02)
    assert raised.value.params["spent"] <= 0.02
    [run] = app_of(asking).archive.unfinished()
    assert app_of(asking).runs.resume_now(run.run_id, budget_usd=10.0).scored["ragas_faithfulness"] == (6, 6)
