"""Reranking by a real server on loopback and by a language model; what stays when either fails."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import SecretStr

from chatbot_mvp.app import App
from chatbot_mvp.errors import InvalidSetting, NeedsLanguageModel, RunStopped
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.remote.calls import Calls
from chatbot_mvp.remote.failures import Endpoint
from chatbot_mvp.remote.http import JsonEndpoint
from chatbot_mvp.remote.limiter import Limiter
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex, growing_index
from chatbot_mvp.retrieval.pipeline import growing_pipeline, retrieval_config
from chatbot_mvp.retrieval.reranker import RerankFailed
from chatbot_mvp.retrieval.stages.base import RetrievalConfig
from chatbot_mvp.retrieval.stages.rerank import Rerank
from chatbot_mvp.retrieval.stages.rerankers import LlmReranker, NimReranker, parse_score
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import last
from tests.fakes import FakeEmbedder, FakeLanguageModel, chunks_of, fake_app
from tests.raising import raises
from tests.retrieval.stages.nim_stub import API_KEY, MODEL, NimStub, nim_stub

TEXTS = ["pan y vino", "el faro rojo", "el faro rojo del puerto", "el mar"]
QUERY = "faro rojo puerto"
CHUNKS = chunks_of(*TEXTS)
HITS = tuple(Hit(chunk, score) for chunk, score in zip(CHUNKS, (0.8, 0.4, 0.2, 0.1), strict=True))


@pytest.fixture
def nim() -> Iterator[NimStub]:
    with nim_stub() as server:
        yield server


@pytest.fixture
def index(tmp_path: Path) -> CorpusIndex:
    return last(growing_index(CHUNKS, "es", tmp_path, None))


@pytest.fixture
def config(settings: Settings) -> RetrievalConfig:
    return retrieval_config(settings)


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.chunk.chunk_id for hit in hits]


def reranker_at(nim: NimStub | None, **changes: object) -> NimReranker:
    options = {"base_url": nim.base_url if nim else "", "model": MODEL, "timeout": 5.0, "api_key": "", **changes}
    endpoint = Endpoint("nim", str(options["model"]), str(options["base_url"]), SecretStr(str(options["api_key"])))
    timeout = float(str(options["timeout"]))
    return NimReranker(JsonEndpoint(Calls(endpoint, Limiter(4), 0, timeout), timeout))


def test_candidates_are_ordered_by_logit_and_the_first_are_kept(
    nim: NimStub, index: CorpusIndex, config: RetrievalConfig
) -> None:
    """Words of the question per text: 0, 2, 3, 0; logits -3.5, -1.5, -0.5, -3.5; the tie goes by id."""
    stage = Rerank(index, replace(config, reranker_top_n=3), reranker_at(nim))
    trace = stage.run(RetrievalTrace(QUERY, hits=HITS))
    assert ids(trace.hits) == ["c002", "c001", "c000"]
    assert [hit.score for hit in trace.hits] == [-0.5, -1.5, -3.5]
    assert trace.hits[0].signals == {"before_rerank": 0.2, "rerank": -0.5, "part_rerank": -0.5}
    assert trace.pre_rerank_candidate_ids == ("c000", "c001", "c002", "c003")
    assert trace.retrieved == HITS
    assert trace.records[-1].notes == {"reranked": True, "candidates": 4, "not_scored": 0}
    assert stage.failures == 0


def test_no_more_candidates_than_reranker_candidates_are_sent(
    nim: NimStub, index: CorpusIndex, config: RetrievalConfig
) -> None:
    stage = Rerank(index, replace(config, reranker_candidates=2, reranker_top_n=1), reranker_at(nim))
    assert ids(stage.run(RetrievalTrace(QUERY, hits=HITS)).hits) == ["c001"]
    assert [item["text"] for item in nim.requests[0]["passages"]] == TEXTS[:2]


def test_at_least_as_many_candidates_are_sent_as_are_kept(
    nim: NimStub, index: CorpusIndex, config: RetrievalConfig
) -> None:
    stage = Rerank(index, replace(config, reranker_candidates=1, reranker_top_n=3), reranker_at(nim))
    assert len(stage.run(RetrievalTrace(QUERY, hits=HITS)).hits) == 3


def test_a_model_rates_15_candidates_of_a_question_by_default(settings: Settings) -> None:
    chunks = chunks_of(*(f"el faro del puerto {row}" for row in range(40)))
    fake = FakeLanguageModel(lambda _: "5")
    changed = settings.with_changes(reranker_enabled=True, retrieval_strategy="LEXICAL")
    last(growing_pipeline(chunks, "es", changed, FakeEmbedder, language_model=fake.model)).retrieve(["faro puerto"])
    assert len(fake.prompts) == 15


def test_the_request_is_what_nim_documents(nim: NimStub) -> None:
    nim.api_key = API_KEY
    reranker_at(nim, api_key=API_KEY).rerank(QUERY, HITS[:1])
    assert nim.requests == [{"model": MODEL, "query": {"text": QUERY}, "passages": [{"text": TEXTS[0]}]}]


def test_without_a_key_none_is_sent(nim: NimStub) -> None:
    reranker_at(nim).rerank(QUERY, HITS)
    assert "Authorization" not in nim.headers[0]


@pytest.mark.parametrize("suffix", ["", "/", "/v1", "/v1/"])
def test_the_base_url_is_understood_with_and_without_v1(nim: NimStub, suffix: str) -> None:
    base_url = nim.base_url.removesuffix("/v1") + suffix
    assert len(reranker_at(nim, base_url=base_url).rerank(QUERY, HITS)) == 4


def test_more_passages_than_nim_takes_go_in_several_requests(nim: NimStub) -> None:
    hits = [Hit(chunk, 1.0) for chunk in chunks_of(*[f"texto {n} {'faro' * (n == 1_200)}" for n in range(1_203)])]
    scores = reranker_at(nim).rerank("faro", hits)
    assert [len(request["passages"]) for request in nim.requests] == [500, 500, 203]
    assert [row for row, score in enumerate(scores) if score == -2.5] == [1_200]


def test_an_empty_passage_is_not_sent_and_goes_behind_the_others(
    nim: NimStub, index: CorpusIndex, config: RetrievalConfig
) -> None:
    hits = tuple(Hit(chunk, 1.0 - n / 10) for n, chunk in enumerate(chunks_of("", " \n", "el mar", "el faro")))
    trace = Rerank(index, config, reranker_at(nim)).run(RetrievalTrace(QUERY, hits=hits))
    assert ids(trace.hits) == ["c003", "c002", "c000", "c001"]
    assert trace.records[-1].notes["not_scored"] == 2


def rankings(*pairs: tuple[object, object]) -> bytes:
    return json.dumps({"rankings": [{"index": index, "logit": logit} for index, logit in pairs]}).encode()


FAILURES = {
    "an error of the server": (500, b"boom"),
    "a refusal": (422, b'{"detail": "passage must not be empty"}'),
    "no JSON": (200, b"<html>"),
    "cut JSON": (200, b'{"rankings": [{"index": 0'),
    "not UTF-8": (200, b'{"rankings": "\xff"}'),
    "another form": (200, b'["rankings"]'),
    "no logit": (200, b'{"rankings": [{"index": 0}, {"index": 1}, {"index": 2}, {"index": 3}]}'),
    "a text for a logit": (200, rankings((0, "high"), (1, 1), (2, 1), (3, 1))),
    "null for a logit": (200, rankings((0, None), (1, 1), (2, 1), (3, 1))),
    "an infinite logit": (200, rankings((0, float("inf")), (1, 1), (2, 1), (3, 1))),
    "too few": (200, rankings((0, 1), (1, 2))),
    "an index out of range": (200, rankings((0, 1), (1, 2), (2, 3), (7, 4))),
    "an index twice": (200, rankings((0, 1), (1, 2), (2, 3), (3, 4), (3, 5))),
    "a list for an index": (200, rankings(([0], 1), (1, 2), (2, 3), (3, 4))),
    "a redirection": (307, b""),
}


@pytest.mark.parametrize("answer", FAILURES.values(), ids=FAILURES)
def test_after_a_failure_the_order_stays_and_the_failure_is_counted(
    nim: NimStub, index: CorpusIndex, config: RetrievalConfig, answer: tuple[int, bytes]
) -> None:
    nim.answer_with = answer
    stage = Rerank(index, replace(config, reranker_top_n=2), reranker_at(nim))
    trace = stage.run(RetrievalTrace(QUERY, hits=HITS))
    assert trace.hits == HITS[:2]
    assert trace.pre_rerank_candidate_ids == ("c000", "c001", "c002", "c003")
    assert trace.records[-1].notes["reranked"] is False
    assert nim.base_url in trace.records[-1].notes["error"]
    assert stage.failures == 1
    nim.answer_with = None
    assert ids(stage.run(RetrievalTrace(QUERY, hits=HITS)).hits) == ["c002", "c001"]
    assert stage.failures == 1


def test_a_server_that_takes_too_long_is_a_failure(nim: NimStub) -> None:
    nim.delay = 1.0
    with pytest.raises(RerankFailed, match="no answer within"):
        reranker_at(nim, timeout=0.1).rerank(QUERY, HITS)


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:1/v1", "nonsense", "http://[", "ftp://127.0.0.1/v1"])
def test_an_address_where_nothing_answers_is_a_failure(base_url: str) -> None:
    with pytest.raises(RerankFailed):
        reranker_at(None, base_url=base_url, timeout=2.0).rerank(QUERY, HITS)


@pytest.mark.parametrize(("change", "status"), [({"model": "other"}, "404"), ({"api_key": "wrong"}, "401")])
def test_a_wrong_model_or_key_is_a_failure_that_repeats_the_servers_answer_but_never_the_key(
    nim: NimStub, change: dict[str, str], status: str
) -> None:
    nim.api_key = (change.get("api_key") and API_KEY) or ""
    with pytest.raises(RerankFailed) as raised:
        reranker_at(nim, **change).rerank(QUERY, HITS)
    assert status in str(raised.value)
    assert "wrong" not in str(raised.value)


@pytest.mark.parametrize(("query", "hits"), [(QUERY, ()), ("", HITS), (" \n", HITS)])
def test_without_question_or_candidates_nothing_is_asked_and_nothing_failed(
    nim: NimStub, index: CorpusIndex, config: RetrievalConfig, query: str, hits: tuple[Hit, ...]
) -> None:
    stage = Rerank(index, config, reranker_at(nim))
    trace = stage.run(RetrievalTrace(query, hits=hits))
    assert (trace.hits, stage.failures, nim.headers) == (hits, 0, [])
    assert trace.records[-1].notes == {"reranked": False, "candidates": len(hits)}


def by_text(replies: dict[str, str]) -> LanguageModel:
    """Replies by the text that a prompt holds; the longest one that fits."""
    order = sorted(replies, key=len, reverse=True)
    return FakeLanguageModel(lambda prompt: replies[next(text for text in order if text in prompt)]).model


def test_a_language_models_score_counts_seven_tenths(index: CorpusIndex, config: RetrievalConfig) -> None:
    """Originals relative to the best: 1, 0.5, 0.25, 0.125. Given 2, 9, 10 and nothing that can be read.

    0.3 * 1 + 0.7 * 0.2 = 0.44; 0.15 + 0.63 = 0.78; 0.075 + 0.7 = 0.775; 0.125 as it was.
    """
    model = by_text({TEXTS[0]: "2", TEXTS[1]: "9/10", TEXTS[2]: "Puntuación: 10", TEXTS[3]: "No lo sé."})
    trace = Rerank(index, config, LlmReranker(model, "es")).run(RetrievalTrace(QUERY, hits=HITS))
    assert ids(trace.hits) == ["c001", "c002", "c000", "c003"]
    assert [hit.score for hit in trace.hits] == pytest.approx([0.78, 0.775, 0.44, 0.125])
    assert trace.records[-1].notes == {"reranked": True, "candidates": 4, "not_scored": 1}
    assert "rerank" not in trace.hits[3].signals


def test_equal_final_scores_are_ordered_by_id(index: CorpusIndex, config: RetrievalConfig) -> None:
    hits = tuple(Hit(chunk, 1.0) for chunk in reversed(CHUNKS))
    reranker = LlmReranker(FakeLanguageModel(lambda _: "5").model, "es")
    trace = Rerank(index, config, reranker).run(RetrievalTrace(QUERY, hits=hits))
    assert ids(trace.hits) == ["c000", "c001", "c002", "c003"]


@pytest.mark.parametrize(("language", "word"), [("es", "Pregunta"), ("en", "Question"), ("fr", "Question")])
def test_the_prompt_is_in_the_corpus_language_and_holds_question_and_text(language: str, word: str) -> None:
    fake = FakeLanguageModel(lambda _: "5")
    LlmReranker(fake.model, language).rerank("¿{q}?", [Hit(chunks_of("un {texto}")[0], 1.0)])
    assert all(part in fake.prompts[0] for part in (word, "¿{q}?", "un {texto}"))


def failing_for(text: str, error: Exception) -> LanguageModel:
    def reply(prompt: str) -> str:
        if text in prompt:
            raise error
        return "6"

    return FakeLanguageModel(reply).model


def test_one_failed_call_leaves_one_hit_without_a_score(index: CorpusIndex, config: RetrievalConfig) -> None:
    reranker = LlmReranker(failing_for(TEXTS[3], TimeoutError("late")), "es")
    stage = Rerank(index, config, reranker)
    assert stage.run(RetrievalTrace(QUERY, hits=HITS)).records[-1].notes["not_scored"] == 1
    assert stage.failures == 0


@pytest.mark.parametrize("reply", ["", "no sé", "11"])
def test_a_language_model_that_scores_nothing_is_a_failure(
    index: CorpusIndex, config: RetrievalConfig, reply: str
) -> None:
    stage = Rerank(index, config, LlmReranker(FakeLanguageModel(lambda _: reply).model, "es"))
    trace = stage.run(RetrievalTrace(QUERY, hits=HITS))
    assert (trace.hits, stage.failures) == (HITS, 1)
    assert trace.records[-1].notes["reranked"] is False


def test_a_stop_is_no_failure() -> None:
    with pytest.raises(RunStopped):
        LlmReranker(failing_for(TEXTS[0], RunStopped(run_id="x")), "es").rerank(QUERY, HITS)


SCORES = {
    "7": 7.0,
    " 8.5\n": 8.5,
    "7,5": 7.5,
    "**9**": 9.0,
    "10": 10.0,
    "10.0": 10.0,
    "0": 0.0,
    "8/10": 8.0,
    "8 / 10": 8.0,
    "Diría que un 6 sobre 10.": 6.0,
    "I would say 3 out of 10": 3.0,
    "Score: 4": 4.0,
    "**Relevance:** 6": 6.0,
    "Puntuación: 7,5.": 7.5,
    "The relevance score is 2.": 2.0,
    "La nota es 9, porque el texto de 1998 lo dice.": 9.0,
    "Score: 8 because 3 facts match": 8.0,
    "Score: 8. In short: score 8": 8.0,
    "10.5": None,
    "11": None,
    "100": None,
    "-3": None,
    "Score: -3": None,
    "Score: 10.5": None,
    "15/10": None,
    "8/100": None,
    "7-8": None,
    "Score: 7-8": None,
    "1.2.3": None,
    "Score: 3 … score: 8": None,
    "It was built in 1998 and has 3 floors.": None,
    "no": None,
    "": None,
    "1e3": None,
    "nan": None,
    "seven": None,
}


@pytest.mark.parametrize(("reply", "score"), SCORES.items())
def test_a_score_is_read_only_where_a_reply_states_one_from_0_to_10(reply: str, score: float | None) -> None:
    assert parse_score(reply) == score


def with_nim(settings: Settings, nim: NimStub, **changes: object) -> Settings:
    return settings.with_changes(
        reranker_enabled=True,
        reranker_base_url=nim.base_url,
        reranker_model_name=MODEL,
        **{"nim_max_retries": 0, **changes},
    )


def test_the_pipeline_reranks_before_it_selects_and_sends_the_key_of_the_settings(
    settings: Settings, nim: NimStub
) -> None:
    nim.api_key = API_KEY
    changed = with_nim(settings, nim, retrieval_strategy="LEXICAL", reranker_top_n=1, nvidia_api_key=API_KEY)
    trace = last(growing_pipeline(CHUNKS, "es", changed, FakeEmbedder)).retrieve(["rojo faro puerto del el"])[0]
    assert [record.stage for record in trace.records] == ["lexical", "exact", "rerank", "selection", "evidence"]
    assert ids(trace.chunks_final) == ["c002"]
    assert set(trace.pre_rerank_candidate_ids) == {"c001", "c002"}


def test_a_run_scores_what_was_retrieved_and_records_what_was_kept_and_what_failed(
    settings: Settings, nim: NimStub
) -> None:
    def run(app: App) -> RunResult:
        return app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=5)

    plain = run(fake_app(settings, lambda _: FakeEmbedder(), DemoModel))
    app = fake_app(with_nim(settings, nim, reranker_top_n=3), lambda _: FakeEmbedder(), DemoModel)
    result = run(app)
    metrics = dict(result.metrics)
    of_context = {name: metrics.pop(name) for name in ("generation_recall", "generation_hit")}
    assert all(0 < value <= 1 for value in of_context.values())
    assert metrics == plain.metrics
    assert (result.rerank_failures, plain.rerank_failures) == (0, 0)
    assert result.fingerprint != plain.fingerprint
    path = app.settings.results_dir / str(result.run_id) / "records.jsonl"
    for line in path.read_text("utf-8").splitlines():
        payload = json.loads(line)["payload"]
        assert payload["reranked"] is True
        assert len(payload["generation_doc_ids"]) == 3
        assert set(payload["generation_doc_ids"]) <= set(payload["pre_rerank_candidate_ids"])
    nim.answer_with = (500, b"boom")
    failed = run(app)
    assert {name: failed.metrics[name] for name in plain.metrics} == plain.metrics
    assert failed.rerank_failures == 5


def test_an_exhausted_quota_stops_a_run_and_what_was_done_is_not_done_again(settings: Settings, nim: NimStub) -> None:
    app = fake_app(with_nim(settings, nim), lambda _: FakeEmbedder(), DemoModel)
    queries = 5
    nim.failures = [(429, b'{"error": {"code": "insufficient_quota", "message": "no credit left"}}')]
    with raises("run_out_of_quota", match=r"4 of 5 queries.*no credit left"):
        app.runs.run_now(retrieval_strategy="LEXICAL", eval_max_queries=queries)
    assert nim.failures == []  # asked once: no retry would help
    [unfinished] = app.archive.unfinished()
    assert (unfinished.recorded, unfinished.queries) == (4, queries)
    before = len(nim.requests)
    result = app.runs.resume_now(unfinished.run_id)
    assert (result.rerank_failures, len(nim.requests) - before) == (0, 1)


@pytest.mark.slow
def test_a_passing_failure_of_nim_is_tried_again_and_is_no_failure(settings: Settings, nim: NimStub) -> None:
    nim.failures = [(503, b"starting"), (429, b"slow down")]
    changed = with_nim(settings, nim, retrieval_strategy="LEXICAL", nim_max_retries=2)
    trace = last(growing_pipeline(CHUNKS, "es", changed, FakeEmbedder)).retrieve(["faro puerto"])[0]
    assert next(record.notes for record in trace.records if record.stage == "rerank")["reranked"] is True
    assert (len(nim.headers), len(nim.requests)) == (3, 1)


def test_without_nim_and_without_a_language_model_it_fails_before_anything_is_done(settings: Settings) -> None:
    app = fake_app(settings.with_changes(reranker_enabled=True), lambda _: FakeEmbedder(), DemoModel)
    with pytest.raises(NeedsLanguageModel, match="RERANKER_BASE_URL"):
        app.runs.run_now(retrieval_strategy="LEXICAL")
    assert not app.settings.results_dir.exists()


def test_without_nim_the_language_model_reranks(settings: Settings) -> None:
    changed = settings.with_changes(reranker_enabled=True, retrieval_strategy="LEXICAL")
    model = by_text({TEXTS[1]: "10", TEXTS[2]: "1"})
    pipeline = last(growing_pipeline(CHUNKS, "es", changed, FakeEmbedder, language_model=model))
    [trace] = pipeline.retrieve(["faro puerto"])
    assert ids(trace.hits) == ["c001", "c002"]


def test_an_illegal_number_of_kept_chunks_is_refused(settings: Settings) -> None:
    with pytest.raises(InvalidSetting, match="RERANKER_TOP_N"):
        settings.with_changes(reranker_top_n=0)
