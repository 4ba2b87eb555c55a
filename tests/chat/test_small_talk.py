"""A greeting, thanks and what the chat can do get a short line, and nothing is searched. What asks is a question."""

from __future__ import annotations

from typing import NoReturn

import pytest

from chatbot_mvp.chat.answering import finished
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.conversation import Conversation, Turn, past_of
from chatbot_mvp.chat.records import AnswerRecord, record_of
from chatbot_mvp.chat.small_talk import asked_in, small_talk
from chatbot_mvp.chat.stream import AnswerStream
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.settings.model import Settings
from tests.chat.conftest import SOURCE, pipeline_of
from tests.fakes import FakeChatModel


@pytest.mark.parametrize(
    "message", ["Hola", "¡Buenos días!", "muchas gracias :)", "Hola, ¿qué puedes hacer?", "Thanks!"]
)
@pytest.mark.parametrize("with_model", [True, False])
def test_a_line_is_said_and_nothing_is_searched_or_asked(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, message: str, with_model: bool
) -> None:
    pipeline = pipeline_of(SOURCE, settings)

    def searched(*_: object) -> NoReturn:
        raise AssertionError("it was searched")

    monkeypatch.setattr(Pipeline, "retrieve", searched)
    model = FakeChatModel("Hola.") if with_model else DemoModel()
    stream = AnswerStream(
        pipeline, message, UserContext(), (), model=model, fallback=DemoModel(), settings=settings, done=searched
    )
    answer = AnswerRecord.from_json(record_of(finished(stream)).as_json())
    assert (answer.text, answer.outcome, answer.decided_by) == (small_talk(message), "answered", "talk")
    assert not answer.tick and not answer.from_kb and not answer.sources
    assert not isinstance(model, FakeChatModel) or not model.requests


@pytest.mark.parametrize(
    "message",
    [
        "",
        "Hola, ¿cuántos días hay?",
        "¿Gracias a quién abrió el museo?",
        "¿Qué puede hacer un socio?",
        "ok",
    ],
)
def test_what_may_ask_something_is_a_question(message: str) -> None:
    assert small_talk(message) == ""


@pytest.mark.parametrize(
    "message", ["gracias por todo", "Mil gracias, un saludo", "ok perfecto gracias.", "thanks a lot!"]
)
def test_thanks_in_any_of_its_forms_are_thanks(message: str) -> None:
    assert small_talk(message) == small_talk("thanks" if "thanks" in message else "gracias") != ""


def test_the_line_is_in_the_language_of_the_message() -> None:
    assert small_talk("hello").startswith("Hello") and small_talk("HOLA").startswith("¡Hola")


def test_thanks_between_a_question_and_its_follow_up_are_nothing_that_it_refers_to(settings: Settings) -> None:
    pipeline = pipeline_of(SOURCE, settings)

    def turn(question: str) -> Turn:
        stream = AnswerStream(
            pipeline, question, UserContext(), (), model=DemoModel(), fallback=DemoModel(), settings=settings
        )
        return Turn(question, question, "strict", "", answer=record_of(finished(stream)))

    said = past_of([turn("¿Cuántos días de vacaciones hay?"), turn("Gracias")])
    assert [one.question for one in said] == ["¿Cuántos días de vacaciones hay?"]


def test_a_conversation_that_begins_with_a_greeting_has_its_first_question_as_title() -> None:
    asked = [
        Turn(str(n), question, "strict", "")
        for n, question in enumerate(["Hola", "Buenas, ¿cuándo  abre?", "¿Y el lunes?"])
    ]
    titles = [Conversation("s", "t", "kb", "Normas", "", tuple(asked[:count])).title for count in range(4)]
    assert titles == ["", "Hola", "¿cuándo abre?", "¿cuándo abre?"]


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        ("Hola, buenas tardes. ¿De cuánto es la fianza?", "¿De cuánto es la fianza?"),
        ("hola buenas, me dices de cuánto es la fianza? gracias", "de cuánto es la fianza?"),
        ("Buenas! Una duda: ¿de cuánto es la fianza?", "¿de cuánto es la fianza?"),
        ("Por favor, ¿me podrías decir de cuánto es la fianza? Muchas gracias", "de cuánto es la fianza?"),
        ("Quería saber si hay descuento para jubilados. Gracias de antemano", "hay descuento para jubilados?"),
        ("Hi there, could you tell me when it opens? Thanks!", "when it opens?"),
        ("I'd like to know whether dogs are allowed, please", "dogs are allowed?"),
        ("Vale gracias. ¿Y los sábados?", "¿Y los sábados?"),
        ("ok perfecto gracias. y una última cosa, ¿cuánto es?", "¿cuánto es?"),
        ("Quick question: how long is it?", "how long is it?"),
        ("Hola, si pierdo la llave, ¿qué pasa?", "si pierdo la llave, ¿qué pasa?"),
    ],
)
def test_what_a_message_asks_stands_without_courtesies(message: str, asked: str) -> None:
    assert asked_in(message) == asked


@pytest.mark.parametrize(
    "message",
    [
        "",
        "Hola",
        "¿Quién da las gracias?",
        "¿Sabe nadar el perro?",
        "Buenas prácticas de laboratorio: ¿qué guantes?",
        "Perdón de deudas: ¿quién lo pide?",
        "¿Qué tal está valorado el curso?",
        "¿Qué se dice al cliente si llega tarde?",
    ],
)
def test_what_only_looks_like_a_courtesy_stays(message: str) -> None:
    assert asked_in(message) == message


@pytest.mark.parametrize("message", ["Hola, {} Gracias.", "Buenas, ¿me podrías decir {} Un saludo"])
def test_a_polite_question_is_answered_as_the_bare_one(settings: Settings, message: str) -> None:
    pipeline, bare = pipeline_of(SOURCE, settings), "¿Cuántos días de vacaciones hay?"

    def asked(question: str) -> tuple[str, str, bool]:
        stream = AnswerStream(
            pipeline, question, UserContext(), (), model=DemoModel(), fallback=DemoModel(), settings=settings
        )
        answer = record_of(finished(stream))
        return answer.outcome, answer.text, answer.tick

    assert asked(message.format(bare)) == asked(bare)
    assert asked(bare)[2]
