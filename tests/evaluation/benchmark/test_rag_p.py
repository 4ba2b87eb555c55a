"""Runs as RAG_P makes them, by settings alone: pool of the reranker, context, blind corpus, fields of the result."""

from __future__ import annotations

import csv
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.evaluation.benchmark.preparation import run_settings
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.retrieval.systems import SYSTEMS
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.settings.model import Settings
from tests.fakes import FakeEmbedder, FakeLanguageModel, fake_app
from tests.llm.http_stub import Request, Response
from tests.llm.openai_stub import MODEL as LLM
from tests.llm.openai_stub import OpenAiStub
from tests.retrieval.stages.nim_stub import MODEL, NimStub, nim_stub

OF_THE_CONTEXT = {"generation_recall", "generation_hit"}


@pytest.fixture
def nim() -> Iterator[NimStub]:
    with nim_stub() as server:
        yield server


class Nim(OpenAiStub):
    """A NIM that reports how many tokens its model reads."""

    tokens = 8_192

    def answer(self, request: Request) -> Response:
        if request.method == "GET":
            return Response.json({"object": "list", "data": [{"id": LLM, "max_model_len": self.tokens}]})
        return super().answer(request)


@pytest.fixture
def generator() -> Iterator[Nim]:
    with Nim() as server:
        yield server


def app_of(settings: Settings, **changes: Any) -> App:
    """An App whose answers are the demo's, with a fake embedder."""
    return fake_app(settings.with_changes(**changes), lambda _: FakeEmbedder(), DemoModel)


def reranked(nim: NimStub, **changes: Any) -> dict[str, Any]:
    own = {"reranker_enabled": True, "reranker_base_url": nim.base_url, "reranker_model_name": MODEL}
    return {"retrieval_strategy": "LEXICAL", "nim_max_retries": 0, **own, **changes}


def written(app: App, result: RunResult) -> dict[str, Any]:
    path = app.settings.results_dir / result.run_id / f"{result.run_id}.json"
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def payloads(app: App, result: RunResult) -> dict[str, dict[str, Any]]:
    lines = (app.settings.results_dir / result.run_id / "records.jsonl").read_text("utf-8").splitlines()
    records = [json.loads(line) for line in lines]
    return {record["query_id"]: record["payload"] for record in records if record["phase"] == "retrieve"}


def texts_of(app: App, ids: list[str]) -> list[str]:
    found = app.datasets.load("valle_multihop").document
    return [f"{document.title}\n{document.text}" for doc_id in ids if (document := found(doc_id)) is not None]


# --- the pool of the reranker


def test_a_cross_encoders_pool_is_pre_fusion_k_and_a_model_rates_15(settings: Settings, nim: NimStub) -> None:
    on = settings.with_changes(**reranked(nim))
    assert (on.reranker_candidates, on.reranker_pool) == (0, 150)
    assert on.with_changes(retrieval_pre_fusion_k=40).reranker_pool == 40
    assert on.with_changes(reranker_base_url="").reranker_pool == 15
    assert on.with_changes(reranker_candidates=7).reranker_pool == 7


def test_a_run_sends_all_candidates_in_one_request_and_records_exactly_these(settings: Settings, nim: NimStub) -> None:
    app = app_of(settings)
    result = app.runs.run_now(**reranked(nim, retrieval_strategy="SIMPLE_VECTOR", eval_max_queries=4))
    assert len(nim.requests) == 4
    in_file = {row["query_id"]: row["pre_rerank_candidate_ids"] for row in written(app, result)["per_query"]}
    asked = {query.text: query.query_id for query in app.datasets.load("valle_multihop").queries}
    recorded = payloads(app, result)
    for request in nim.requests:
        query_id = asked[request["query"]["text"]]
        sent = [item["text"] for item in request["passages"]]
        assert len(sent) == 80, "all documents of a data set with fewer than RETRIEVAL_PRE_FUSION_K"
        assert texts_of(app, recorded[query_id]["pre_rerank_candidate_ids"]) == sent
        assert recorded[query_id]["pre_rerank_candidate_ids"] == in_file[query_id]


def test_no_more_is_recorded_than_was_sent(settings: Settings, nim: NimStub) -> None:
    result = app_of(settings).runs.run_now(**reranked(nim, eval_max_queries=3, reranker_candidates=6))
    assert {len(row.pre_rerank_candidate_ids) for row in result.per_query} == {6}
    assert {len(request["passages"]) for request in nim.requests} == {6}


