"""A result, its rows and its line: what is written, what is read back, what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.errors import RunNotWritten, RunUnreadable
from chatbot_mvp.runs.index import append_submission, read_submissions
from chatbot_mvp.runs.line import line_json, line_of, parse_line
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.payloads import Retrieved, generated_of, judged_of, retrieved_of
from chatbot_mvp.runs.records import QueryRecord, RunFolder
from chatbot_mvp.runs.result import (
    FORMAT_VERSION,
    RunResult,
    figures_json,
    parse_result,
    read_intervals,
    read_result,
    result_json,
)
from chatbot_mvp.runs.rows import QueryRow
from chatbot_mvp.storage.files import write_json
from tests.made_results import made_line, made_result, made_row

FULL: dict[str, Any] = {
    "run_id": "r1",
    "dataset_sha256": "0",
    "queries": 2,
    "documents": 3,
    "started_at": "2030",
    "generator": "demo",
    "judge": "demo",
    "metrics": {"mrr": 0.5, "f1": None},
    "scored": {"mrr": [2, 2], "f1": [0, 2]},
    "readings": {"mrr": [0.5, 0.5], "f1": [None, 0.0]},
    "intervals": {"mrr": [0.25, 0.75], "f1": None},
    "splits": {"level": {"easy": {"mrr": {"mean": 0.5, "scored": 2, "total": 2, "interval": None}}}},
    "causes": {"ok": 1},
    "reranker_rescue_count": 0,
    "damaged_records": 0,
    "failures": {},
    "rerank_failures": 0,
    "abstentions": 0,
    "seconds": {"load": 0.1},
    "usage": {
        "calls": 1,
        "cached": 0,
        "prompt_tokens": 5,
        "completion_tokens": 2,
        "cost_usd": 0.01,
        "unpriced": 0,
        "phases": {},
    },
    "peak_rss_mb": None,
    "finished_at": "2031",
    "per_query": [
        {
            "query_id": "q1",
            "question": "¿?",
            "answer": "sí",
            "answer_type": "label",
            "question_type": "",
            "level": "easy",
            "metrics": {"mrr": 0.5, "f1": None},
            "retrieved": ["a", "b"],
            "gold": ["a"],
            "generation_doc_ids": ["a"],
            "reranked": True,
            "response": None,
            "abstained": False,
            "failed": True,
            "error": "away",
            "cause": "not_scored",
        }
    ],
}


def test_what_is_read_is_written_again_with_the_same_keys_and_values() -> None:
    written = json.loads(json.dumps(result_json(made_result(**FULL))))
    read = made_result(**FULL)
    named = {"dataset": read.dataset, "strategy": read.strategy, "fingerprint": read.fingerprint}
    assert written == {**FULL, **named, "format_version": FORMAT_VERSION}
    assert parse_result(json.dumps(written).encode(), "r1") == replace(read, format_version=FORMAT_VERSION)


def test_keys_that_a_run_has_no_use_for_are_not_written() -> None:
    retrieval = result_json(made_result(per_query=[{"query_id": "q1", "question": "", "metrics": {}}]))
    assert not {"kind", "language", "repeats", "not_scored", "abstentions", "spread", "agreement"} & set(retrieval)
    assert not {"response", "abstained", "failed", "status", "reranked"} & set(retrieval["per_query"][0])
    assert {"kind", "language", "repeats", "not_scored"} <= set(figures_json(made_result(kind="ragas")))
    assert "per_query" not in figures_json(made_result())


@pytest.mark.parametrize("missing", ["run_id", "dataset", "strategy", "fingerprint", "queries", "metrics", "scored"])
def test_a_result_without_a_field_that_every_version_wrote_is_refused_by_its_name(missing: str) -> None:
    values = {name: value for name, value in result_json(made_result()).items() if name != missing}
    with pytest.raises(RunUnreadable, match=rf"'r9'.*{missing}"):
        parse_result(json.dumps(values).encode(), "r9")


def test_fields_of_later_versions_have_the_documented_defaults() -> None:
    early = made_result()
    assert (early.format_version, early.kind, early.repeats, early.usage.calls) == (0, "benchmark", 1, 0)
    assert (early.abstentions, early.rerank_failures, early.peak_rss_mb) == (None, None, None)
    assert early.intervals == early.readings == early.splits == early.causes == {}
    row = made_row()
    assert (row.generation_doc_ids, row.reranked, row.response, row.judge_reasons) == (None, None, None, None)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_are_neither_written_nor_read(tmp_path: Path, bad: float) -> None:
    folder = RunFolder(tmp_path, "r1")
    folder.create(RunManifest("r1", "valle", "valle", "0", "LEXICAL", {}, "f", "1", 0, 0, "2030"))
    broken = replace(made_result(), metrics={"mrr": bad})
    with pytest.raises(RunNotWritten, match="r1"):
        folder.finish(broken)
    assert not folder.finished
    with pytest.raises(RunNotWritten, match="r1"):
        append_submission(tmp_path / "submissions.jsonl", broken)
    assert not (tmp_path / "submissions.jsonl").exists()
    for values in ({"metrics": {"mrr": bad}}, {"seconds": {"load": bad}}):
        with pytest.raises(RunUnreadable, match="finite"):
            made_result(**values)
    with pytest.raises(RunUnreadable, match=r"per_query\.0\.details\.m\.scores"):
        made_row(details={"m": {"scores": [0.5, {"deep": bad}]}})


def test_a_line_has_the_figures_of_its_result_and_comes_back() -> None:
    line = line_of(made_result(**FULL))
    assert parse_line(json.dumps(line_json(line)).encode()) == line
    assert "per_query" not in line_json(line)
    assert (line.queries, line.usage is not None, line.intervals) == (2, True, {"mrr": (0.25, 0.75), "f1": None})


def test_a_line_of_an_early_version_needs_an_id_and_metrics_only() -> None:
    line = made_line()
    assert (line.queries, line.documents, line.intervals, line.usage, line.kind) == (None,) * 4 + ("benchmark",)
    assert "intervals" not in line_json(line)


@pytest.mark.parametrize("change", [{"queries": "2"}, {"metrics": {"mrr": "high"}}, {"seconds": 5}])
def test_a_mistyped_line_hides_no_other_and_is_named_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, change: dict[str, Any]
) -> None:
    path = tmp_path / "submissions.jsonl"
    append_submission(path, made_result(run_id="a"))
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"run_id": "b", "metrics": {}, **change}) + "\n")
    append_submission(path, made_result(run_id="c"))
    runs, damaged = read_submissions(path)
    assert sorted(run.run_id for run in runs) == ["a", "c"]
    assert [fault.partition(":")[0] for fault in damaged] == ["2"]
    assert "line 2" in caplog.text
    assert next(iter(change)) in caplog.text


def test_payloads_of_records_are_read_as_types_and_a_wrong_one_names_its_query() -> None:
    payload = {"doc_ids": ["a", "b"], "seconds": {"lexical": 0.1}, "of_a_later_version": 1}
    assert retrieved_of(QueryRecord("r1", "q1", "retrieve", "ok", payload)).doc_ids == ("a", "b")
    assert retrieved_of(QueryRecord("r1", "q1", "retrieve", "failed", {}, "away")) == Retrieved()
    with pytest.raises(RunUnreadable, match=r"'r1'.*'q7'.*response"):
        generated_of(QueryRecord("r1", "q7", "generate", "ok", {"abstained": False}))


def test_results_and_rows_cannot_be_changed() -> None:
    result: RunResult = made_result()
    row: QueryRow = made_row()
    for item in (result, row):
        with pytest.raises(AttributeError):
            item.metrics = {}  # type: ignore[misc]


def written(path: Path, **values: Any) -> Path:
    """A result's file as a run writes it."""
    write_json(path, result_json(made_result(**{**FULL, **values})))
    return path


