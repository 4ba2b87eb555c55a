"""With a model, a tick means that every sentence was checked: none stands over what the passages do not say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbot_mvp.chat.answering import finished
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.garbage import garbage_in
from chatbot_mvp.chat.records import AnswerRecord, record_of
from chatbot_mvp.chat.stream import AnswerStream
from chatbot_mvp.llm.base import ChatRequest, Completion, FinishReason, Usage
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk
from tests.chat.conftest import INSIDE, SOURCE, pipeline_of
from tests.fakes import FakeChatModel

TRUE = "Cada persona dispone de 23 días laborables de vacaciones. [1]"
FENCE = "<datos-0a1b2c3d>"


class Saying(FakeChatModel):
    """A model that says this, for this reason, and counts so many tokens of its prompt."""

    finish: FinishReason = "stop"
    counted: int | None = None

    def complete(self, request: ChatRequest) -> Completion:
        return replace(super().complete(request), finish_reason=self.finish, usage=Usage(self.counted, 3))


def answered(settings: Settings, model: FakeChatModel) -> AnswerRecord:
    stream = AnswerStream(
        pipeline_of(SOURCE, settings),
        INSIDE,
        UserContext(),
        (),
        model=model,
        fallback=DemoModel(),
        settings=settings.with_changes(kb_min_evidence=0.0, kb_doubt_evidence=0.0),
    )
    return record_of(finished(stream))


@pytest.mark.parametrize("text", [TRUE, TRUE.removesuffix(" [1]"), f"{TRUE} La solicitud va al portal. [1]"])
def test_an_answer_whose_every_sentence_is_supported_has_a_tick(settings: Settings, text: str) -> None:
    answer = answered(settings, FakeChatModel(text))
    assert (answer.outcome, answer.tick, answer.as_reply()["tick"]) == ("answered", True, True)


UNTICKED = {
    "wrong": "Cada persona dispone de 40 días laborables de vacaciones. [1]",
    "half right": f"{TRUE} La torre mide 330 metros y es de hierro. [1]",
    "uncited beside": f"{TRUE} Además, en Marte se paga el doble.",
    "its fence": f"{FENCE}\n{TRUE}\n{FENCE}",
    "its fence alone": "\n".join([FENCE] * 13),
    "the same again": f"{TRUE} {TRUE} {TRUE}",
    "another script": f"{TRUE} 假期",
    "another language": "Each person has 23 working days of holidays, and the request is sent to the portal. [1]",
    "nothing to check": "# Respuesta",
    "declines": "No encuentro en la base de conocimiento información suficiente para responder a esa pregunta.",
}


@pytest.mark.parametrize("text", UNTICKED.values(), ids=list(UNTICKED))
def test_nothing_else_has_one(settings: Settings, text: str) -> None:
    assert not answered(settings, FakeChatModel(text)).tick


def test_a_half_right_answer_stays_with_its_marks_and_a_wrong_one_gives_what_is_nearest(settings: Settings) -> None:
    half = answered(settings, FakeChatModel(UNTICKED["half right"]))
    assert half.outcome == "answered" and [one.supported for one in half.statements] == [True, False]
    wrong = answered(settings, FakeChatModel(UNTICKED["wrong"]))
    assert (wrong.outcome, wrong.why) == ("nearest", "unsupported") and "40" not in wrong.text


@pytest.mark.parametrize("finish", ["length", "filtered"])
def test_an_answer_that_was_stopped_has_none(settings: Settings, finish: FinishReason) -> None:
    model = Saying(TRUE)
    model.finish = finish
    assert not answered(settings, model).tick


def test_a_prompt_of_which_far_fewer_tokens_are_counted_was_cut(settings: Settings) -> None:
    for counted, cut in ((None, False), (10, True), (100_000, False)):
        model = Saying(TRUE)
        model.counted = counted
        assert answered(settings, model).prompt_cut is cut


def test_the_name_of_a_passage_is_no_answer() -> None:
    passage = Chunk("c", "d", "tarifas > Taller La Biela > Garantía", "La garantía dura tres meses.", 0, 28)
    for text, garbage in (
        ("[1] tarifas / Taller La Biela / Garantía [1]", "fence"),
        ("tarifas > Taller La Biela > Garantía", "fence"),
        ("Taller La Biela [1]", ""),
        ("La garantía dura tres meses. [1]", ""),
    ):
        assert garbage_in(text, "¿Cuánto dura la garantía?", [passage]) == garbage


def test_names_and_numbers_make_no_language_and_a_list_no_repetition() -> None:
    assert garbage_in("Python, Django, Flask. [1]", INSIDE, ()) == ""
    assert garbage_in("- Madrid: 3 días de vacaciones\n- Lugo: 4 días de vacaciones", INSIDE, ()) == ""
