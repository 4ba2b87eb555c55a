"""A deletion that can be undone: everything is back, for a day, and nothing is left after it."""

from __future__ import annotations

import json
import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.chat import limits, purging
from chatbot_mvp.errors import ConversationNotFound, QuestionSetNotFound
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.sets import SetQuestion
from tests.moving import moving_kb
from tests.raising import raises

ME = "0123456789abcdef0123456789abcdef"
TEXT = "# Museo\n\nEl museo cierra los lunes por la tarde.\n"


def test_a_deleted_base_comes_back_with_its_questions_as_the_newest(app: App) -> None:
    kb_id = app.kbs.add("museo.md", TEXT.encode()).kb_id
    other = app.kbs.add("otra.md", b"# Otra\n\nNada.\n").kb_id
    made = replace(app.question_sets.empty_set(kb_id, "x"), questions=(SetQuestion(KbQuestion("", "¿Cierra?")),))
    app.question_sets.save(made)
    app.kbs.delete(kb_id, undoable=True)
    assert [one.kb_id for one in app.kbs.records()] == [other]
    assert [one.kb_name for one in app.kbs.deleted()] == ["museo.md"]
    app.kbs.undelete(kb_id)
    assert [one.kb_id for one in app.kbs.records()] == [kb_id, other]
    assert app.kbs.deleted() == []
    assert [one.name for one in app.question_sets.sets(kb_id)] == ["x"]
    assert "lunes" in app.answering.ask(kb_id, "¿Qué día cierra el museo?").text
    with raises("kb_not_found"):
        app.kbs.undelete(kb_id)


def test_what_was_added_again_meanwhile_stays(app: App) -> None:
    kb_id = app.kbs.add("museo.md", TEXT.encode()).kb_id
    app.kbs.delete(kb_id, undoable=True)
    assert app.kbs.add("museo.md", TEXT.encode()).kb_id == kb_id
    with raises("kb_name_taken"):
        app.kbs.undelete(kb_id)
    app.kbs.delete(kb_id, undoable=True)
    assert len(app.kbs.deleted()) == 1


@pytest.mark.parametrize("seen", ["deleted", "start"])
def test_after_a_day_nothing_is_left(app: App, seen: str) -> None:
    kb_id = app.kbs.add("museo.md", TEXT.encode()).kb_id
    app.kbs.delete(kb_id, undoable=True)
    folder = app.settings.kb_deleted_dir / kb_id
    os.utime(folder, (0, time.time() - 23 * 3_600))
    assert len(app.kbs.deleted()) == 1
    os.utime(folder, (0, time.time() - 25 * 3_600))
    app.kbs.deleted() if seen == "deleted" else build_app(app.settings)
    assert not folder.exists()


def test_without_it_nothing_is_kept(app: App) -> None:
    kb_id = app.kbs.add("museo.md", TEXT.encode()).kb_id
    app.kbs.delete(kb_id)
    assert not app.settings.kb_deleted_dir.exists()


def test_a_deleted_conversation_comes_back_as_it_was_and_to_nobody_else(app: App) -> None:
    own = app.chat.start(ME, app.kbs.add("museo.md", TEXT.encode()).kb_id, "Museo")
    app.chat.rename(ME, own, "El museo")
    app.chat.delete(ME, own, undoable=True)
    assert app.chat.heads(ME) == [] and [one.title for one in app.chat.deleted(ME)] == ["El museo"]
    other = ME[::-1]
    assert app.chat.deleted(other) == []
    with pytest.raises(ConversationNotFound):
        app.chat.undelete(other, own)
    app.chat.undelete(ME, own)
    assert app.chat.conversation(ME, own).title == "El museo" and app.chat.deleted(ME) == []


