"""A run's answers as the rows that Ragas reads."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from chatbot_mvp.errors import NothingToExport
from chatbot_mvp.exports.base import FinishedRun
from chatbot_mvp.exports.formats import FORMATS
from tests.conftest import Command
from tests.exports.test_exports import row, run, texts  # noqa: F401  # ``run`` is a fixture
from tests.made_results import made_result


def test_ragas_rows_are_the_answered_questions_with_what_reached_the_context(run: FinishedRun) -> None:  # noqa: F811
    exported = FORMATS["ragas"].export(run)
    [line] = texts(exported)["r1_ragas.jsonl"].splitlines()
    assert json.loads(line) == {
        "id": "q1",
        "user_input": "¿q1?",
        "response": "el oro",
        "retrieved_contexts": ["T d 1\nTexto | d 1"],
        "reference": "oro",
        "retrieved_context_ids": ["d 1"],
        "reference_context_ids": ["d 1"],
    }
    assert exported.notes == {"left_out": 1}


def test_without_an_answer_there_is_nothing_to_write_and_the_zip_leaves_it_out(run: FinishedRun) -> None:  # noqa: F811
    empty = replace(run, result=made_result(per_query=[row("q1", [], [])]))
    with pytest.raises(NothingToExport, match="no answer"):
        FORMATS["ragas"].export(empty)
    assert ("r1_ragas.jsonl" in zipped(run), "r1_ragas.jsonl" in zipped(empty)) == (True, False)


def zipped(run: FinishedRun) -> set[str]:  # noqa: F811
    with zipfile.ZipFile(io.BytesIO(FORMATS["zip"].export(run).files["r1.zip"])) as archive:
        return {name.removeprefix("r1/") for name in archive.namelist()}


def test_a_run_writes_the_rows_when_it_has_ended(command: Command, tmp_path: Path) -> None:
    asked = ("benchmark", "run", "--strategy", "LEXICAL", "--max-queries", "5", "--generation", "--export", "ragas")
    assert command(*asked)[0] == 0
    [path] = (tmp_path / "data" / "results").glob("*/*_ragas.jsonl")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert len(rows) == 5
    columns = {"id", "user_input", "response", "retrieved_contexts", "reference"}
    assert columns | {"retrieved_context_ids", "reference_context_ids"} == set(rows[0])
