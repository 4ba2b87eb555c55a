"""Tags and notes of runs: nobody's change is lost, whoever writes at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.errors import RunNotFound
from chatbot_mvp.runs.notes import NOTE_CHARS, TAG_CHARS, RunNote, RunNotes
from tests.raising import raises

HERE = 20


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "run_notes.jsonl"


def notes_at(path: Path) -> RunNotes:
    return RunNotes(path)


def test_tags_are_added_and_taken_away_and_no_tag_is_there_twice(path: Path) -> None:
    notes = notes_at(path)
    assert notes.all() == {}
    notes.tag("a", ["  Línea   base ", "v2", ""])
    assert notes.tag("a", ["LINEA BASE", "x" * 99], ["V2"]).tags == ("Línea base", "x" * TAG_CHARS)
    notes.write("a", "  primera prueba\n", seen="")
    assert notes.all() == {"a": RunNote(("Línea base", "x" * TAG_CHARS), "primera prueba")}
    assert notes_at(path).all() == notes.all(), "another process reads the same"


def test_threads_that_tag_one_run_at_once_lose_no_tag(path: Path) -> None:
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda number: notes_at(path).tag("a", [f"here-{number}"]), range(HERE)))
    assert set(notes_at(path).all()["a"].tags) == {f"here-{number}" for number in range(HERE)}


def test_a_note_is_not_written_over_one_that_its_writer_has_not_seen(path: Path) -> None:
    one, two = notes_at(path), notes_at(path)
    one.write("a", "de una", seen="")
    with raises("note_changed", match="de una") as raised:
        two.write("a", "de otra", seen="")
    assert raised.value.params["run_id"] == "a"
    assert two.all()["a"].note == "de una"
    assert two.write("a", "de una y de otra" * 999, seen=str(raised.value.params["found"])).note == one.all()["a"].note
    assert len(one.all()["a"].note) == NOTE_CHARS
    assert one.write("a", "", seen=one.all()["a"].note).note == ""


def test_damaged_lines_are_left_out_and_stay(path: Path) -> None:
    path.parent.mkdir()
    lines = ('"run_id": "a", "add": ["uno"]}', '"run_id": 3, "add": ["x"]}', '"run_id": "a", "add": "abc"}')
    whole = "".join(f'{{"format_version": 1, {line}\n' for line in lines)
    torn = f'{whole}{{"run_id": "a", "add": ["no version"]}}\n{{"no'.encode()
    path.write_bytes(torn)
    notes = notes_at(path)
    assert notes.tag("a", ["dos"]).tags == ("uno", "dos")
    assert notes.all() == {"a": RunNote(("uno", "dos"))}
    assert path.read_bytes().startswith(torn + b"\n")


def test_a_place_that_cannot_be_written_is_told_and_a_run_must_be_there(path: Path, app: App) -> None:
    path.parent.write_text("a file where the folder would be")
    with raises("note_not_written", match=r"'a'.*run_notes"):
        notes_at(path).tag("a", ["uno"])
    with pytest.raises(RunNotFound, match="nope"):
        app.archive.tag("nope", ["uno"])
    with pytest.raises(RunNotFound, match="nope"):
        app.archive.write_note("nope", "x", "")