def test_what_a_conversation_says_after_its_deletion_is_there_after_the_undo(
    app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = app.chat.start(ME, app.kbs.add("museo.md", TEXT.encode()).kb_id, "Museo")
    app.chat.delete(ME, own, undoable=True)
    path = app.settings.conversations_dir / ME / f"{own}.jsonl"
    path.write_text('{"type": "rename", "title": "Tarde", "at": "2026-01-01T00:00:00Z"}\n')
    monkeypatch.setattr(limits, "MOST_CONVERSATIONS", 1)
    app.chat.undelete(ME, own)
    lines = path.read_text().splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["conversation", "rename"]
    app.chat.delete(ME, own, undoable=True)
    app.chat.start(ME, "otra", "Otra")
    with raises("too_many_conversations"):
        app.chat.undelete(ME, own)


def test_a_purge_meets_a_conversation_that_is_deleted_while_it_runs(app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    kb_id, met = moving_kb(app), list[Path]()
    first, second = sorted(app.chat.start(ME, kb_id, "Manual") for _ in range(2))

    def meets(path: Path, _: object) -> bool:
        if not met:
            app.chat.delete(ME, second, undoable=True)
        met.append(path)
        return False

    monkeypatch.setattr(purging, "purge_lines", meets)
    app.kb_changes.purge(kb_id, ["personas/vacaciones.md"])
    assert met[0].stem == first
    assert app.settings.deleted_conversations_dir / ME / f"{second}.jsonl" in met


def test_a_set_comes_back_only_into_a_base_that_is_there(app: App) -> None:
    kb_id = app.kbs.add("museo.md", TEXT.encode()).kb_id
    made = app.question_sets.save(replace(app.question_sets.empty_set(kb_id, "Mías")))
    app.question_sets.delete_set(kb_id, made.set_id, undoable=True)
    app.kbs.delete(kb_id, undoable=True)
    with raises("kb_not_found"):
        app.question_sets.undelete_set(kb_id, made.set_id)
    app.kbs.undelete(kb_id)
    assert app.question_sets.deleted(kb_id) == [made]


def test_another_name_that_is_the_same_is_no_change(app: App) -> None:
    kb_id = app.kbs.add("museo.md", TEXT.encode()).kb_id
    for name in ("Museo", " Museo ", "Museo"):
        assert app.kbs.rename(kb_id, name).kb_name == "Museo"
    assert len(app.kb_changes.history(kb_id)) == 2


def test_a_deleted_set_comes_back_unless_it_was_saved_again(app: App) -> None:
    kb_id, sets = app.kbs.add("museo.md", TEXT.encode()).kb_id, app.question_sets
    made = sets.save(replace(sets.empty_set(kb_id, "Mías"), questions=(SetQuestion(KbQuestion("", "¿Cierra?")),)))
    sets.delete_set(kb_id, made.set_id, undoable=True)
    assert sets.sets(kb_id) == [] and sets.deleted(kb_id) == [made]
    sets.undelete_set(kb_id, made.set_id)
    assert sets.sets(kb_id) == [made] and sets.deleted(kb_id) == []
    sets.delete_set(kb_id, made.set_id, undoable=True)
    again = sets.save(replace(made, name="Otra vez"))  # by who still had it open
    assert sets.deleted(kb_id) == []
    sets.undelete_set(kb_id, made.set_id)
    assert sets.sets(kb_id) == [again]


@pytest.mark.parametrize("seen", ["deleted", "start"])
def test_after_a_day_neither_conversation_nor_set_is_left(app: App, seen: str) -> None:
    kb_id = app.kbs.add("museo.md", TEXT.encode()).kb_id
    own, made = app.chat.start(ME, kb_id, "Museo"), app.question_sets.empty_set(kb_id, "Mías")
    app.chat.delete(ME, own, undoable=True)
    app.question_sets.delete_set(kb_id, made.set_id, undoable=True)
    paths = [*app.settings.kb_deleted_dir.glob(".*/**/*.json*")]
    assert len(paths) == 2 and app.chat.deleted(ME) and app.question_sets.deleted(kb_id)
    for path in paths:
        os.utime(path, (0, time.time() - 25 * 3_600))
    app.chat.deleted(ME) if seen == "deleted" else build_app(app.settings)
    app.question_sets.deleted(kb_id) if seen == "deleted" else None
    assert not any(path.exists() for path in paths)
    with pytest.raises(QuestionSetNotFound):
        app.question_sets.undelete_set(kb_id, made.set_id)


def test_with_a_base_that_is_deleted_for_good_its_deleted_sets_go(app: App) -> None:
    kb_id = app.kbs.add("museo.md", TEXT.encode()).kb_id
    made = app.question_sets.empty_set(kb_id, "Mías")
    app.question_sets.delete_set(kb_id, made.set_id, undoable=True)
    app.kbs.delete(kb_id)
    assert not [*app.settings.kb_deleted_dir.glob("**/*.json")]
