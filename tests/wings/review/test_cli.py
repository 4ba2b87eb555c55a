"""``kb review``: what waits is listed; labels come from keys or from a file."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from chatbot_mvp.api import UserContext
from chatbot_mvp.app import App, build_app
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.wings.review.service import Reviews
from tests.conftest import Command

KB = "# Vacaciones\n\nCada persona dispone de 23 días.\n\n# Dietas\n\nLa dieta completa es de 48 euros.\n"
DIET, DAYS, TOWER = (
    "¿De cuánto es la dieta completa?",
    "¿De cuántos días dispone cada persona?",
    "¿Qué altura tiene la torre Eiffel?",
)


@pytest.fixture
def asked(command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[App, str]:
    monkeypatch.setenv("RETRIEVAL_STRATEGY", "LEXICAL")
    monkeypatch.setenv("PROVIDER", "demo")
    app = build_app(load_settings(data_dir=tmp_path / "data"))
    kb_id = app.kbs.add("normas.md", KB.encode()).kb_id
    conversation = app.chat.start("0" * 32, kb_id, "normas.md")
    for question in (DIET, DAYS, TOWER):
        assert app.chat.begin("0" * 32, conversation, question, UserContext()).join(20)
    return app, kb_id


def waiting(command: Command, kb_id: str) -> dict[str, str]:
    status, out, _ = command("kb", "review", kb_id, "--json", "--reviewer", "Ana")
    assert status == 0
    return {one["question"]: one["item_id"] for one in json.loads(out)["waiting"]}


def test_what_waits_is_listed_as_lines_and_as_one_object(command: Command, asked: tuple[App, str]) -> None:
    assert set(waiting(command, asked[1])) == {DIET, DAYS, TOWER}
    status, out, _ = command("kb", "review", asked[1])
    assert status == 0 and DIET in out and "waiting: 3; labelled: 0" in out


def test_single_keys_label_undo_choose_a_passage_and_quit(
    command: Command, asked: tuple[App, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    app, kb_id = asked
    first, second, third = list(waiting(command, kb_id))
    keys = {question: "s" if question == TOWER else "a" for question in (first, second, third)}
    assert first == TOWER
    # A key that does not fit (?) is ignored; the first item is judged, taken back and judged again.
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"?{keys[first]}z{keys[first]}1f{keys[third]}zq"))
    status, out, err = command("kb", "review", kb_id, "--label", "--reviewer", "Ana")
    assert status == 0 and "waiting: 1; labelled: 2" in out
    assert f"taken back: {first}" in err and f"taken back: {third}" in err
    [made] = app.question_sets.sets(kb_id)
    assert {one.question.question for one in made.questions} == {first, second}
    paragraph = made.questions[1].question.paragraph
    assert paragraph and paragraph in KB


def test_a_file_labels_and_decides_and_a_line_that_does_not_fit_is_named(
    command: Command, asked: tuple[App, str], tmp_path: Path
) -> None:
    app, kb_id = asked
    ids = waiting(command, kb_id)
    rows = [
        {"item": ids[DIET], "verdict": "wrong", "passage": 1, "reviewer": "Ana"},
        {"item": ids[DIET], "verdict": "should_refuse", "reviewer": "Ben"},
        {"item": ids[TOWER], "verdict": "right"},
        {"item": ids[DIET], "verdict": "wrong", "decision": True, "reviewer": "Eva"},
    ]
    path = tmp_path / "v.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    status, out, _ = command("kb", "review", kb_id, "--file", str(path), "--reviewer", "Ana", "--json")
    assert status == 0 and json.loads(out)["labelled"] == 2 and json.loads(out)["disputed"] == []
    for content, code in (
        ('{"item": "x", "verdict": "right"}', "review_item_not_found"),
        (json.dumps({"item": ids[DAYS], "verdict": "fine"}), "verdict_not_possible"),
        (json.dumps({"item": ids[DAYS], "verdict": "right", "passage": 99}), "verdict_not_possible"),
        ("[", "dataset_file_unreadable"),
    ):
        path.write_text(content, "utf-8")
        status, out, _ = command("kb", "review", kb_id, "--file", str(path), "--json")
        assert status == 2 and json.loads(out)["error"]["code"] == code
    assert app.get(Reviews).summary(kb_id).labelled == 2
