"""What an answer cited is found again after its knowledge base has changed, or is said to have changed or gone."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.chat.citations import Source
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.records import AnswerRecord, record_of
from chatbot_mvp.chat.transcripts import answer_text
from chatbot_mvp.knowledge_base.changes import Move, Remove
from chatbot_mvp.storage.clock import age_of
from tests.moving import ALLOWANCES, HOLIDAYS, HOW_MANY_DAYS, app_over, document, moving_kb


@pytest.fixture
def app(tmp_path: Path, clean_env: Path) -> App:
    return app_over(tmp_path / "data")


@pytest.fixture
def kb_id(app: App) -> str:
    return moving_kb(app)


def cited(app: App, kb_id: str, question: str = HOW_MANY_DAYS) -> Source:
    return app.answering.ask(kb_id, question).sources[0]


def state(app: App, source: Source) -> str:
    now = app.answering.citation_now(source)
    assert now is not None
    return now.state


def test_a_citation_names_document_version_and_when_its_content_came(app: App, kb_id: str) -> None:
    app.kb_changes.change(kb_id, new=[document("gastos/dietas.md", ALLOWANCES.replace("48", "52"))])
    place = cited(app, kb_id).place
    assert place is not None
    [holidays] = [one for one in app.kb_changes.documents(kb_id) if one.path == "personas/vacaciones.md"]
    assert (place.file, place.version, place.updated_at) == (holidays.path, 2, holidays.updated_at)
    assert place.version_id == app.kbs.store.record(kb_id).version


def test_the_record_of_an_answer_keeps_the_version_and_an_older_record_opens_without(app: App, kb_id: str) -> None:
    record = record_of(app.answering.ask(kb_id, HOW_MANY_DAYS))
    stored = json.loads(json.dumps(record.as_json()))
    assert AnswerRecord.from_json(stored).sources == record.sources
    assert record.as_reply()["sources"][0]["version"] == 1
    for source in stored["sources"]:
        for key in ("version", "version_id", "updated_at"):
            del source[key]
    [old] = AnswerRecord.from_json(stored).sources
    assert old.place is not None
    assert (old.place.file, old.place.version, old.place.updated_at) == ("personas/vacaciones.md", 0, "")
    assert state(app, old) == "same"


def test_exported_answers_name_version_and_day(app: App, kb_id: str) -> None:
    record = record_of(app.answering.ask(kb_id, HOW_MANY_DAYS))
    day = app.kb_changes.documents(kb_id)[0].updated_at[:10]
    assert f"personas/vacaciones.md, versión 1, actualizado el {day}, " in answer_text(record, "es")
    assert f"personas/vacaciones.md, version 1, updated on {day}, " in answer_text(record, "en")


def test_what_was_cited_is_the_same_while_only_others_change(app: App, kb_id: str) -> None:
    source = cited(app, kb_id)
    app.kb_changes.change(kb_id, [Remove("edificio/")], [document("a.md", "# Antes\n\nUn texto delante de todos.\n")])
    now = app.answering.citation_now(source)
    assert now is not None and now.place is not None
    assert (now.state, now.place.file, now.place.version) == ("same", "personas/vacaciones.md", 2)
    assert app.kbs.document(kb_id).text[now.start : now.end] == source.cited
    assert now.start != source.chunk.start


def test_another_paragraph_of_the_document_is_no_change_of_what_was_cited(app: App, kb_id: str) -> None:
    source = cited(app, kb_id)
    changed = HOLIDAYS.replace("se pierden", "se acumulan")
    app.kb_changes.change(kb_id, new=[document("personas/vacaciones.md", changed)])
    assert state(app, source) == "same"


def test_a_document_under_another_path_is_moved(app: App, kb_id: str) -> None:
    source = cited(app, kb_id)
    app.kb_changes.change(kb_id, [Move("personas/", "rrhh/")])
    now = app.answering.citation_now(source)
    assert now is not None and now.place is not None
    assert (now.state, now.place.file) == ("moved", "rrhh/vacaciones.md")


def test_a_changed_paragraph_is_shown_as_it_is_now(app: App, kb_id: str) -> None:
    source = cited(app, kb_id)
    changed = HOLIDAYS.replace("23 días", "25 días")
    app.kb_changes.change(kb_id, new=[document("personas/vacaciones.md", changed)])
    now = app.answering.citation_now(source)
    assert now is not None
    assert (now.state, now.text) == ("changed", source.cited.replace("23 días", "25 días"))


def test_a_removed_document_is_gone_and_back_again_when_it_is_restored(app: App, kb_id: str) -> None:
    source = cited(app, kb_id)
    app.kb_changes.change(kb_id, [Remove("personas/vacaciones.md")])
    assert state(app, source) == "gone"
    assert "23 días" in source.chunk.text
    app.kb_changes.restore(kb_id, "1")
    assert state(app, source) == "same"


def test_a_source_without_a_file_is_looked_for_everywhere(app: App, kb_id: str) -> None:
    source = replace(cited(app, kb_id), place=None)
    app.kb_changes.change(kb_id, [Move("personas/", "rrhh/")])
    assert state(app, source) == "same"


def test_a_deleted_knowledge_base_says_nothing(app: App, kb_id: str) -> None:
    source = cited(app, kb_id)
    app.kbs.delete(kb_id)
    assert app.answering.citation_now(source) is None


def test_a_conversation_goes_on_with_the_new_version_and_its_old_answer_stays(app: App, kb_id: str) -> None:
    session = "0123456789abcdef0123456789abcdef"
    conversation = app.chat.start(session, kb_id, "Manual de la casa")
    for text in (HOLIDAYS, HOLIDAYS.replace("23", "25")):
        app.kb_changes.change(kb_id, new=[document("personas/vacaciones.md", text)])
        assert app.chat.begin(session, conversation, HOW_MANY_DAYS, UserContext()).join(60)
    answers = [turn.answer for turn in app.chat.conversation(session, conversation).turns]
    assert [("23" in a.text, a.sources[0].place.version) for a in answers if a and a.sources[0].place] == [
        (True, 1),
        (False, 2),
    ]


@pytest.mark.parametrize(
    ("at", "age"),
    [("2020-01-01T00:00:00.000+00:00", "years"), ("no time", ""), ("", "")],
)
def test_ages(at: str, age: str) -> None:
    assert age_of(at)[0] == age
