"""A question for a summary gets the first sentences of the sections it names, or a model's summary of them in parts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from chatbot_mvp.chat.answer import Answer
from chatbot_mvp.chat.answering import finished
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.records import record_of
from chatbot_mvp.chat.stream import AnswerStream
from chatbot_mvp.llm.base import ChatModel, ChatRequest
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.settings.model import Settings
from tests.chat.conftest import ChatService, pipeline_of
from tests.fakes import FailingChatModel, FakeChatModel
from tests.moving import app_over, document, moving_kb

MINUTES = """# Acta de enero

## Asistentes

Vinieron Ana, Luis y Marta. Faltó Pedro.

## Decisiones

- Se compra un horno.
- Se cierra los lunes.

# Acta de febrero

## Asistentes

Vinieron Ana y Marta. Nadie faltó.

## Decisiones

Se acordó lo siguiente:

- Subir el pan a 1,80 euros.
- Pintar la fachada en mayo.
"""


def answered(settings: Settings, question: str, model: ChatModel | None = None, text: str = MINUTES) -> Answer:
    return ChatService(model or DemoModel(), settings, DemoModel()).ask(pipeline_of(text, settings), question)


@pytest.mark.parametrize(
    ("question", "shown", "hidden"),
    [
        (
            "Resume el documento",
            ["Vinieron Ana, Luis y Marta.", "Se cierra los lunes.", "Subir el pan"],
            ["Ruegos"],
        ),
        ("summarize this document, please", ["Vinieron Ana, Luis y Marta.", "Subir el pan"], ["please"]),
        ("¿De qué trata el acta de enero?", ["Vinieron Ana, Luis y Marta."], ["febrero", "Subir el pan"]),
        ("¿Puedes hacerme un resumen de febrero?", ["Vinieron Ana y Marta.", "Subir el pan"], ["Se compra", "Luis"]),
        ("Dame un resumen de las decisiones de febrero", ["Subir el pan", "Pintar la fachada"], ["Se compra", "Ana"]),
        ("Resume el apartado de asistentes de febrero", ["Vinieron Ana y Marta. Nadie faltó."], ["Luis"]),
        ("Resume los asistentes de febrero", ["Vinieron Ana y Marta. Nadie faltó."], ["Luis"]),
    ],
)
def test_the_outline_has_what_the_question_names_and_no_tick(
    question: str, shown: list[str], hidden: list[str], settings: Settings
) -> None:
    answer = answered(settings, question)
    record = record_of(answer)
    assert (record.outcome, record.tick, record.is_outline) == ("answered", False, True)
    assert all(words in answer.text for words in shown), answer.text
    assert not any(words in answer.text for words in hidden), answer.text
    for source in answer.sources:  # every sentence stands there
        for start, end in source.highlights:
            assert MINUTES[start:end] in answer.text


@pytest.mark.parametrize(
    "question",
    [
        "Resume la ley de aguas",
        "Resume eso",
        "¿Cuándo se entrega el resumen de enero?",
        "¿Quién hace los resúmenes de las decisiones?",
        "¿Qué se decidió en febrero?",
    ],
)
def test_other_questions_are_asked_as_ever(question: str, settings: Settings) -> None:
    assert not record_of(answered(settings, question)).is_outline


FILLER = "Otra frase que no dice más que la primera. " * 12


def test_of_many_sections_those_under_one_heading_are_one_line(settings: Settings) -> None:
    text = "".join(
        f"# Parte {part}\n\n"
        + "".join(f"## Punto {part}.{n}\n\nFrase {part}-{n} del texto. {FILLER}\n\n" for n in range(9))
        for part in range(1, 5)
    )
    answer = answered(settings, "Resume el documento", text=text)
    assert re.findall(r"Frase \S+", answer.text) == [f"Frase {part}-0" for part in range(1, 5)]


LONG = "".join(f"# Parte {part}\n\n" + f"La parte {part} dice {part}00 euros. " * 40 + "\n\n" for part in range(1, 5))


def summary(request: ChatRequest) -> str:
    """Says of each passage that was sent what it says, and cites it."""
    numbers = re.findall(r"^\[(\d+)\]", request.messages[-1].content, re.M)
    parts = re.findall(r"La parte (\d) dice", request.messages[-1].content)
    return " ".join(f"La parte {part} dice {part}00 euros [{numbers[0]}]." for part in dict.fromkeys(parts))


@pytest.mark.parametrize("streamed", [False, True])
def test_a_model_summarises_the_whole_in_parts_and_each_sentence_is_checked(settings: Settings, streamed: bool) -> None:
    model = FakeChatModel(summary)
    narrow = settings.with_changes(kb_max_context_chars=1_500, kb_large_context_chars=1_500)
    stream = AnswerStream(
        pipeline_of(LONG, narrow),
        "Resume el documento",
        UserContext(),
        (),
        model=model,
        fallback=DemoModel(),
        settings=narrow,
        streamed=streamed,
    )
    answer = finished(stream)
    record = record_of(answer)
    assert 1 < len(model.requests) <= 6
    assert all(f"La parte {part} dice {part}00 euros" in answer.text for part in range(1, 5))
    assert (record.tick, record.is_outline, record.unsupported) == (True, False, 0)
    for source in answer.sources:
        assert f"parte {source.chunk.section[-1]}" in source.chunk.text


def test_a_provider_that_fails_leaves_the_outline(settings: Settings) -> None:
    answer = answered(settings, "Resume el documento", FailingChatModel())
    assert answer.failure is not None
    assert record_of(answer).is_outline
    assert "Vinieron Ana, Luis y Marta." in answer.text


def test_a_heading_of_a_text_without_marks_is_no_sentence(settings: Settings) -> None:
    text = "ACTA DEL 12 DE MARZO\n\nSe acuerda pintar el portal.\n\nACTA DEL 9 DE ABRIL\n\nSe cambia la cerradura.\n"
    answer = answered(settings, "Resume el documento", text=text)
    assert "Se acuerda pintar el portal." in answer.text and "Se cambia la cerradura." in answer.text
    assert answer.text.count("ACTA DEL 12 DE MARZO") <= 1


def test_each_line_names_the_file_that_its_sentence_is_from(tmp_path: Path) -> None:
    """Of files without headings the title that they are given stands before their text."""
    app = app_over(tmp_path)
    months = ("enero", "febrero", "diciembre")
    kb_id = moving_kb(
        app, *(document(f"acta {month}.md", f"En {month} la cuota es de {at} €.") for at, month in enumerate(months))
    )
    lines = re.findall(r"\*\*(.+?)\*\*: En (\w+)", app.answering.ask(kb_id, "resume las actas").text)
    assert len(lines) == len(months)
    assert all(title.endswith(f"acta {month}") and kb_id not in title for title, month in lines)