def test_intervals_are_read_without_the_queries_however_long_the_part_before_them_is(tmp_path: Path) -> None:
    """Also where the key of the queries lies across two of the pieces that are read."""
    expected = {"mrr": (0.25, 0.75), "f1": None}
    marker, piece = b'\n  "per_query": [', 1 << 17

    def padded(count: int, last: int) -> Path:
        failures = {f"{n:03d}".ljust(1_000, "x"): 1 for n in range(count)}
        return written(tmp_path / "r1.json", failures={**failures, "y" * last: 1})

    assert all(read_intervals(padded(count, 0)) == expected for count in (0, 1, 300))
    left = piece - padded(128, 0).read_bytes().index(marker)
    for shift in range(len(marker) + 1):
        path = padded(128, left - shift)
        assert path.read_bytes().index(marker) == piece - shift
        assert read_intervals(path) == expected


def test_a_failure_that_names_the_key_of_the_queries_is_not_taken_for_it(tmp_path: Path) -> None:
    path = written(tmp_path / "r1.json", failures={'\n  "per_query": [': 1})
    assert read_intervals(path) == {"mrr": (0.25, 0.75), "f1": None}


@pytest.mark.parametrize(
    "content",
    [None, b"", b'{\n  "intervals": {"mrr": [0.1, 0.2]}', b'{"intervals": {"mrr": [0.1, 0.2]}, "per_query": []}',
     b'[\n  "per_query": [', b'\n  "per_query": [', b'{\n  "intervals": 3,\n  "per_query": []}',
     b'{\n  "intervals": {"mrr": "wide"},\n  "per_query": []}', b"x" * 300_000],
    ids=["missing", "empty", "torn", "on one line", "a list", "nothing before it", "a number", "words", "not JSON"],
)  # fmt: skip
def test_a_file_of_another_layout_has_no_intervals_to_show(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "r1.json"
    if content is not None:
        path.write_bytes(content)
    assert read_intervals(path) == {}


def test_a_result_that_is_no_object_or_that_cannot_be_opened_names_file_and_reason(tmp_path: Path) -> None:
    with pytest.raises(RunUnreadable) as raised:
        parse_result(b"[]", "r1")
    assert "'r1'" in str(raised.value) and "r1.json: Input should be" in str(raised.value)
    with pytest.raises(RunUnreadable) as raised:
        parse_result(json.dumps({**FULL, "per_query": [{"query_id": "q1"}]}).encode(), "r1")
    assert "r1.json: dataset: Field required" in str(raised.value)
    with pytest.raises(RunUnreadable, match=rf"reads up to {FORMAT_VERSION}") as raised:
        made_result(format_version=FORMAT_VERSION + 1)
    assert str(FORMAT_VERSION + 1) in str(raised.value)
    with pytest.raises(RunUnreadable, match=r"r1\.json: .*No such file"):
        read_result(tmp_path / "r1.json", "r1")


def test_a_problem_deep_in_a_result_is_named_by_its_place_without_the_value(tmp_path: Path) -> None:
    with pytest.raises(RunUnreadable) as raised:
        made_result(per_query=[{"query_id": "q1", "question": "", "metrics": {"m" * 400: "very secret"}}])
    said = str(raised.value)
    assert "per_query.0.metrics.mmm" in said
    assert "very secret" not in said and "errors.pydantic.dev" not in said
    assert len(said) < 600


def test_a_judgement_is_read_as_a_type_and_a_wrong_one_names_its_query() -> None:
    judged = judged_of(QueryRecord("r1", "q1", "judge", "ok", {"scores": {"m": 0.5}, "reasons": {"m": "so"}}))
    assert (judged.scores, judged.reasons, judged.usage) == ({"m": 0.5}, {"m": "so"}, None)
    with pytest.raises(RunUnreadable, match=r"'q7', phase 'judge': scores"):
        judged_of(QueryRecord("r1", "q7", "judge", "ok", {"scores": 3}))


def test_a_list_of_runs_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where the folder would be")
    with pytest.raises(RunNotWritten, match=r"'submissions.jsonl'.*: (File exists|Not a directory)"):
        append_submission(tmp_path / "data" / "submissions.jsonl", made_result())
    with pytest.raises(RunNotWritten, match="not JSON compliant"):
        append_submission(tmp_path / "submissions.jsonl", replace(made_result(), metrics={"mrr": math.nan}))
