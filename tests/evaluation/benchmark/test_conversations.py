"""A data set of conversations is a data set: a run searches each turn as the chat would."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.chat.followup import find
from chatbot_mvp.datasets import load_dataset
from chatbot_mvp.datasets.history import history_json, read_history
from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.errors import DatasetError
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.runs.payloads import RETRIEVE, retrieved_of
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import PastTurn, last
from tests.conversation_set import QRELS, QUERIES, ROSES, write_garden
from tests.fakes import FakeEmbedder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_garden(tmp_path / "garden")


def pipeline_over(folder: Path, settings: Settings) -> Pipeline:
    chunks = [passage_chunk(document) for document in load_dataset(folder).documents]
    return last(growing_pipeline(chunks, "en", settings, FakeEmbedder))


def first(pipeline: Pipeline, query_id: str) -> str:
    [query] = [one for one in QUERIES if one["_id"] == query_id]
    found = find(pipeline, query["text"], read_history(query.get("history")))
    return found.trace.hits[0].chunk.chunk_id


def test_a_turn_is_ranked_by_what_was_said_and_a_change_of_subject_is_not(folder: Path, settings: Settings) -> None:
    pipeline = pipeline_over(folder, settings.with_changes(retrieval_strategy="LEXICAL"))
    [alone] = pipeline.retrieve(["How often do I water them?"])
    assert alone.hits[0].chunk.chunk_id != "rose water"
    assert {name: first(pipeline, name) for name in QRELS} == QRELS


def test_a_question_without_a_history_is_what_it_was(folder: Path, settings: Settings) -> None:
    [trace] = pipeline_over(folder, settings).retrieve(["When does the nursery close?"])
    assert "conversation" not in [record.stage for record in trace.records]
    assert trace.earlier == ()


def test_a_run_finds_for_each_turn_what_the_chat_finds(app: App, folder: Path) -> None:
    changes = {"retrieval_strategy": "LEXICAL", "generation_enabled": False}
    result = app.runs.run_now(mteb_dataset_name=str(folder), **changes)
    records, _ = RunFolder(app.settings.results_dir, result.run_id).records(RETRIEVE)
    found = {query_id: retrieved_of(record) for query_id, record in records.items()}
    pipeline = pipeline_over(folder, app.settings.with_changes(**changes))
    assert {name: one.doc_ids[0] for name, one in found.items()} == {name: first(pipeline, name) for name in QRELS}
    assert found["follows"].search_how in ("previous", "context")
    assert (found["alone"].search_query, found["alone"].search_how) == ("", "")


def measured_with(app: App, folder: Path, strategy: str) -> str:
    changes = {"retrieval_strategy": strategy, "generation_enabled": False}
    return app.runs.run_now(mteb_dataset_name=str(folder), **changes).run_id


def test_runs_over_conversations_are_compared_turn_by_turn_and_each_row_keeps_what_was_said_before(
    app: App, folder: Path
) -> None:
    runs = [measured_with(app, folder, strategy) for strategy in ("LEXICAL", "SIMPLE_VECTOR")]
    comparison = app.archive.compare(runs)
    assert {metric.pairs for metric in comparison.runs[0].metrics} == {3}
    rows = {row.query_id: row for row in app.archive.compared(runs[0]).result.per_query}
    assert rows["follows"].history == (PastTurn(ROSES[0]["text"], ROSES[1]["text"]),)
    assert rows["alone"].history == ()


def test_histories_are_read_in_the_forms_that_files_have() -> None:
    turn = PastTurn("When?", "In May.\nOr June.")
    messages = [
        {"role": "user", "content": "When?"},
        {"role": "assistant", "content": "In May."},
        {"role": "agent", "text": "Or June."},
    ]
    assert read_history(messages) == read_history(json.dumps(messages)) == (turn,)
    assert read_history(history_json([turn])) == (turn,)
    assert read_history(None) == read_history("") == read_history([]) == ()


@pytest.mark.parametrize(
    ("history", "reason"),
    [
        ("no JSON", "history is no JSON"),
        ({"role": "user"}, "history is dict"),
        (["hello"], "message 1 of the history is no object"),
        ([{"role": "assistant", "text": "x"}], "nothing was asked before"),
        ([{"role": "system", "text": "x"}], "role 'system'"),
    ],
)
def test_a_history_that_is_none_is_refused_with_its_place(folder: Path, history: object, reason: str) -> None:
    line = json.dumps({"_id": "q", "text": "x", "history": history})
    (folder / "queries.jsonl").write_text(f"{line}\n", "utf-8")
    with pytest.raises(DatasetError, match=reason) as raised:
        load_dataset(folder)
    assert "line 1" in str(raised.value)
