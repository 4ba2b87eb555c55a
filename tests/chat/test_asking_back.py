"""The chat asks back where a question could mean several things, and never where one reading is clear."""

from __future__ import annotations

import pytest

from chatbot_mvp.chat.answer import Answer
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.prompting import no_evidence, which_one
from chatbot_mvp.chat.records import AnswerRecord, record_of
from chatbot_mvp.chat.references import open_reference
from chatbot_mvp.chat.transcripts import answer_text
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import PastTurn
from tests.chat.conftest import ChatService, pipeline_of
from tests.fakes import FakeChatModel

DEPARTMENTS = ("Finanzas", "Ventas", "Taller")
OFFICE = "\n".join(
    f"# {name}\n\nQuién trabaja en {name} y en qué.\n\n## Horario\n\nEl horario de {name} es de {hour}:00 a 15:00.\n\n"
    f"## Uniformes\n\nLos uniformes de {name} son de color {colour}.\n"
    for name, hour, colour in zip(DEPARTMENTS, (7, 8, 9), ("gris", "azul", "verde"), strict=True)
)
PLANS = """# Trial plan

The Trial plan includes 1 domain for thirty days.

# Standard plan

The Standard plan includes 5 domains.

# Support

Support answers within two days. The office is in Lugo.
"""
OFFERED = PastTurn("Which plans are offered?", "There is a Trial plan for thirty days, and a Standard plan. [1]")


@pytest.fixture
def office(settings: Settings) -> Pipeline:
    return pipeline_of(OFFICE, settings)


@pytest.fixture
def plans(settings: Settings) -> Pipeline:
    return pipeline_of(PLANS, settings)


def ask(pipeline: Pipeline, settings: Settings, question: str, *history: PastTurn, mode: str = "strict") -> Answer:
    context = UserContext("strict" if mode == "strict" else "general")
    return ChatService(DemoModel(), settings, DemoModel()).ask(pipeline, question, context, history)


def readings_of(answer: Answer) -> list[str]:
    return [one.question for one in answer.nearest.did_you_mean] if answer.nearest else []


def test_a_heading_that_stands_under_several_others_is_asked_back(office: Pipeline, settings: Settings) -> None:
    answer = ask(office, settings, "¿Cuál es el horario?")
    assert (answer.outcome, answer.why, answer.text) == ("asks", "readings", which_one("es"))
    assert sorted(readings_of(answer)) == sorted(f"¿Cuál es el horario ({name})?" for name in DEPARTMENTS)
    assert answer.nearest is not None
    for reading, passage in zip(answer.nearest.did_you_mean, answer.nearest.passages, strict=True):
        assert f"horario de {reading.text}" in passage.chunk.text


def test_each_reading_is_a_clear_question_that_finds_the_passage_that_was_shown(
    office: Pipeline, settings: Settings
) -> None:
    asked = ask(office, settings, "¿Cuál es el horario?")
    assert asked.nearest is not None
    for reading, passage in zip(asked.nearest.did_you_mean, asked.nearest.passages, strict=True):
        answer = ask(office, settings, reading.question)
        assert answer.trace.chunks_final[0].chunk.section == passage.chunk.section
        assert reading.text in passage.chunk.section


def test_kinds_that_the_conversation_names_are_readings(plans: Pipeline, settings: Settings) -> None:
    answer = ask(plans, settings, "How many domains are included in the plan?", OFFERED)
    assert answer.outcome == "asks"
    assert readings_of(answer) == [
        "How many domains are included in the Trial plan?",
        "How many domains are included in the Standard plan?",
    ]


@pytest.mark.parametrize(
    ("question", "history"),
    [
        ("¿Cuál es el horario de Ventas?", ()),
        ("¿De qué color son los uniformes del taller?", ()),
        ("¿Quién trabaja en Finanzas?", ()),
        ("¿Y los uniformes?", (PastTurn("¿Cuál es el horario de Ventas?", "De 8 a 15. [1]"),)),
    ],
)
def test_a_question_with_one_reading_is_never_asked_back(
    office: Pipeline, settings: Settings, question: str, history: tuple[PastTurn, ...]
) -> None:
    assert ask(office, settings, question, *history).outcome != "asks"


@pytest.mark.parametrize("strategy", ["LEXICAL", "BRIDGE_HYBRID"])
@pytest.mark.parametrize(
    "question",
    "¿Quién fue Napoleón?|¿Quién es Shakespeare?|¿Dónde está Madagascar?|¿Qué es Bitcoin?|¿Quién es Messi?".split("|"),
)
def test_a_short_question_about_something_else_gets_the_fixed_reply_and_is_not_asked_back(
    settings: Settings, strategy: str, question: str
) -> None:
    text = (settings.samples_dir / "kb" / "politica_empresa.md").read_text("utf-8")
    pipeline = pipeline_of(text, settings, retrieval_strategy=strategy)
    answer = ask(pipeline, settings, question)
    assert (answer.outcome, answer.why, answer.text) == ("refused", "topic", no_evidence("es"))
    assert ask(pipeline, settings, "¿Cuándo se paga?").outcome == "asks", "a bare question about it still is"


def test_no_model_is_asked_and_the_setting_switches_it_off(office: Pipeline, settings: Settings) -> None:
    model = FakeChatModel("De 7 a 15. [1]")
    asked = ChatService(model, settings, DemoModel()).ask(office, "¿Cuál es el horario?")
    assert (asked.outcome, model.requests) == ("asks", [])
    off = settings.with_changes(chat_asks_back=False)
    assert ask(office, off, "¿Cuál es el horario?").outcome != "asks"
    assert ask(office, settings, "¿Cuál es el horario?", mode="general").outcome != "asks"


def test_records_replies_and_texts_have_the_readings(office: Pipeline, settings: Settings) -> None:
    record = record_of(ask(office, settings, "¿Cuál es el horario?"))
    assert AnswerRecord.from_json(record.as_json()) == record
    reply = record.as_reply()
    assert (reply["outcome"], reply["abstained"], reply["sources"], reply["from_kb"]) == ("asks", True, [], False)
    assert [one["kind"] for one in reply["nearest"]["did_you_mean"]] == ["reading"] * 3
    assert len(reply["nearest"]["passages"]) == 3
    assert sorted(reply["hint"].splitlines()) == sorted(f"- ¿Cuál es el horario ({name})?" for name in DEPARTMENTS)
    assert "- ¿Cuál es el horario (Taller)? El horario de Taller es de 9:00 a 15:00." in answer_text(record, "es")


@pytest.mark.parametrize(
    ("before", "question", "refers"),
    [
        ("How can we improve the history of conversations?", "How can we enhance its performance?", True),
        ("Which is better, the bar chart or the line chart?", "How does it help us?", True),
        ("Why do companies pay in shares?", "How much does this partner own?", True),
        ("What is an API?", "Is it free?", False),
        ("Jumbo frames", "How is it configured?", False),
        ("Who is the bee keeper?", "What does this man sell?", False),
        ("¿Quién es la enfermera?", "¿Dónde duerme ella?", False),
        ("How do I pay?", "Is it possible to pay in May?", False),
        ("How do I pay?", "How does a bank know that it is paid?", False),
        ("How do I pay?", "What happens this month?", False),
        ("¿Qué tarjetas hay?", "¿Qué ventajas tiene esta tarjeta?", True),
        ("¿Qué tarjetas hay?", "¿Se está actualizando la lista?", False),
    ],
)
def test_what_refers_to_nothing_that_was_named(before: str, question: str, refers: bool) -> None:
    assert (open_reference(question, [PastTurn(before, "")]) is not None) is refers
