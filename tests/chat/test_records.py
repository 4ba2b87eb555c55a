"""What is kept of an answer comes back as it was, and holds what the debug panel shows."""

from __future__ import annotations

import json

import pytest

from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.quality import average_relevance
from chatbot_mvp.chat.records import AnswerRecord, record_of
from chatbot_mvp.llm.base import ChatModel
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.stages.kb_score import score_parts
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace
from chatbot_mvp.settings.model import Settings
from tests.chat.conftest import INSIDE, OUTSIDE, ChatService
from tests.fakes import FailingChatModel, FakeChatModel, FakeEmbedder, chunks_of, fake_app


@pytest.mark.parametrize("question", [INSIDE, OUTSIDE])
@pytest.mark.parametrize("model", [DemoModel(), FakeChatModel("23 días [1]. Y un barco [1]."), FailingChatModel()])
def test_a_record_survives_the_file(pipeline: Pipeline, settings: Settings, model: ChatModel, question: str) -> None:
    answer = ChatService(model, settings, DemoModel()).ask(pipeline, question, UserContext("general"))
    record = record_of(answer)
    assert AnswerRecord.from_json(json.loads(json.dumps(record.as_json()))) == record
    assert (record.text, record.sources, record.statements) == (answer.text, answer.sources, answer.statements)
    assert (record.failure is not None) is answer.fell_back


def test_debug_values_have_the_names_that_people_look_for(pipeline: Pipeline, settings: Settings) -> None:
    answer = ChatService(FakeChatModel("23 días [1]."), settings, DemoModel()).ask(pipeline, INSIDE)
    debug = record_of(answer).debug
    assert debug.keys() >= {
        "query_expanded",
        "expansion_notes",
        "candidates",
        "chunks_final",
        "chunks_added_by_stitching",
        "stitching_added_count",
        "context_chars_used",
        "context_chars_budget",
        "evidence",
        "prompt",
        "timings",
    }
    trace, used = answer.trace, debug["context_chars_used"]
    assert 0 < used == trace.context_chars_used < debug["context_chars_budget"] == settings.kb_max_context_chars
    assert debug["stitching_added_count"] == len(debug["chunks_added_by_stitching"])
    signals = debug["chunks_final"][0]["signals"]
    assert signals.keys() >= {"bm25_norm", "overlap_norm", "exact_bonus", "heading_bonus", "fuzzy_bonus"}
    assert [message["role"] for message in debug["prompt"]] == ["system", "user"]
    assert {timing["stage"] for timing in debug["timings"]} >= {"lexical", "selection", "evidence"}


@pytest.mark.parametrize("vectors", [True, False])
def test_the_parts_of_a_chunks_score_sum_to_it(settings: Settings, embedder: FakeEmbedder, vectors: bool) -> None:
    strategy = "HYBRID" if vectors else "LEXICAL"
    app = fake_app(settings.with_changes(retrieval_strategy=strategy), lambda _: embedder, DemoModel)
    debug = record_of(app.answering.ask(app.kbs.add_sample().kb_id, INSIDE)).debug
    assert len(debug["candidates"]) > 3
    for chunk in debug["candidates"]:
        assert sum(chunk["parts"].values()) == pytest.approx(chunk["score"], abs=1e-3)
        assert chunk["parts"].keys() <= chunk["signals"].keys()
        assert ("vector_norm" in chunk["parts"]) is vectors


def test_a_hit_that_was_scored_elsewhere_has_no_parts() -> None:
    assert score_parts(0.7, {"bm25": 3.0}, 0.0) == {}
    assert score_parts(0.0, {"bm25_norm": 0.0}, 0.0) == {"bm25_norm": 0.0}


def test_the_average_relevance_is_the_mean_cosine_of_the_passages() -> None:
    hits = tuple(
        Hit(chunk, 1.0, {"cosine": cosine}) for chunk, cosine in zip(chunks_of("a", "b"), (0.2, 0.7), strict=True)
    )
    assert average_relevance(RetrievalTrace("¿?", chunks_final=hits)) == 0.45
    assert average_relevance(RetrievalTrace("¿?", chunks_final=(Hit(hits[0].chunk, 1.0),))) is None
