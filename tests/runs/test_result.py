"""A result, its rows and its line: what is written, what is read back, what is refused."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.errors import RunUnreadable
from chatbot_mvp.runs.line import append_submission, line_of, parse_line
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.payloads import Retrieved, generated_of, judged_of, retrieved_of
from chatbot_mvp.runs.records import QueryRecord, RunFolder
from chatbot_mvp.runs.result import (
    RunResult,
    parse_result,
    read_result,
    result_json,
)
from chatbot_mvp.runs.rows import QueryRow
from chatbot_mvp.runs.usage import NO_USAGE
from chatbot_mvp.storage.formats import RESULT
from tests.made_results import LINE, ROW, made_result, made_row
from tests.made_results import RESULT as EMPTY
from tests.raising import raises
from tests.runs.test_limits import RESULT as WHOLE
from tests.runs.test_limits import ROW as WHOLE_ROW

FULL: dict[str, Any] = {
    **WHOLE,
    "metrics": {"mrr": 0.5, "f1": None},
    "intervals": {"mrr": [0.4, 0.6], "f1": None},
    "reranker_rescue_count": 0,
    "peak_rss_mb": None,
    "corpus_slice": "blind",
    "gold_missing": 1,
    "per_query": [
        {
            **WHOLE_ROW,
            "retrieved_doc_ids": WHOLE_ROW["retrieved"],
            "response": None,
            "failed": True,
            "judge_failed": True,
        }
    ],
}
"""Every key with a value, and the two kinds of nothing: 0 and None."""


def test_what_is_read_is_written_again_with_the_same_keys_and_values() -> None:
    written = json.loads(json.dumps(result_json(made_result(**FULL))))
    read = made_result(**FULL)
    assert written == FULL
    assert parse_result(json.dumps(written).encode(), "r1") == read


def test_what_only_some_queries_have_is_not_written_for_the_others() -> None:
    assert result_json(made_result(per_query=[{}]))["per_query"] == [{**ROW, "retrieved": (), "gold": ()}]


OF_SOME = {"reranker_rescue_count": None, "corpus_slice": "", "gold_missing": 0}


def test_what_only_some_runs_have_is_not_written_for_the_others() -> None:
    assert not OF_SOME.keys() & result_json(made_result(**OF_SOME)).keys()
    assert (
        OF_SOME.keys() <= result_json(made_result(reranker_rescue_count=0, corpus_slice="blind", gold_missing=1)).keys()
    )


def without(whole: dict[str, Any], name: str) -> bytes:
    return json.dumps({key: value for key, value in whole.items() if key != name}).encode()


@pytest.mark.parametrize("missing", [name for name in EMPTY if name not in OF_SOME])
def test_a_result_without_one_of_its_keys_is_refused_by_its_name(missing: str) -> None:
    with pytest.raises(RunUnreadable, match=rf"'r9'.*{missing}"):
        parse_result(without(EMPTY, missing), "r9")


@pytest.mark.parametrize("missing", ROW)
def test_a_row_without_one_of_its_keys_is_refused_by_its_name(missing: str) -> None:
    with pytest.raises(RunUnreadable, match=rf"per_query\.0\.{missing}"):
        parse_result(json.dumps({**EMPTY, "per_query": [json.loads(without(ROW, missing))]}).encode(), "r1")


@pytest.mark.parametrize("missing", LINE)
def test_a_line_without_one_of_its_keys_is_refused_by_its_name(missing: str) -> None:
    parse_line(json.dumps(LINE).encode())
    with pytest.raises(ValueError, match=missing):
        parse_line(without(LINE, missing))


def test_a_later_format_is_told_even_if_its_fields_are_others() -> None:
    for later in ({**EMPTY, "format_version": RESULT + 1}, {"format_version": RESULT + 1, "queries": "many"}):
        content = json.dumps(later).encode()
        with pytest.raises(RunUnreadable, match=rf"format_version is {RESULT + 1}.* up to {RESULT}, so update"):
            parse_result(content, "r1")
        with pytest.raises(ValueError, match=rf"format_version is {RESULT + 1}.* up to {RESULT}, so update"):
            parse_line(content)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_nan_and_infinity_are_neither_written_nor_read(tmp_path: Path, bad: float) -> None:
    folder = RunFolder(tmp_path, "r1")
    folder.create(RunManifest("r1", "valle", "valle", "0", "LEXICAL", {}, "f", "1", 0, 0, "2030"))
    broken = replace(made_result(), metrics={"mrr": bad})
    with raises("run_not_written", match="r1"):
        folder.finish(broken)
    assert not folder.finished
    with raises("run_not_written", match="r1"):
        append_submission(tmp_path / "submissions.jsonl", broken)
    assert not (tmp_path / "submissions.jsonl").exists()
    for values in ({"metrics": {"mrr": bad}}, {"seconds": {"load": bad}}):
        with pytest.raises(RunUnreadable, match="finite"):
            made_result(**values)
    with pytest.raises(RunUnreadable, match=r"per_query\.0\.details\.m\.scores"):
        made_row(details={"m": {"scores": [0.5, {"deep": bad}]}})


def test_a_line_has_the_figures_of_its_result_and_comes_back() -> None:
    line = line_of(made_result(**FULL))
    assert parse_line(json.dumps(asdict(line)).encode()) == line
    assert "per_query" not in asdict(line)
    assert (line.queries, line.usage.calls, line.intervals) == (2, 1, {"mrr": (0.4, 0.6), "f1": None})


def test_payloads_of_records_are_read_as_types_and_a_wrong_one_names_its_query() -> None:
    payload = {
        "doc_ids": ["a", "b"],
        "scores": [1.0, 0.5],
        "evidence": None,
        "topic": None,
        "seconds": {"lexical": 0.1},
    }
    for name in payload:
        with pytest.raises(RunUnreadable, match=rf"'r1'.*'q1'.*{name}"):
            retrieved_of(QueryRecord("r1", "q1", "retrieve", "ok", json.loads(without(payload, name))))
    payload["of_a_later_version"] = 1
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


def test_a_result_that_is_no_object_or_that_cannot_be_opened_names_file_and_reason(tmp_path: Path) -> None:
    with pytest.raises(RunUnreadable) as raised:
        parse_result(b"[]", "r1")
    assert "'r1'" in str(raised.value) and "r1.json: Input should be" in str(raised.value)
    with pytest.raises(RunUnreadable) as raised:
        parse_result(json.dumps({**FULL, "per_query": [{"query_id": "q1"}]}).encode(), "r1")
    assert "r1.json: per_query.0.question: Field required" in str(raised.value)
    with pytest.raises(RunUnreadable, match=rf"reads up to {RESULT}") as raised:
        made_result(format_version=RESULT + 1)
    assert str(RESULT + 1) in str(raised.value)
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
    payload = {"scores": {"m": 0.5}, "reasons": {"m": "so"}, "model": "m", "usage": asdict(NO_USAGE)}
    judged = judged_of(QueryRecord("r1", "q1", "judge", "ok", payload))
    assert (judged.scores, judged.reasons, judged.usage) == ({"m": 0.5}, {"m": "so"}, NO_USAGE)
    for name in payload:
        with pytest.raises(RunUnreadable, match=rf"'q1', phase 'judge': {name}"):
            judged_of(QueryRecord("r1", "q1", "judge", "ok", json.loads(without(payload, name))))
    with pytest.raises(RunUnreadable, match=r"'q7', phase 'judge': scores"):
        judged_of(QueryRecord("r1", "q7", "judge", "ok", {"scores": 3}))


def test_a_list_of_runs_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    (tmp_path / "data").write_text("a file where the folder would be")
    with raises("run_not_written", match=r"'submissions.jsonl'.*: (File exists|Not a directory)"):
        append_submission(tmp_path / "data" / "submissions.jsonl", made_result())
    with raises("run_not_written", match="not JSON compliant"):
        append_submission(tmp_path / "submissions.jsonl", replace(made_result(), metrics={"mrr": math.nan}))
