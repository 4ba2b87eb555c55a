"""A model is asked once what a question could mean, only where no rule knows and the shape leaves it open."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from chatbot_mvp.chat.answer import Answer
from chatbot_mvp.chat.answering import finished
from chatbot_mvp.chat.asking_model import readings_of, rivals
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.followup import find
from chatbot_mvp.chat.prompting import which_one
from chatbot_mvp.chat.records import AnswerRecord, record_of
from chatbot_mvp.llm.base import ChatRequest, Completion
from chatbot_mvp.llm.creation import create_chat_model
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.text import Analyzer, fold
from chatbot_mvp.types import Chunk, PastTurn
from tests.chat.conftest import ChatService, pipeline_of
from tests.chat.test_asking_back import OFFICE
from tests.fakes import FailingChatModel, FakeChatModel
from tests.llm.openai_stub import OpenAiStub

OPEN = "¿De qué color es la ropa?"
"""Fits the uniforms of three departments alike, and no rule says so."""
SALES, WORKSHOP = "¿De qué color son los uniformes de Ventas?", "¿De qué color son los uniformes del taller?"
TWO = f"2 | uniformes de Ventas | {SALES}\n3 | uniformes de Taller | {WORKSHOP}"
ANSWER = "Los uniformes de Finanzas son de color gris. [1]"


@pytest.fixture
def office(settings: Settings) -> Pipeline:
    return pipeline_of(OFFICE, settings)


@pytest.fixture
def on(settings: Settings) -> Settings:
    return settings.with_changes(chat_asks_back_with_model=True)


def wants_readings(request: ChatRequest) -> bool:
    return "CLARA" in request.messages[0].content or "CLEAR" in request.messages[0].content


def model_saying(readings: str) -> FakeChatModel:
    """Gives ``readings`` when asked for them, a high relevance, and else an answer."""

    def reply(request: ChatRequest) -> str:
        if wants_readings(request):
            return readings
        return "9" if request.options.max_tokens == 16 else ANSWER

    return FakeChatModel(reply)


def ask(
    pipeline: Pipeline, settings: Settings, model: FakeChatModel, question: str = OPEN, *history: PastTurn, **own: bool
) -> Answer:
    return ChatService(model, settings, DemoModel()).ask(pipeline, question, UserContext(**own), history)


def asked(model: FakeChatModel) -> int:
    return sum(map(wants_readings, model.requests))


def test_what_no_rule_knows_is_asked_of_the_model_once_and_nothing_else_is_asked(
    office: Pipeline, on: Settings
) -> None:
    model = model_saying(TWO)
    answer = ask(office, on, model)
    assert (answer.outcome, answer.why, answer.text) == ("asks", "readings", which_one("es"))
    assert answer.nearest is not None
    assert [one.question for one in answer.nearest.did_you_mean] == [SALES, WORKSHOP]
    assert ["azul" in p.chunk.text or "verde" in p.chunk.text for p in answer.nearest.passages] == [True, True]
    assert len(model.requests) == asked(model) == 1
    assert model.requests[0].options.max_tokens
    prompt = model.requests[0].messages[1].content
    assert all(f"[{number}] {name} / Uniformes" in prompt for number, name in ((2, "Ventas"), (3, "Taller")))


@pytest.mark.parametrize(
    "question",
    [
        "¿Color de Finanzas y Ventas?",  # names headings, though both fit alike
        "¿De qué color son las camisas, los pantalones y los zapatos?",  # says much
        "¿Qué son de color azul?",  # one place is far ahead
        "¿A qué hora abren?",  # too far from what the documents are about: it would be refused
        "¿Cuál es el horario?",  # the rules know
    ],
)
def test_where_the_shape_says_enough_the_model_is_not_asked(office: Pipeline, on: Settings, question: str) -> None:
    model = model_saying(TWO)
    answer = ask(office, on, model, question)
    assert (asked(model), answer.readings_request) == (0, None)


def test_the_shape_tells_an_open_question_from_the_same_one_with_a_name(office: Pipeline) -> None:
    """Else the test above would hold for a shape that lets no question pass."""
    shown = rivals(office, OPEN, find(office, OPEN, ()))
    assert [one.section for one in shown] == [f"{name} > Uniformes" for name in ("Finanzas", "Ventas", "Taller")]
    assert all(len(one.text) == one.end - one.start <= 500 for one in shown)
    named = "¿De qué color es la ropa de Ventas?"
    assert rivals(office, named, find(office, named, ())) == []


def test_nobody_who_did_not_choose_it_pays_for_it(office: Pipeline, on: Settings, settings: Settings) -> None:
    """It is off by default, in general mode, for a reading that was chosen, after asking back, and without a model."""
    for changed, own in (
        (settings, {}),
        (on.with_changes(chat_asks_back=False), {}),
        (on, {"is_reading": True}),
    ):
        model = model_saying(TWO)
        assert ask(office, changed, model, **own).outcome == "answered"
        assert asked(model) == 0
    general = model_saying(TWO)
    ChatService(general, on, DemoModel()).ask(office, OPEN, UserContext("general"))
    just = model_saying(TWO)
    ask(office, on, just, OPEN, PastTurn("¿De qué color son?", f"{which_one('es')}\n- {SALES}"))
    quoting = FakeChatModel(TWO, needs_evidence=True)
    ask(office, on, quoting)
    assert (asked(general), asked(just), asked(quoting)) == (0, 0, 0)


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("CLARA", "clear"),
        (" «Clear».\n", "clear"),
        (f"2 | uniformes de Ventas | {SALES}\n3 | uniformes de Taller | ¿Uniformes de Ventas, de qué color?", "clear"),
        (f"2 | uniformes de Ventas | {SALES}", "clear"),
        ("No sabría decirle, la verdad.", "unreadable"),
        (f"{SALES}\n{WORKSHOP}", "unreadable"),
        ("", "unreadable"),
    ],
)
def test_without_two_readings_that_lead_to_different_passages_the_question_is_clear(
    office: Pipeline, on: Settings, reply: str, said: str
) -> None:
    model = model_saying(reply)
    answer = ask(office, on, model)
    assert answer.readings_request is not None
    assert (answer.outcome, answer.readings_request.said, asked(model)) == ("answered", said, 1)


def test_a_reply_that_was_cut_loses_its_last_line(office: Pipeline, on: Settings) -> None:
    class Cut(FakeChatModel):
        def complete(self, request: ChatRequest) -> Completion:
            return replace(super().complete(request), finish_reason="length")

    answer = ask(office, on, Cut(model_saying(TWO).reply))
    assert answer.readings_request is not None
    assert answer.readings_request.said == "clear"


def test_a_provider_that_fails_and_a_user_who_stops_leave_the_question_clear(office: Pipeline, on: Settings) -> None:
    failing = FailingChatModel()
    answer = ask(office, on, failing)
    assert answer.readings_request is not None
    assert (answer.outcome == "asks", answer.readings_request.said, asked(failing)) == (False, "failed", 1)
    model = model_saying(TWO)
    stream = ChatService(model, on, DemoModel()).ask_stream(office, OPEN)
    stream.cancel()
    stopped = finished(stream)
    assert stopped.readings_request is not None
    assert (stopped.outcome == "asks", stopped.readings_request.said, model.requests) == (False, "failed", [])


def test_over_the_wire_the_request_and_its_tokens_are_counted_and_the_same_question_costs_nothing_again(
    office: Pipeline, on: Settings
) -> None:
    with OpenAiStub() as stub:
        stub.reply = TWO
        model = create_chat_model(on.with_changes(provider="openai", openai_api_key="k", openai_base_url=stub.url))
        service = ChatService(model, on, DemoModel())
        first, again = (service.ask(office, OPEN) for _ in range(2))
        assert stub.calls == 1
        sent = stub.requests[-1].json["messages"]
        assert re.search(r"\n</datos-[0-9a-f]{8}>\n\nPregunta:\n<datos-[0-9a-f]{8}>\n.+la ropa", sent[1]["content"])
    assert (first.outcome, again.outcome) == ("asks", "asks")
    record = record_of(first)
    assert AnswerRecord.from_json(record.as_json()) == record
    told = record.as_reply()["asked_back"]
    assert told == record.asked_back
    assert (told["said"], told["cached"]) == ("readings", False)
    assert told["prompt_tokens"] == len("\n".join(one["content"] for one in sent)) // 4
    assert told["completion_tokens"] == len(TWO) // 4
    repeated = record_of(again).asked_back
    assert repeated is not None
    assert (repeated["cached"], repeated["cost_usd"]) == (True, 0.0)


# --- hostile replies

NAMES = ("Finanzas", "Ventas", "Taller", "Cocina", "Reparto", "Limpieza", "Archivo")
PASSAGES = [
    Chunk(f"c{row}", "kb", f"{name} > Uniformes", f"Los uniformes de {name} son grises.", 0, 40)
    for row, name in enumerate(NAMES)
]
ANALYZER = Analyzer("es")
GOOD = "1 | uniformes de Finanzas | ¿De qué color visten en Finanzas?"


def found(reply: str) -> list[tuple[str, str]]:
    return readings_of(reply, OPEN, PASSAGES, ANALYZER)


@pytest.mark.parametrize(
    "line",
    [
        f"8 | uniformes de Ventas | {SALES}",  # no such passage
        f"0 | uniformes de Ventas | {SALES}",
        f"-2 | uniformes de Ventas | {SALES}",
        f"1 | uniformes de Finanzas | {SALES}",  # a passage with a reading
        "2 | uniformes de Ventas | ¿de que color, visten en FINANZAS?",  # a reading that was there
        f"2 | uniformes de Ventas | {OPEN.upper()}",  # the question itself
        f"2 | yates de lujo | {SALES}",  # no word of the passage
        "2 | uniformes de Ventas | ¿?",
        "2 | uniformes de Ventas |",
        f"2 | uniformes de Ventas | {SALES} | y más",
        f"2 | uniformes de Ventas {'x' * 80} | {SALES}",
        f"2 | uniformes de Ventas | {'¿De qué color? ' * 30}",
        "2 | uniformes de Ventas | ¿<b>De qué color</b> visten?",
        "2 | uniformes de Ventas | ¿&lt;script&gt;De qué color visten?",
        "2 | uniformes de Ventas | ¿De qué [color](https://evil.example) visten?",
        "2 | uniformes de Ventas | Mire https://evil.example",
        "2 | **uniformes** de Ventas | ¿De qué color visten en Ventas?",
        "2 | uniformes de Ventas | ¿De qué `color` visten?",
        "2 | uniformes de Ventas | ¿De qué _color_ visten?",
        "2 | uniformes de Ventas | # ¿De qué color visten?",
        "2 | uniformes de Ventas | ¿De qué \u202ecolor visten?",
        f"uniformes de Ventas | {SALES}",
    ],
)
def test_a_line_that_is_no_reading_is_dropped_and_the_others_stay(line: str) -> None:
    other = f"3 | uniformes de Taller | {WORKSHOP}"
    assert [clear for _, clear in found("\n".join((GOOD, line, other)))] == [
        "¿De qué color visten en Finanzas?",
        WORKSHOP,
    ]


@pytest.mark.parametrize(
    "line", [TWO, f'Aquí tiene:\n\n- [2] | «uniformes de Ventas» | "{SALES}"\n| 3 | Taller | {WORKSHOP} |']
)
def test_small_liberties_with_the_form_are_read(line: str) -> None:
    assert [clear for _, clear in found(line)] == [SALES, WORKSHOP]


def test_no_more_than_six_are_taken() -> None:
    lines = (f"{row} | {one.section} | ¿De qué color visten en {one.section}?" for row, one in enumerate(PASSAGES, 1))
    assert len(found("\n".join(lines).replace(" > ", " "))) == 6


SIGNS = ("|", " | ", "\n", "\r", "\u2028", "<b>", "&lt;", "](x)", "**", "\x00", "\u202e", "[1]", "# ", "http://")
PARTS = st.sampled_from(["1", "2", "7", "99", "²", "uniformes de Ventas", "Taller", SALES, OPEN, "CLARA", *SIGNS])


@given(st.lists(PARTS, max_size=40).map("".join) | st.text(max_size=200))
@example(TWO)
@example("| | |\n" * 50)
def test_whatever_a_reply_says_readings_are_few_plain_short_and_different(reply: str) -> None:
    readings = found(reply)
    assert len(readings) <= 6
    assert len({fold(clear) for _, clear in readings}) == len(readings)
    for about, clear in readings:
        assert fold(clear) != fold(OPEN)
        assert 0 < len(clear) <= 300
        assert 0 < len(about) <= 80
        assert not re.search(r"[<>\[\]`*|\\\x00-\x1f\u202e]|://", about + clear)
        assert not any(line in clear for line in "\n\r\u2028")
