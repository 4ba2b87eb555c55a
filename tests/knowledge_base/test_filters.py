"""A question can be limited to some documents: which ones, and that nothing of the others shows anywhere."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from chatbot_mvp.api import DocumentFilter, UserContext
from chatbot_mvp.app import App
from chatbot_mvp.chat.records import record_of
from chatbot_mvp.documents.parsing import ParsedText
from chatbot_mvp.errors import FilterError
from chatbot_mvp.knowledge_base.changes import Describe
from chatbot_mvp.knowledge_base.versions import KbDocument, NewDocument
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.retrieval.pipeline import fingerprint
from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.settings.model import Settings
from tests.fakes import FakeEmbedder, FakeLanguageModel, fake_app
from tests.raising import raises

OPEN = {
    "rrhh/vacaciones.md": "# Vacaciones\n\n## Días de vacaciones\n\nCada persona tiene 23 días laborables de "
    "vacaciones.\n\n## Solicitud\n\nLas vacaciones se piden con un mes de antelación en el portal.",
    "rrhh/2026/horario.md": "# Horario\n\n## Horario de verano\n\nEn verano se sale a las tres de la tarde.",
    "viajes.md": "# Viajes\n\n## Kilómetros\n\nCada kilómetro se paga a veintiséis céntimos.",
}
SECRET = (
    "# Zurbarán\n\n## Vacaciones de Zurbarán\n\nLas vacaciones de Zurbarán duran 99 días; véase Horario de verano. El "
    "expediente 777001 es de Zurbarán.\n\n## Kilómetros de Zurbarán\n\nZurbarán cobra por kilómetro de vacaciones."
)
HIDDEN = ("zurbaran", "777001", "99 dias", "secreto.md")
QUESTIONS = (
    "¿Cuántos días de vacaciones hay?",
    "¿Qué dice el expediente 777001?",
    "vacaciones de Zurbaran",
    "¿Qué hay sobre «kilómetros»?",
    "zurbarna",
    "kilometros",
    "¿Quién gana la liga de fútbol?",
)


def new(path: str, text: str, **about: object) -> NewDocument:
    return NewDocument(path, ParsedText(text, "utf-8", len(text), False), text.encode(), about)


def app_of(folder: Path, strategy: str = "LEXICAL") -> tuple[App, str]:
    config = Settings(_env_file=None, data_dir=folder, retrieval_strategy=strategy, vector_store="exact")  # type: ignore[call-arg]
    app = fake_app(config, lambda _: FakeEmbedder(), DemoModel, lambda *_: FakeLanguageModel().model)
    documents = [*(new(*one) for one in OPEN.items()), new("dirección/secreto.md", SECRET, tags=("secreto",))]
    return app, app.kbs.store.keep(documents, 100_000).kb_id


def plain(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str).lower()
    return text.translate(str.maketrans("áéíóú", "aeiou"))


def document(path: str, updated: str = "2026-03-05T10:00:00+00:00", created: str = "", *tags: str) -> KbDocument:
    return KbDocument(path, "", "", 0, "utf-8", 0, False, (), 0, updated, created=created, tags=tags)


@pytest.mark.parametrize(
    ("found", "met"),
    [
        ({"folders": ["rrhh"]}, "ab"),
        ({"folders": ["rrhh/2026/"]}, "b"),
        ({"folders": ["rrhh", "x"], "tags": ["norma"]}, "b"),
        ({"tags": ["norma", "guía"]}, "bc"),
        ({"documents": ["c.md"]}, "c"),
        ({"since": "2026-03-05"}, "ac"),
        ({"until": "2026-03-05"}, "ab"),
        ({"since": "2025-01-01", "until": "2025-12-31", "dated": "created"}, "c"),
        ({"since": "2020-01-01", "dated": "created"}, "bc"),
        ({"folders": ["rrh"]}, ""),
        ({}, "abc"),
    ],
)
def test_a_document_has_to_meet_every_kind_and_one_of_each(found: dict[str, object], met: str) -> None:
    documents = {
        "a": document("rrhh/a.md"),
        "b": document("rrhh/2026/b.md", "2026-02-01T00:00:00+00:00", "2024-05-01", "norma"),
        "c": document("c.md", "2026-04-01T00:00:00+00:00", "2025-05-01", "guía"),
    }
    chosen = DocumentFilter.from_json(found)
    assert "".join(name for name, one in documents.items() if chosen.meets(one)) == met
    assert DocumentFilter.from_text(chosen.as_text()) == chosen
    assert DocumentFilter.from_json(chosen.as_json()) == chosen


@pytest.mark.parametrize(
    "found",
    [
        [],
        {"folder": ["a"]},
        {"tags": "a"},
        {"tags": [""]},
        {"since": "hoy"},
        {"since": 5},
        {"dated": "read"},
        {"since": "2026-02-02", "until": "2026-02-01"},
        {"documents": ["a"] * 1_001},
    ],
)
def test_what_is_no_filter_is_refused_with_what_is_legal(found: object) -> None:
    with raises("filter_illegal", match="Legal is"):
        DocumentFilter.from_json(found)


@pytest.mark.parametrize("strategy", list(STRATEGIES))
def test_nothing_of_other_documents_shows_in_any_answer(strategy: str, tmp_path: Path) -> None:
    app, kb_id = app_of(tmp_path, strategy)
    chosen = DocumentFilter(documents=tuple(OPEN))
    app.kbs.pipeline(kb_id)
    leaked = plain(record_of(app.answering.ask(kb_id, QUESTIONS[0])).as_json())
    assert any(word in leaked for word in HIDDEN), "without a filter it is found"
    for question in QUESTIONS:
        answer = app.answering.ask(kb_id, question, UserContext(documents=chosen))
        told = record_of(answer).as_json()
        typed = [told["debug"].pop("query"), told["debug"].pop("prompt")]  # they repeat what the reader typed
        assert typed
        said = plain(told)
        for word in plain(question).split():
            said = said.replace(word.strip('"¿?'), "")
        assert not [word for word in HIDDEN if word in said], (question, said)
        prompt = plain([message.content for message in answer.messages])
        assert "duran 99" not in prompt
        assert "cobra por" not in prompt
    assert not [word for word in HIDDEN if word in plain(app.kbs.suggested_questions(kb_id, 20, chosen))]
    assert app.kbs.suggested_questions(kb_id, 20, chosen)


def test_the_evidence_is_that_of_the_chosen_documents(tmp_path: Path) -> None:
    app, kb_id = app_of(tmp_path)
    question = "¿A cuánto se paga cada kilómetro?"
    for chosen, outcome in (
        (DocumentFilter(documents=("viajes.md",)), "answered"),
        (DocumentFilter(folders=("rrhh",)), "refused"),
    ):
        answer = app.answering.ask(kb_id, question, UserContext(documents=chosen))
        assert answer.outcome in {"answered": ("answered",), "refused": ("nearest", "refused")}[outcome]
        assert {source.place.file for source in answer.sources if source.place} <= {"viajes.md"}


def test_no_document_that_meets_it_is_said_and_is_no_answer(tmp_path: Path) -> None:
    app, kb_id = app_of(tmp_path)
    with raises("filter_matches_nothing", match=r"folders: dirección, rrhh, rrhh/2026; tags: secreto"):
        app.answering.ask(kb_id, QUESTIONS[0], UserContext(documents=DocumentFilter(tags=("nada",))))


def test_a_filter_follows_the_documents_as_they_change(tmp_path: Path) -> None:
    app, kb_id = app_of(tmp_path)
    chosen = UserContext(documents=DocumentFilter(tags=("norma",)))
    with pytest.raises(FilterError):
        app.answering.ask(kb_id, QUESTIONS[0], chosen)
    app.kb_changes.change(kb_id, [Describe("rrhh/vacaciones.md", {"tags": ("norma",)})])
    answer = app.answering.ask(kb_id, QUESTIONS[0], chosen)
    assert {source.place.file for source in answer.sources if source.place} == {"rrhh/vacaciones.md"}


def test_the_setting_limits_questions_that_name_no_documents_and_is_part_of_the_fingerprint(tmp_path: Path) -> None:
    app, kb_id = app_of(tmp_path)
    limited = DocumentFilter(documents=tuple(OPEN)).as_text()
    settings = app.settings.with_changes(kb_filter=limited)
    assert fingerprint(settings) != fingerprint(app.settings)
    assert fingerprint(app.settings.with_changes(kb_filter="")) == fingerprint(app.settings)
    pipeline = app.kbs.pipeline_under(kb_id, settings)
    assert not any("Zurbarán" in chunk.text for chunk in pipeline.index.chunks)
    context = UserContext(retrieval=(("kb_filter", limited),))
    assert "99 días" not in app.answering.ask(kb_id, "¿Cuántos días duran las vacaciones?", context).text
    with pytest.raises(FilterError):
        app.kbs.pipeline_under(kb_id, settings.with_changes(kb_filter="{"))


def test_a_turn_keeps_its_filter(tmp_path: Path) -> None:
    app, kb_id = app_of(tmp_path)
    session = app.chat.new_session()
    conversation = app.chat.start(session, kb_id, "x")
    chosen = DocumentFilter(folders=("rrhh",), since="2026-01-01")
    turn = app.chat.begin(session, conversation, QUESTIONS[0], UserContext(documents=chosen))
    assert turn.join(30)
    again = app.chat.begin(session, conversation, QUESTIONS[0], UserContext(documents=DocumentFilter(tags=("nada",))))
    assert again.join(30)
    [kept, failed] = app.chat.conversation(session, conversation).turns
    assert (kept.documents, kept.state) == (chosen, "done")
    assert failed.failure is not None
    assert failed.failure.code == "filter_matches_nothing"