def test_the_reranker_rescues_documents_from_below_retrieval_k(settings: Settings, nim: NimStub) -> None:
    """The stub prefers passages with many words of the question. With a pool of RETRIEVAL_K nothing can be rescued."""
    app = app_of(settings)
    by_vectors = reranked(nim, retrieval_strategy="SIMPLE_VECTOR", retrieval_k=3)
    result = app.runs.run_now(**by_vectors)
    rescued = [
        row
        for row in result.per_query
        if not set(row.gold) & set(row.retrieved) and set(row.gold) & set(row.generation_doc_ids or ())
    ]
    assert result.reranker_rescue_count == len(rescued) > 0
    assert all(set(row.gold) & set(row.pre_rerank_candidate_ids[3:]) for row in rescued)
    assert written(app, result)["reranker_rescue_count"] == len(rescued)
    shallow = app.runs.run_now(**{**by_vectors, "reranker_candidates": 3, "reranker_top_n": 3})
    assert shallow.reranker_rescue_count == 0


def test_a_failed_reranking_names_its_query_in_a_warning(
    settings: Settings, nim: NimStub, caplog: pytest.LogCaptureFixture
) -> None:
    app = app_of(settings)
    nim.failures = [(500, b"boom")]
    with caplog.at_level(logging.WARNING):
        result = app.runs.run_now(**reranked(nim, eval_max_queries=3))
    [failed] = [row.query_id for row in result.per_query if not row.reranked]
    [told] = [record.getMessage() for record in caplog.records if "reranked" in record.getMessage()]
    assert f"query {failed!r} was not reranked" in told
    assert nim.base_url in told
    assert result.rerank_failures == 1


# --- fields of the result


@pytest.mark.parametrize("generation", [False, True])
def test_without_a_reranker_the_fields_of_a_reranked_context_are_nowhere(settings: Settings, generation: bool) -> None:
    app = app_of(settings)
    result = app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=3, generation_enabled=generation)
    text = json.dumps({**written(app, result), "config": {}})
    files = {path.name: path.read_text("utf-8") for path in app.archive.files(result.run_id)}
    tables = [content for name, content in files.items() if name.endswith(".csv")]
    assert len(tables) == 2
    for name in (*OF_THE_CONTEXT, "reranker_rescue_count", "pre_rerank_candidate_ids"):
        assert name not in text
        assert not any(name in table for table in tables)
    assert not OF_THE_CONTEXT & result.metrics.keys()


def test_with_a_reranker_they_are_in_the_result_and_in_both_tables(settings: Settings, nim: NimStub) -> None:
    app = app_of(settings)
    result = app.runs.run_now(**reranked(nim, eval_max_queries=3))
    assert result.metrics.keys() >= OF_THE_CONTEXT
    folder = app.settings.results_dir / result.run_id
    [summary] = csv.DictReader((folder / f"{result.run_id}_summary.csv").open(encoding="utf-8-sig"))
    assert summary.keys() >= {*OF_THE_CONTEXT, "reranker_rescue_count"}
    detail = next(csv.DictReader((folder / f"{result.run_id}_detail.csv").open(encoding="utf-8-sig")))
    assert detail.keys() >= OF_THE_CONTEXT


def test_the_result_has_the_configuration_without_its_secrets(settings: Settings) -> None:
    app = app_of(settings, nvidia_api_key="nvapi-of-the-test")
    result = app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=2, retrieval_k=7)
    found = written(app, result)
    assert (found["config"]["retrieval_k"], found["config"]["retrieval_strategy"]) == (7, "LEXICAL")
    assert found["config"]["nvidia_api_key"] == "***"
    assert "nvapi-of-the-test" not in json.dumps(found)
    for row, read in zip(found["per_query"], result.per_query, strict=True):
        assert "metrics" in row
        assert row["retrieved_doc_ids"] == row["retrieved"] == list(read.retrieved) != []
    assert app.archive.run(result.run_id) == result


# --- the context of an answer


def test_the_context_of_the_chat_stays_the_default(settings: Settings) -> None:
    assert run_settings(settings, lambda _: 1_000_000) == settings


@pytest.mark.parametrize(
    ("changes", "readable", "expected"),
    [
        ({}, 22_000, (20, 22_000)),
        ({}, None, (20, 10_000_000)),
        ({"generation_max_context_chars": 9_000}, 22_000, (20, 9_000)),
        ({"retrieval_k": 60}, 22_000, (60, 22_000)),
        ({"reranker_enabled": True, "reranker_top_n": 4}, 22_000, (4, 22_000)),
        ({}, 3, (20, 500)),
    ],
    ids=["as the model reads", "not reported", "given", "more", "reranked", "nearly nothing"],
)
def test_the_context_of_rag_p_is_all_that_was_retrieved_or_kept(
    settings: Settings, changes: dict[str, Any], readable: int | None, expected: tuple[int, int]
) -> None:
    own = {"generation_enabled": True, "generation_context": "retrieved", "kb_min_score": 0.5}
    made = run_settings(settings.with_changes(**own, **changes), lambda _: readable)
    assert (made.kb_top_k, made.kb_max_context_chars) == expected
    assert (made.kb_large_context_chars, made.kb_min_score) == (expected[1], 0.0)


