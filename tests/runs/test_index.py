"""``submissions.jsonl``: one line per finished run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.runs.line import append_submission, line_of, read_submissions
from chatbot_mvp.runs.result import RunResult
from tests.made_results import LINE, made_result


def result(run_id: str, started_at: str = "2030", **values: Any) -> RunResult:
    given = {
        "run_id": run_id,
        "queries": 2,
        "documents": 3,
        "metrics": {"mrr": 0.5},
        "scored": {"mrr": [2, 2]},
        "seconds": {"load": 0.1},
        "started_at": started_at,
        "finished_at": "2031",
        "per_query": [{"query_id": "q1", "question": "", "metrics": {}}],
    }
    return made_result(**{**given, **values})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "submissions.jsonl"


def test_runs_come_the_newest_first_without_their_queries(path: Path) -> None:
    for run_id, started in (("a", "2030"), ("c", "2032"), ("b", "2031")):
        append_submission(path, result(run_id, started))
    runs, damaged = read_submissions(path)
    assert [run.run_id for run in runs] == ["c", "b", "a"]
    assert runs[0] == line_of(result("c", "2032"))
    assert damaged == []


def test_a_run_that_was_added_twice_is_listed_once_with_its_last_line(path: Path) -> None:
    append_submission(path, result("a"))
    append_submission(path, result("a", queries=9))
    runs, damaged = read_submissions(path)
    assert [(run.run_id, run.queries) for run in runs] == [("a", 9)]
    assert damaged == []


def line(**values: Any) -> bytes:
    return json.dumps({**LINE, "run_id": "x", **values}).encode()


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        *((b"{torn", ""), (b"[]", ""), (b'{"run_id": "x"}', ""), (b'{"metrics": {}}', ""), (b"\xff", "")),
        *((line(run_id=5), "run_id"), (line(queries="2"), "queries")),
        *((line(metrics={"mrr": "high"}), "metrics"), (line(seconds=5), "seconds")),
    ],
    ids=repr,
)
def test_a_damaged_line_hides_no_other_is_named_in_the_log_and_left_in_the_file(
    path: Path, caplog: pytest.LogCaptureFixture, damage: bytes, told: str
) -> None:
    append_submission(path, result("a"))
    with path.open("ab") as file:
        file.write(damage + b"\n")
    append_submission(path, result("b"))
    before = path.read_bytes()
    runs, damaged = read_submissions(path)
    assert sorted(run.run_id for run in runs) == ["a", "b"]
    assert [fault[:3] for fault in damaged] == ["2: "]
    assert "line 2" in caplog.text and told in caplog.text
    assert path.read_bytes() == before
    assert damage in before


def test_every_damaged_line_is_reported_with_its_number_and_empty_ones_are_none(path: Path) -> None:
    append_submission(path, result("a"))
    with path.open("ab") as file:
        file.write(b'{torn\n\n  \n{"format_version": 1, "run_id": "x"}\n')
        file.write(b'{"format_version": 999, "run_id": "x", "metrics": {}}\n')
    append_submission(path, result("b"))
    runs, damaged = read_submissions(path)
    assert [run.run_id for run in runs] == ["a", "b"]
    assert [fault.partition(": ")[0] for fault in damaged] == ["2", "5", "6"]
    assert "kind" in damaged[1], "the field that is missing"
    assert "999" in damaged[2], "the version that is too late"


def test_without_a_file_there_are_no_runs(path: Path) -> None:
    assert read_submissions(path) == ([], [])
