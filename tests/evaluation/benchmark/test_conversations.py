"""A data set of conversations is a data set: a run searches each turn as the chat would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

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
from tests.fakes import FakeEmbedder

CORPUS = {
    "roses": "Prune roses in February. Cut each stem above a bud that points outwards.",
    "rose water": "Water roses in the morning, twice a week, at the roots.",
    "apples": "Prune apple trees in January, when no leaf is left, and open the crown.",
    "apple water": "Water apples in a dry summer.",
    "tomatoes": "Water tomatoes every evening. Take out the side shoots.",
    "prices": "The nursery sells roses for nine euros and apple trees for thirty euros.",
    "hours": "The nursery opens at nine and closes at six.",
}
ROSES = [
    {"role": "user", "text": "When do I prune roses?"},
    {"role": "assistant", "text": "Prune roses in February, above a bud that points outwards."},
]
QUERIES: list[dict[str, Any]] = [
    {"_id": "follows", "text": "How often do I water them?", "history": ROSES},
    {"_id": "changes", "text": "When does the nursery close?", "history": ROSES},
    {"_id": "alone", "text": "When does the nursery close?"},
]
QRELS = {"follows": "rose water", "changes": "hours", "alone": "hours"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "garden"
    (made / "qrels").mkdir(parents=True)
    rows = [{"_id": name, "title": "", "text": text} for name, text in CORPUS.items()]
    for name, lines in (("corpus", rows), ("queries", QUERIES)):
        (made / f"{name}.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), "utf-8")
    judged = "".join(f"{query}\t{document}\t1\n" for query, document in QRELS.items())
    (made / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}", "utf-8")
    return made


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