@pytest.mark.parametrize(("tokens", "whole"), [(8_192, True), (1_200, False)], ids=["large", "small"])
def test_a_run_gives_the_generator_retrieval_k_documents_as_far_as_its_model_reads(
    settings: Settings, generator: Nim, tokens: int, whole: bool
) -> None:
    """Twenty passages of the bundled data set have more characters than the chat's 4,000."""
    generator.tokens = tokens
    own = {"provider": "nim", "llm_base_url": f"{generator.url}/v1", "llm_model_name": LLM, "nim_max_retries": 0}
    app = fake_app(settings.with_changes(**own), lambda _: FakeEmbedder())
    changes: dict[str, Any] = {"retrieval_strategy": "SIMPLE_VECTOR", "generation_enabled": True, "judge_metrics": ""}
    changes |= {"eval_max_queries": 3}
    result = app.runs.run_now(**changes, generation_context="retrieved")
    readable = (tokens - app.settings.llm_max_tokens) * 3
    assert result.config["kb_max_context_chars"] == readable
    for row in result.per_query:
        assert (row.generation_doc_ids == row.retrieved) == whole
    shown = [request.json["messages"][1]["content"] for request in generator.requests if request.method == "POST"]
    assert len(shown) == 3
    assert (min(map(len, shown)) > 4_000) == whole
    as_chat = app.runs.run_now(**changes)
    assert {len(row.generation_doc_ids or ()) for row in as_chat.per_query} <= set(range(1, 6))


# --- the corpus


def test_a_blind_slice_loses_gold_documents_which_count_as_not_found(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    app = app_of(settings)
    changes = {"retrieval_strategy": "LEXICAL", "eval_max_queries": 10, "eval_max_corpus": 40}
    by_need = app.runs.run_now(**changes)
    assert (by_need.corpus_slice, by_need.gold_missing) == ("gold_first", 0)
    with caplog.at_level(logging.WARNING):
        blind = app.runs.run_now(**changes, eval_corpus_slice="blind")
    gold = {doc_id for row in blind.per_query for doc_id in row.gold}
    present = {doc_id for row in blind.per_query for doc_id in (*row.retrieved, *row.gold)}
    assert (blind.corpus_slice, blind.documents) == ("blind", 40)
    assert 0 < blind.gold_missing < len(gold)
    assert f"left {blind.gold_missing} of {len(gold)} gold documents out" in caplog.text
    # Each query is scored, by all that its data set calls relevant.
    assert blind.scored["recall@20"] == (10, 10)
    assert [set(row.gold) for row in blind.per_query] == [set(row.gold) for row in by_need.per_query]
    assert blind.metrics["recall@20"] < by_need.metrics["recall@20"]
    assert len(present) <= 40 + blind.gold_missing
    assert blind.dataset_sha256 != by_need.dataset_sha256
    manifest = RunFolder(settings.results_dir, blind.run_id).manifest()
    assert (manifest.corpus_slice, manifest.gold_missing) == ("blind", blind.gold_missing)
    in_file = written(app, blind)
    assert (in_file["corpus_slice"], in_file["gold_missing"]) == ("blind", blind.gold_missing)
    assert "corpus_slice" not in written(app, app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=2))


# --- both strategies of RAG_P

AS_RAG_P = SYSTEMS["rag_p_contextual_hybrid"].changes


@pytest.mark.parametrize("strategy", ["SIMPLE_VECTOR", "CONTEXTUAL_RRF"])
def test_both_strategies_run_as_rag_p_runs_them(settings: Settings, nim: NimStub, strategy: str) -> None:
    fake = FakeLanguageModel(lambda _: "Un lugar del valle.")
    app = fake_app(settings, lambda _: FakeEmbedder(), DemoModel, lambda *_: fake.model)
    changes = {**AS_RAG_P, "retrieval_strategy": strategy, "eval_max_queries": 4, "generation_enabled": True}
    plain = app.runs.run_now(**changes)
    assert all(row.generation_doc_ids == row.retrieved and len(row.retrieved) == 20 for row in plain.per_query)
    assert any(settings.chroma_dir.iterdir()), "the vectors are in ChromaDB"
    result = app.runs.run_now(**reranked(nim, **changes))
    assert [row.retrieved for row in result.per_query] == [row.retrieved for row in plain.per_query]
    assert {len(row.generation_doc_ids or ()) for row in result.per_query} == {5}
    assert result.reranker_rescue_count is not None
