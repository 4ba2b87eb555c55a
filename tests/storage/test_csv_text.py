"""No cell of a CSV that the app writes is a formula in a spreadsheet; numbers stay numbers."""

from __future__ import annotations

import ast
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("chatbot_mvp.wings.ragas")  # what it reads and writes is tried here, too

from chatbot_mvp.exports.tables import write_detail_csv, write_summary_csv
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.storage.csv_text import csv_text, safe_cell, safe_csv
from chatbot_mvp.wings.ragas.rows import to_csv
from tests.made_results import made_result

ROOT = Path(__file__).resolve().parents[2]
FORMULAS = ["=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1", "\r=1", " =1", "\n=1", '=HYPERLINK("http://x","y")', "-", "+a"]
FORMULAS += ["＝1+1", "＋1", "－1+1", "＠SUM(A1)", "\u3000＝1", "\r\n=1"]
KEPT = ["a=1", "a-b", "-1", "+1.5e3", "-.5", "", "3", 4, -4.5, None, True, "Sí, «= 1»"]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_text_that_could_be_a_formula_begins_with_an_apostrophe(text: str) -> None:
    assert safe_cell(text) == f"'{text}"


@pytest.mark.parametrize("value", KEPT)
def test_numbers_and_other_texts_stay_as_they_are(value: Any) -> None:
    assert safe_cell(value) == value
    assert type(safe_cell(value)) is type(value)


def cells(text: str) -> list[str]:
    return [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]


def hostile_run() -> Any:
    texts = dict.fromkeys(("question", "answer", "answer_type", "question_type", "level", "response", "error"), "=1+1")
    row = {**texts, "query_id": "=q", "metrics": {"mrr": -0.5, "=m": 1.0}, "retrieved": ["=d"], "gold": ["-d"]}
    names = dict.fromkeys(("dataset", "strategy", "fingerprint", "generator", "judge"), "@x")
    return made_result(
        **names,
        metrics={"mrr": 0.5, "=m": 1.0},
        scored={"mrr": [1, 1], "=m": [1, 1]},
        per_query=[row],
        auroc={"=k": 0.5},
    )


def test_no_table_of_a_run_has_a_formula(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, "r1")
    folder.path.mkdir()
    for write, name in ((write_summary_csv, "summary"), (write_detail_csv, "detail")):
        write(folder, hostile_run())
        found = cells((folder.path / f"r1_{name}.csv").read_text("utf-8"))
        assert not [cell for cell in found if cell[:1] in tuple("=+@\t\r")], found
    assert "-0.5" in found


def test_no_table_of_an_evaluation_of_answers_has_a_formula() -> None:
    found = cells(to_csv([{"user_input": "=1", "contexts": ["=2"], "score": -1.5, "=name": "x"}]).decode())
    assert found == ["user_input", "contexts", "score", "'=name", "'=1", json.dumps(["=2"]), "-1.5", "x"]


def test_a_table_from_elsewhere_is_made_safe_and_one_of_ours_is_not_changed() -> None:
    ours = csv_text([{"a": "x", "b": 1.5, "c": None}, {"a": 'un "texto", largo\ncon línea', "b": -2, "c": "=1"}])
    assert safe_csv(ours) == ours
    assert safe_csv("a,b\r\n=1,-2\r\n") == "a,b\r\n'=1,-2\r\n"


def test_csv_is_written_in_one_place() -> None:
    writers = []
    for path in [*(ROOT / "chatbot_mvp").rglob("*.py"), *(ROOT / "streamlit_app").rglob("*.py")]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Attribute) and ast.unparse(node) in ("csv.writer", "csv.DictWriter"):
                writers.append(path.name)
    assert writers == ["csv_text.py"]
