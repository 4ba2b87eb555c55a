"""Data sets of answers: three formats, old and new names, and errors that name the row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from chatbot_mvp.errors import EmptyDataset
from chatbot_mvp.wings.ragas.rows import content_key, identity, read_rows, rows_from, to_csv, to_json_lines
from tests.raising import raises

ROWS: list[dict[str, Any]] = [
    {"id": "a", "user_input": "¿Qué?", "response": "«Eso», y más.", "retrieved_contexts": ["uno", "dos"]},
    {"id": "b", "user_input": "¿Y?", "response": "No.", "retrieved_contexts": [], "reference": "Sí."},
]


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: [row.get(name) for row in rows] for name in names}
        pyarrow.parquet.write_table(pyarrow.table(columns), path)
    else:
        path.write_bytes(to_csv(rows) if path.suffix == ".csv" else to_json_lines(rows))
    return path


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_the_three_formats_say_the_same(tmp_path: Path, suffix: str) -> None:
    one, two = read_rows(written(tmp_path / f"rows{suffix}", ROWS))
    assert (one.row_id, two.row_id) == ("a", "b")
    assert (one.row.user_input, one.row.response, one.row.reference) == ("¿Qué?", "«Eso», y más.", None)
    assert (one.row.retrieved_contexts, two.row.retrieved_contexts) == (["uno", "dos"], [])
    assert two.row.reference == "Sí."


def test_the_columns_of_older_versions_are_understood_and_kept_as_they_came() -> None:
    old = {"question": "¿Qué?", "answer": "Eso.", "contexts": ["uno"], "ground_truth": "Esto."}
    [row] = rows_from([old], "old")
    assert row.row.user_input == "¿Qué?"
    assert (row.row.response, row.row.retrieved_contexts, row.row.reference) == ("Eso.", ["uno"], "Esto.")
    assert row.given == old
    [row] = rows_from([{"question": "¿Qué?", "ground_truths": ["Esto.", "Aquello."]}], "older")
    assert row.row.reference == "Esto."


@pytest.mark.parametrize(
    ("cell", "contexts"),
    [
        ('["uno, dos", "tres"]', ["uno, dos", "tres"]),
        ("['uno', \"d'os\"]", ["uno", "d'os"]),  # as pandas writes it
        ("un solo pasaje", ["un solo pasaje"]),
        ("[]", []),
    ],
)
def test_a_list_in_a_csv_is_an_array_or_one_text(cell: str, contexts: list[str]) -> None:
    [row] = rows_from([{"user_input": "¿Qué?", "retrieved_contexts": cell}], "csv")
    assert row.row.retrieved_contexts == contexts


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"user_input": 7}, "'user_input' is int, not a text"),
        ({"user_input": "x", "retrieved_contexts": {"a": 1}}, "'retrieved_contexts' is dict, not a list"),
        ({"user_input": "x", "retrieved_contexts": ["a", None]}, "holds something that is not a text"),
        ({"user_input": "x", "retrieved_contexts": "[uno, dos"}, "a list that is no JSON array"),
        ({"user_input": ["varios", "turnos"]}, "'user_input' is list, not a text"),
    ],
)
def test_a_bad_row_is_named_by_its_number(wrong: dict[str, Any], reason: str) -> None:
    with raises("dataset_file_unreadable", match=r"row 3: .*") as raised:
        rows_from([*ROWS, wrong], "rows.jsonl")
    assert reason in str(raised.value)


def test_a_line_that_is_no_object_is_named_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    for text, reason in (('{"user_input": "x"}\n{"torn', "line 2"), ("\n[1]\n", "line 2: no JSON object")):
        path.write_text(text, "utf-8")
        with raises("dataset_file_unreadable", match=reason):
            read_rows(path)


def test_what_is_no_data_set_of_answers_is_refused(tmp_path: Path) -> None:
    with raises("dataset_file_unreadable", match=r"only \.jsonl, \.csv, \.parquet are read"):
        read_rows(tmp_path / "rows.xlsx")
    with raises("dataset_file_unreadable"):
        read_rows(tmp_path / "absent.jsonl")
    (tmp_path / "no.parquet").write_bytes(b"PAR")
    with raises("dataset_file_unreadable"):
        read_rows(tmp_path / "no.parquet")
    one, two = pyarrow.array(["a"]), pyarrow.array([2**60], pyarrow.timestamp("ms"))
    twice = [("user_input", one), ("response", one), ("response", one)]
    group = pyarrow.StructArray.from_arrays([one, one], ["a", "a"])
    for columns in (twice, [("user_input", one), ("response", group)], [("user_input", one), ("response", two)]):
        names, arrays = zip(*columns, strict=True)
        pyarrow.parquet.write_table(pyarrow.Table.from_arrays(arrays, names=names), tmp_path / "odd.parquet")
        with raises("dataset_file_unreadable"):
            read_rows(tmp_path / "odd.parquet")
    (tmp_path / "twice.csv").write_text("user_input,response,response\nq,a,b\n", "utf-8")
    with raises("dataset_file_unreadable", match="two columns of the name 'response'"):
        read_rows(tmp_path / "twice.csv")
    with pytest.raises(EmptyDataset):
        rows_from([], "rows.jsonl")
    with raises("missing_column", match="user_input"):
        rows_from([{"text": "x"}], "rows.jsonl")


def test_ids_are_given_or_numbers_and_never_twice() -> None:
    rows = rows_from([{"user_input": "x"}, {"query_id": 7, "user_input": "y"}], "rows")
    assert [row.row_id for row in rows] == ["r0001", "7"]
    with raises("duplicate_id", match="'a'"):
        rows_from([ROWS[0], ROWS[0]], "rows.jsonl")


def test_nan_of_another_tool_is_nothing() -> None:
    [row] = rows_from([json.loads('{"user_input": "x", "reference": NaN, "faithfulness": NaN}')], "rows")
    assert row.row.reference is None
    assert b"NaN" not in to_json_lines([row.given])


def test_answers_of_two_systems_have_the_same_identity_and_another_content() -> None:
    other = [{**row, "response": "Otra."} for row in ROWS]
    assert identity(rows_from(ROWS, "a")) == identity(rows_from(other, "b"))
    assert content_key(rows_from(ROWS, "a")) != content_key(rows_from(other, "b"))
    assert identity(rows_from(ROWS[:1], "a")) != identity(rows_from(ROWS, "a"))
