"""A deletion that can be undone: everything is back, for a day, and nothing is left after it."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest

from chatbot_mvp.app import App, build_app
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.sets import SetQuestion
from tests.raising import raises

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
