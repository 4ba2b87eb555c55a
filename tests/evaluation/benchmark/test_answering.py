"""Answers and judgements of a run: recorded once, scored honestly, counted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import ProviderBadRequest, ProviderError, ProviderReplyUnusable, ProviderUnavailable
from chatbot_mvp.llm.base import ChatModel, ChatRequest
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Progress
from tests.fakes import FakeChatModel, FakeEmbedder, fake_app
from tests.raising import raises
from tests.stopping import at, stopped_run

QUERIES = 40
ABSTENTION = "No lo sé."
Reply = str | Callable[[ChatRequest], str]


def is_judging(request: ChatRequest) -> bool:
    return request.options.json_schema is not None


class Models:
    """What a run asks: one fake for the answers, one for the judgements."""

    def __init__(self, answers: Reply, judgements: Reply = '{"reason": "r", "score": 0.5}') -> None:
        self.generator, self.judge = FakeChatModel(answers), FakeChatModel(judgements)

    def of(self, settings: Settings) -> ChatModel:
        return self.judge if settings.provider == "ollama" else self.generator


@pytest.fixture
def app_with(settings: Settings, embedder: FakeEmbedder) -> Callable[..., App]:
    """An App whose runs ask these models; the judge is another provider than the generator."""
    configured = settings.with_changes(
        generation_enabled=True,
        retrieval_strategy="LEXICAL",
        provider="openai",
        openai_api_key="clave-de-prueba",
        openai_base_url="http://127.0.0.1:1/v1",
        judge_provider="ollama",
        ollama_model_name="juez",
    )

    def make(models: Models, **changes: Any) -> App:
        changed = configured.with_changes(**changes)
        return fake_app(changed, embedder=lambda _: embedder, chat_model=DemoModel, run_model=models.of)

    return make


def gold_answers(app: App) -> dict[str, str]:
    return {query.text: query.answer for query in app.datasets.load("valle_multihop").queries}


def question_of(request: ChatRequest) -> str:
    return request.messages[1].content.rpartition("Pregunta:\n")[2].split("\n")[1]


def test_right_answers_score_one_and_wrong_ones_are_told_where_they_went_wrong(app_with: Callable[..., App]) -> None:
    models = Models("")
    app = app_with(models)
    gold = gold_answers(app)
    asked: list[str] = []

    def reply(request: ChatRequest) -> str:
        asked.append(question_of(request))
        return gold[question_of(request)] if len(asked) % 2 else ABSTENTION

    models.generator.reply = reply
    result = app.runs.run_now(nim_max_concurrent_requests=1)
    abstained = [row for row in result.per_query if row.abstained]
    answered = [row for row in result.per_query if not row.abstained]
    assert (len(abstained), result.abstentions) == (20, 20)
    assert {row.metrics["generation_score"] for row in answered} == {1.0}
    assert {row.metrics["exact_match"] for row in answered} == {1.0}
    assert {row.metrics["generation_score"] for row in abstained} == {0.0}
    assert result.metrics["generation_score"] == 0.5
    assert {row.cause for row in answered} == {"ok"}
    assert {row.cause for row in abstained} <= {"unknown_wrongly", "below_cut", "not_retrieved"}
    # "I don't know" is not judged, and its score is not 0 but none.
    assert len(models.judge.requests) == 2 * len(answered)
    assert result.scored["faithfulness"] == (len(answered), len(answered))
    assert all("faithfulness" not in row.metrics for row in abstained)
    assert {row.judge_reasons["faithfulness"] for row in answered} == {"r"}


def test_generator_and_judge_see_the_context_that_is_recorded(app_with: Callable[..., App]) -> None:
    models = Models("algo")
    app = app_with(models)
    row = app.runs.run_now(eval_max_queries=1, kb_top_k=3).per_query[0]
    assert row.generation_doc_ids == row.retrieved[:3]
    documents = app.archive.documents(app.archive.runs()[0][0].run_id, row.retrieved)
    for request in (*models.generator.requests, *models.judge.requests):
        shown = request.messages[1].content
        positions = [shown.find(documents[doc_id].text[:40]) for doc_id in row.retrieved]
        assert -1 not in positions[:3] == sorted(positions[:3])
        assert set(positions[3:]) == {-1}


def test_a_budget_of_context_holds_for_both(app_with: Callable[..., App]) -> None:
    models = Models("algo")
    row = app_with(models).runs.run_now(eval_max_queries=1, generation_max_context_chars=500).per_query[0]
    assert 0 < len(row.generation_doc_ids) < 5
    assert max(len(request.messages[1].content) for request in models.generator.requests) < 1_100


def test_a_failed_answer_is_not_scored_and_a_retry_asks_for_it_alone(app_with: Callable[..., App]) -> None:
    models = Models("")
    away = True

    def reply(request: ChatRequest) -> str:
        if away and len(question_of(request)) % 3 == 0:
            raise ProviderBadRequest(provider="openai", model="m", reason="no")
        return "algo"

    models.generator.reply = reply
    app = app_with(models)
    result = app.runs.run_now()
    failed = [row for row in result.per_query if row.failed]
    assert 0 < len(failed) < QUERIES
    assert result.failures == {"generate": len(failed)}
    assert {row.metrics["f1"] for row in failed} == {None}
    assert {row.cause for row in failed} == {"not_scored"}
    assert all(row.metrics["recall@5"] is not None for row in failed)
    assert result.scored["f1"] == (QUERIES - len(failed), QUERIES)
    left_out, counted_in = result.readings["semantic_similarity"]
    assert counted_in < left_out

    away = False
    models.generator.requests.clear()
    models.judge.requests.clear()
    again = app.runs.resume_now(result.run_id, retry_failed=True)
    assert len(models.generator.requests) == len(failed)
    assert len(models.judge.requests) == 2 * len(failed)
    assert (again.failures, again.scored["f1"]) == ({}, (QUERIES, QUERIES))
    assert [run.run_id for run in app.archive.runs()[0]] == [result.run_id]
    assert app.archive.run(result.run_id).failures == {}


def test_a_judge_that_cannot_be_read_leaves_its_metric_unscored_and_keeps_what_it_said(
    app_with: Callable[..., App],
) -> None:
    def reply(request: ChatRequest) -> str:
        return "ni idea" if "fiel" in request.messages[0].content else '{"score": 1}'

    app = app_with(Models("algo", reply))
    result = app.runs.run_now(eval_max_queries=4)
    assert (result.metrics["faithfulness"], result.scored["faithfulness"]) == (None, (0, 4))
    assert result.readings["faithfulness"] == (None, 0.0)
    assert result.metrics["context_utilization"] == 1.0
    assert result.failures == {"judge": 4}
    records, _ = RunFolder(app.settings.results_dir, result.run_id).records("judge")
    assert {record.payload["raw"]["faithfulness"] for record in records.values()} == {"ni idea"}


@pytest.mark.parametrize("empty", [False, True], ids=["a reply that is no score", "thinking without a reply"])
def test_a_run_ends_with_its_results_although_no_reply_of_the_judge_can_be_read(
    app_with: Callable[..., App], empty: bool
) -> None:
    def reply(_: ChatRequest) -> str:
        if empty:
            raise ProviderReplyUnusable(provider="ollama", model="m", reason="no text")
        return "ni idea"

    result = app_with(Models("algo", reply)).runs.run_now(judge_metrics="faithfulness", nim_max_concurrent_requests=1)
    assert (result.metrics["faithfulness"], result.scored["faithfulness"]) == (None, (0, QUERIES))
    assert (result.failures, result.scored["f1"]) == ({"judge": QUERIES}, (QUERIES, QUERIES))


def test_a_refused_key_ends_the_run_with_what_is_recorded(app_with: Callable[..., App]) -> None:
    models = Models("")

    def reply(_: ChatRequest) -> str:
        if len(models.generator.requests) > 10:
            raise ProviderError(
                "provider_key_refused", provider="openai", model="m", reason="no", variable="OPENAI_API_KEY"
            )
        return "algo"

    models.generator.reply = reply
    app = app_with(models)
    with raises("provider_key_refused"):
        app.runs.run_now(nim_max_concurrent_requests=1)
    [run] = app.archive.unfinished()
    assert 0 < run.recorded <= 10
    models.generator.reply = "algo"
    models.generator.requests.clear()
    app.runs.resume_now(run.run_id)
    assert len(models.generator.requests) == QUERIES - run.recorded


def test_a_provider_that_is_away_is_given_up_and_retried_later(app_with: Callable[..., App]) -> None:
    models = Models("")

    def away(_: ChatRequest) -> str:
        raise ProviderUnavailable(provider="openai", model="m", address="x", reason="no route", tries=4)

    models.generator.reply = away
    app = app_with(models)
    with raises("run_gave_up", match="25 failures in a row"):
        app.runs.run_now(nim_max_concurrent_requests=1)
    [run] = app.archive.unfinished()
    models.generator.reply = "algo"
    assert app.runs.resume_now(run.run_id, retry_failed=True).scored["f1"] == (QUERIES, QUERIES)


def test_a_slow_judge_does_not_hold_the_generator(app_with: Callable[..., App]) -> None:
    gate = threading.Event()

    def slow(_: ChatRequest) -> str:
        assert gate.wait(20)
        return '{"score": 1}'

    generated: list[int] = []

    def progress(now: Progress) -> None:
        if now.phase == "generate" and now.done == QUERIES:
            generated.append(now.done)
            gate.set()

    result = app_with(Models("algo", slow)).runs.run_now(progress)
    assert generated
    assert result.scored["faithfulness"] == (QUERIES, QUERIES)


def test_a_stop_keeps_what_is_at_work_and_a_resume_asks_for_the_rest_alone(app_with: Callable[..., App]) -> None:
    def unhurried(_: ChatRequest) -> str:
        time.sleep(0.02)
        return "algo"

    models = Models(unhurried)
    app = app_with(models)
    stopped_run(app, at("generate", 5), nim_max_concurrent_requests=2)
    [run] = app.archive.unfinished()
    answered = len(models.generator.requests)
    assert 5 <= run.recorded == answered < QUERIES
    result = app.runs.resume_now(run.run_id)
    assert len(models.generator.requests) == QUERIES
    assert len(models.judge.requests) == 2 * QUERIES
    assert result.usage.phases["generate"].calls == QUERIES


def test_without_a_language_model_nothing_is_judged_and_similarity_is_still_there(app_with: Callable[..., App]) -> None:
    app = app_with(Models("algo"), judge_provider="demo")
    result = app.runs.run_now(eval_max_queries=6)
    assert result.judge == ""
    assert "faithfulness" not in result.metrics
    assert result.metrics["semantic_similarity"] is not None
    assert "judge" not in result.seconds


def test_retrieval_generator_and_judge_have_a_fingerprint_each(
    settings: Settings, app_with: Callable[..., App]
) -> None:
    def fingerprints(**changes: Any) -> tuple[str, str, str]:
        plan = app_with(Models("algo")).runs.plan_run(**changes)
        return plan.fingerprint, plan.generator_fingerprint, plan.judge_fingerprint

    def changed(**changes: Any) -> list[bool]:
        return [one != other for one, other in zip(fingerprints(), fingerprints(**changes), strict=True)]

    assert all(fingerprints())
    assert fingerprints(generation_enabled=False) == (fingerprints()[0], "", "")
    assert fingerprints(judge_metrics="")[2] == ""
    assert changed(openai_model_name="otro") == [False, True, False]
    assert changed(llm_temperature=0.5) == [False, True, False]
    assert changed(judge_metrics="faithfulness") == [False, False, True]
    assert changed(ollama_model_name="otro") == [False, False, True]
    assert changed(kb_top_k=2) == [True, False, False]
