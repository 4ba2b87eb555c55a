"""A run on disk: appended, never rewritten; damage is skipped and counted."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from chatbot_mvp.errors import RunNotFound, RunUnreadable
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.records import QueryRecord, RunFolder, run_folders
from chatbot_mvp.storage.files import write_json
from chatbot_mvp.storage.jsonl import read_lines
from tests.raising import raises


def manifest(run_id: str = "run1") -> RunManifest:
    return RunManifest(
        run_id=run_id,
        dataset="valle",
        dataset_ref="valle",
        dataset_sha256="0" * 64,
        strategy="LEXICAL",
        settings_masked={"retrieval_k": 20},
        fingerprint="f" * 12,
        code_version="0",
        queries=3,
        documents=5,
        started_at="2030-01-01T00:00:00+00:00",
    )


def record(query_id: str, phase: str = "retrieve", value: int = 0) -> QueryRecord:
    return QueryRecord("run1", query_id, phase, "ok", {"doc_ids": ["ñ", value]})


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    folder = RunFolder(tmp_path, "run1")
    folder.create(manifest())
    return folder


@pytest.fixture
def lines(run: RunFolder) -> Path:
    return run.path / "records.jsonl"


def test_records_are_read_back_as_they_were_written(run: RunFolder) -> None:
    assert run.records("retrieve") == ({}, 0)
    run.append_records([record("q1"), record("q2")])
    run.append_records([record("q3")])
    assert run.records("retrieve") == ({f"q{n}": record(f"q{n}") for n in (1, 2, 3)}, 0)


def test_the_last_record_of_a_query_counts_and_phases_are_kept_apart(run: RunFolder) -> None:
    run.append_records([record("q1", value=1), record("q1", phase="generate", value=2), record("q1", value=3)])
    assert run.records("retrieve")[0] == {"q1": record("q1", value=3)}
    assert run.records("generate")[0] == {"q1": record("q1", phase="generate", value=2)}


TORN = [b'{"run_id": "run1", "query', b"{", b'"x', "ñ".encode()[:1]]
DAMAGED = [b"not json", b"[1, 2]", b"null", b'{"query_id": "q1"}', b'{"unknown": 1}', b"\xff\xfe\x00"]


@pytest.mark.parametrize("damage", [*TORN, *(line + b"\n" for line in DAMAGED)], ids=repr)
def test_a_torn_or_damaged_line_is_skipped_counted_and_left_and_the_next_append_is_whole(
    run: RunFolder, lines: Path, damage: bytes
) -> None:
    run.append_records([record("q1")])
    with lines.open("ab") as file:
        file.write(damage)
    assert run.records("retrieve") == ({"q1": record("q1")}, 1)
    run.append_records([record("q2")])
    assert run.records("retrieve") == ({"q1": record("q1"), "q2": record("q2")}, 1)
    assert lines.read_bytes().split(b"\n")[1] == damage.rstrip(b"\n")


def test_blank_lines_are_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'\n{"a": 1}\n  \n\n{"a": 2}')
    assert read_lines(path) == ([{"a": 1}, {"a": 2}], 0)


def test_a_manifest_is_read_back_as_it_was_written(run: RunFolder) -> None:
    assert run.manifest() == manifest()


@pytest.mark.parametrize("text", ["{", "[]", "{}", '{"run_id": "run1"}', ""])
def test_a_damaged_manifest_or_result_is_named(run: RunFolder, text: str) -> None:
    with pytest.raises(RunNotFound, match="run1"):
        run.result()  # the run is unfinished
    run.result_path.write_text(text, "utf-8")
    with pytest.raises(RunUnreadable, match=r"run1\.json"):
        run.result()
    (run.path / "manifest.json").write_text(text, "utf-8")
    with pytest.raises(RunUnreadable, match=r"run1.*manifest\.json"):
        run.manifest()


@pytest.mark.parametrize("run_id", ["nope", "../run1", "a/b", "", "run1/../run1"])
def test_an_unknown_run_is_not_found(run: RunFolder, run_id: str) -> None:
    with pytest.raises(RunNotFound):
        RunFolder(run.path.parent, run_id).manifest()


def test_a_run_is_unfinished_running_while_it_is_held_and_finished_with_its_result(run: RunFolder) -> None:
    root = run.path.parent
    assert RunFolder(root, "run1").state() == "unfinished"
    with run.held():
        assert RunFolder(root, "run1").state() == "running"
    assert RunFolder(root, "run1").state() == "unfinished"
    write_json(run.result_path, {"metrics": {}})
    assert RunFolder(root, "run1").state() == "finished"


@pytest.mark.slow
def test_a_second_worker_on_a_run_is_refused_and_the_first_keeps_it(run: RunFolder) -> None:
    other = RunFolder(run.path.parent, "run1")
    with run.held():
        with raises("run_busy", match="run1"), other.held():
            raise AssertionError("two workers on one run")
        assert other.state() == "running"
    with other.held():
        assert run.state() == "running"


def test_events_tell_the_story_in_order(run: RunFolder) -> None:
    run.event("run_start", resumed=False)
    run.event("run_complete")
    rows, damaged = read_lines(run.path / "events.jsonl")
    assert [(row["event"], row["run_id"]) for row in rows] == [("run_start", "run1"), ("run_complete", "run1")]
    assert damaged == 0


def test_runs_are_listed_the_newest_first_and_folders_without_a_manifest_are_none(tmp_path: Path) -> None:
    for name in ("2030_a", "2031_b"):
        RunFolder(tmp_path, name).create(manifest(name))
    (tmp_path / "2032_half").mkdir()
    assert [folder.run_id for folder in run_folders(tmp_path)] == ["2031_b", "2030_a"]


@pytest.mark.parametrize("name", ["run_id", "query_id", "phase", "status", "payload", "error"])
@pytest.mark.parametrize("value", [7, True, ["x"], {"x": 1}, "x"])
def test_a_record_with_a_value_of_another_type_is_damaged_and_costs_no_other(
    tmp_path: Path, name: str, value: object
) -> None:
    folder = RunFolder(tmp_path, "r")
    folder.path.mkdir()
    good = {"run_id": "r", "query_id": "q", "phase": "retrieve", "status": "ok", "payload": {}, "error": None}
    path = folder.path / "records.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ({**good, name: value}, good)), "utf-8")
    records, damaged = folder.all_records()
    legal = (type(value) is type(good[name]) and name != "status") or (name, value) == ("error", "x")
    assert damaged == (0 if legal else 1)
    assert records["retrieve"]["q"].status == "ok"
    assert folder.records_of("q")["retrieve"].status == "ok"


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(RunManifest)])
def test_a_manifest_with_a_value_of_another_type_is_named_and_left_out(tmp_path: Path, name: str) -> None:
    good = dataclasses.asdict(RunManifest("r", "d", "d", "0", "LEXICAL", {}, "f", "1", 2, 3, "2026"))
    folder = RunFolder(tmp_path, "r")
    folder.path.mkdir()
    whole = {"format_version": 1, **good}
    missing = {key: value for key, value in whole.items() if key != name}
    for values in (missing, *({**whole, name: value} for value in (None, ["x"], 0.5))):
        (folder.path / "manifest.json").write_text(json.dumps(values), "utf-8")
        with pytest.raises(RunUnreadable, match=rf"'r'.*\b{name}\b"):
            folder.manifest()
