"""A data set can be a knowledge base: chatted with, and measured with the queries of the data set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.datasets import load_dataset
from chatbot_mvp.settings.model import Settings
from tests.conftest import Command
from tests.raising import raises

NAME = "valle_multihop"


def test_every_query_expects_its_first_relevant_document_and_a_run_finds_what_the_data_sets_run_finds(
    app: App, settings: Settings
) -> None:
    record, questions = app.kb_evaluation.keep_dataset(NAME)
    dataset = load_dataset(settings.samples_dir / NAME)
    assert (len(record.files), len(questions.kept), record.kb_truncated) == (80, 40, False)
    texts = {document.doc_id: document.text.strip() for document in dataset.documents}
    firsts = [texts[next(iter(dataset.qrels[query.query_id]))] for query in dataset.queries]
    assert [question.paragraph for question in questions.kept] == firsts
    reference = f"kb:{record.kb_id}/{questions.set_id}"
    result = app.runs.run_now(mteb_dataset_name=reference, generation_enabled=False)
    assert result.scored["hit@1"] == (40, 40)
    assert result.metrics["hit@3"] is not None
    assert result.metrics["hit@3"] > 0.5
    query = dataset.queries[0]
    answer = app.answering.ask(record.kb_id, query.text, UserContext("strict", "es"))
    assert answer.trace.chunks_final


def test_a_second_time_gives_the_same_knowledge_base_and_set(app: App) -> None:
    first, again = app.kb_evaluation.keep_dataset(NAME), app.kb_evaluation.keep_dataset(NAME)
    assert (first[0].kb_id, first[1].set_id) == (again[0].kb_id, again[1].set_id)
    assert len(app.question_sets.sets(first[0].kb_id)) == 1


def test_queries_whose_document_is_cut_off_expect_nothing(app: App) -> None:
    app.live.change("kb_max_chars", 5_000)
    record, questions = app.kb_evaluation.keep_dataset(NAME)
    assert record.kb_truncated
    found = [question for question in questions.kept if question.paragraph]
    assert 0 < len(found) < len(questions.kept) == 40


def test_a_data_set_that_is_not_there_leaves_nothing(app: App) -> None:
    with raises("dataset_not_found"):
        app.kb_evaluation.keep_dataset("nada")
    assert app.kbs.records() == []


def test_the_command_prints_the_reference_that_benchmark_run_takes(
    command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RETRIEVAL_STRATEGY", "LEXICAL")
    code, said, _ = command("datasets", "to-kb", NAME, "--json")
    told = json.loads(said)
    assert (code, told["documents"], told["questions"], told["with_paragraph"]) == (0, 80, 40, 40)
    assert told["reference"] in command("datasets", "list")[1]
    assert list(json.loads(command("datasets", "list", "--json")[1])["knowledge_bases"]) == [told["reference"]]
    code, said, _ = command("benchmark", "run", "--dataset", told["reference"], "--no-generation", "--json")
    assert (code, json.loads(said)["kind"]) == (0, "kb")
