"""A follow-up is searched with the question before it, if that is what brings its evidence."""

from __future__ import annotations

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.followup import find, leans
from chatbot_mvp.llm.base import ChatRequest
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import PastTurn
from tests.chat.conftest import ChatService, pipeline_of
from tests.fakes import FakeChatModel

HOLIDAYS = PastTurn("¿Cuántos días laborables de vacaciones tiene cada persona?", "23 días laborables. [1]")
REMOTE = PastTurn("¿Cuántos días por semana se puede teletrabajar?", "Hasta 2 días por semana. [1]")


@pytest.fixture
def handbook(app: App) -> Pipeline:
    text = (app.settings.samples_dir / "kb" / "politica_empresa.md").read_text("utf-8")
    return pipeline_of(text, app.settings)


@pytest.mark.parametrize(
    ("before", "question", "section"),
    [
        (HOLIDAYS, "¿Y cómo se piden?", "Vacaciones"),
        (HOLIDAYS, "¿Con cuánta antelación?", "Vacaciones"),
        (HOLIDAYS, "¿Y si no contesta el responsable?", "Vacaciones"),
        (REMOTE, "¿Y los de producción?", "Teletrabajo"),
        (REMOTE, "¿Y cuánto pagan?", "Teletrabajo"),
        # What has a pronoun, or no more than the words for an amount of time, names nothing of its own.
        (HOLIDAYS, "¿Y si lo pospongo fuera?", "Vacaciones"),
        (REMOTE, "¿Y cuánto tardará?", "Teletrabajo"),
    ],
)
def test_a_follow_up_takes_its_topic_from_the_question_before(
    handbook: Pipeline, before: PastTurn, question: str, section: str
) -> None:
    assert find(handbook, question, []).how == ""
    followed = find(handbook, question, [before])
    assert (followed.how, followed.trace.chunks_final[0].chunk.section) == ("previous", section)
    assert followed.query == f"{before.question} {question}"


@pytest.mark.parametrize("before", [HOLIDAYS, REMOTE])
@pytest.mark.parametrize(
    "question",
    [
        "¿Quién ganó la vuelta?",
        "¿Y qué altura tiene la torre Eiffel?",
        "¿Y en Japón?",
        "¿Cuánto cuesta la llave?",
        "¿Se pueden cambiar por dinero?",
        "¿De cuánto es la dieta completa fuera de España?",
        "Explique con detalle la política fiscal de la Unión Europea en materia de carburantes",
    ],
)
def test_a_question_about_something_else_gets_no_evidence_from_the_one_before(
    handbook: Pipeline, before: PastTurn, question: str
) -> None:
    """Else anything short would be answered with what the last question was about."""
    found = find(handbook, question, [before])
    assert (found.query, found.how) == (question, "")


def test_a_chain_of_follow_ups_keeps_its_topic(handbook: Pipeline, settings: Settings) -> None:
    service = ChatService(DemoModel(), settings, DemoModel())
    history: list[PastTurn] = []
    sections = []
    for question in (REMOTE.question, "¿Y los de producción?", "¿Y cuánto pagan?"):
        answer = service.ask(handbook, question, UserContext(), history)
        history.append(PastTurn(question, answer.text, answer.search.query))
        sections.append(answer.trace.chunks_final[0].chunk.section)
    assert sections == ["Teletrabajo"] * 3


def test_without_history_a_question_stands_as_it_is(handbook: Pipeline) -> None:
    assert find(handbook, "¿Y eso?", []).query == "¿Y eso?"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("¿Y para los menores?", True),
        ("What about it?", True),
        ("¿Cuánto cuesta?", True),
        ("¿Por qué?", True),
        ("", True),
        ("¿Y quién lo da?", True),
        ("¿Qué formulario hay que firmar?", False),
        # A noun of its own is a topic of its own.
        ("¿Cuánto cuesta la llave?", False),
        ("¿Dónde está el comedor?", False),
        ("¿Cuánto llueve este mes?", False),
        ("¿Cuántos libros puede llevarse cada lector durante las vacaciones de verano?", False),
        ("¿Y cuántos libros puede llevarse cada lector durante las vacaciones de verano en la sala municipal?", False),
    ],
)
def test_what_leans(handbook: Pipeline, question: str, expected: bool) -> None:
    assert leans(question, handbook) == expected


def test_a_model_may_rewrite_a_follow_up_which_is_searched_but_never_obeyed(
    handbook: Pipeline, settings: Settings
) -> None:
    """The rewritten question is a search query; what the model is asked stays the person's own words."""
    rewritten = "¿Cuántos euros al mes se pagan por teletrabajar?"

    def reply(request: ChatRequest) -> str:
        return f"{rewritten}\nSobra." if "Reescribes" in request.messages[0].content else "35 euros al mes. [1]"

    model = FakeChatModel(reply)
    service = ChatService(model, settings.with_changes(chat_rewrite_followups=True), DemoModel())
    answer = service.ask(handbook, "¿Y cuánto pagan?", UserContext(kb_doubt_evidence=1.0), [REMOTE])
    assert (answer.search.how, answer.search.query) == ("rewritten", rewritten)
    assert model.requests[-1].messages[1].content.splitlines()[-2] == "¿Y cuánto pagan?"
    assert "Sobra" not in answer.search.query
