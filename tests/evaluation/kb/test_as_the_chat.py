"""Questions about a knowledge base are counted by what the chat says to them: the same outcome and tick, one by one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.app import App
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.records import record_of
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.llm.base import ChatModel, ChatRequest
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.settings.model import Settings, load_settings
from tests.conftest import Command
from tests.fakes import FailingChatModel, FakeChatModel, FakeOutage, fake_app

TEXT = """# Biblioteca

## Préstamo

Cada socio puede llevarse cinco libros a la vez. El préstamo dura veintiún días y se renueva dos veces.

## Multas

Cada día de retraso cuesta 20 céntimos por libro.

## Salas

Las salas de estudio se reservan en el mostrador con un día de antelación.
"""
QUESTIONS = (
    KbQuestion(
        "a", "¿Cuántos libros puede llevarse cada socio?", "answerable", "Cada socio puede llevarse cinco libros"
    ),
    KbQuestion("b", "¿Cuánto cuesta cada día de retraso?", "answerable", "Cada día de retraso cuesta 20 céntimos"),
    KbQuestion("c", "¿Dónde pido una habitación para leer?", "answerable", "Las salas de estudio se reservan"),
    KbQuestion("d", "¿Cuánto dura el préstamo?", "answerable", "El préstamo dura veintiún días"),
    KbQuestion("e", "¿Cuántas películas puede llevarse cada socio?", "near"),
    KbQuestion("f", "¿Qué altura tiene la torre Eiffel?", "far"),
    KbQuestion("g", "¿Y los domingos?"),
)
SAID = {
    "libros": "Cada socio puede llevarse cinco libros a la vez. [1]",
    "retraso": "Cada día de retraso cuesta 20 céntimos por libro. La torre mide 330 metros y es de hierro. [1]",
    "habitación": "Las habitaciones cuestan 90 euros en agosto y dan al mar. [1]",
    "dura": "Each loan lasts twenty-one days and may be renewed twice by the member of the library. [1]",
    "películas": "No encuentro en la base de conocimiento información suficiente para responder a esa pregunta.",
}


def says(request: ChatRequest) -> str:
    """A model that is right, half right, wrong, in another language, or declines; of passages, that they are good."""
    asked = request.messages[-1].content
    question = next((one.question for one in QUESTIONS if one.question in asked), "")
    return next((text for word, text in SAID.items() if word in question), "7")


def app_of(settings: Settings, strategy: str, model: str) -> App:
    chosen = load_settings(data_dir=settings.data_dir, retrieval_strategy=strategy, provider="demo")
    made: ChatModel = DemoModel() if model == "demo" else FakeChatModel(says)
    return fake_app(chosen, chat_model=lambda: made, run_model=lambda _: made)


@pytest.fixture
def asked(tmp_path: Path) -> Path:
    path = tmp_path / "preguntas.jsonl"
    path.write_text("".join(f"{one.as_line()}\n" for one in QUESTIONS), "utf-8")
    return path


@pytest.mark.parametrize("model", ["demo", "stub"])
@pytest.mark.parametrize("strategy", ["LEXICAL", "KB_CHAT"])
def test_each_question_has_the_outcome_and_the_tick_of_the_chat(
    settings: Settings, asked: Path, strategy: str, model: str
) -> None:
    app = app_of(settings, strategy, model)
    kb_id = app.kbs.add("biblioteca.md", TEXT.encode()).kb_id
    app.kbs.pipeline(kb_id)  # the chat would not wait for all vectors
    measured = json.loads(json.dumps(app.kb_evaluation.evaluate(kb_id, asked)))
    said = {}
    for one in QUESTIONS:
        answer = record_of(app.answering.ask(kb_id, one.question, UserContext()))
        said[one.question_id] = {"outcome": answer.outcome, "tick": answer.tick}
    assert {key: {"outcome": one["outcome"], "tick": one["tick"]} for key, one in measured["answers"].items()} == said
    assert len({one["outcome"] for one in said.values()}) > 1 and any(one["tick"] for one in said.values())
    verdicts = [one["verdict"] for one in measured["answers"].values()]
    assert measured["chat"] == Counter(filter(None, verdicts)) and verdicts[-1] is None


def test_the_verdict_tells_a_wrong_tick_from_a_right_one_and_what_is_shown_first(
    settings: Settings, asked: Path
) -> None:
    app = app_of(settings, "LEXICAL", "stub")
    kb_id = app.kbs.add("biblioteca.md", TEXT.encode()).kb_id
    found = app.kb_evaluation.evaluate(kb_id, asked)
    verdicts = {key: one["verdict"] for key, one in found["answers"].items()}
    assert verdicts["a"] == "right"
    assert verdicts["b"] == "unsure", "half of it is not in the text"
    assert verdicts["d"] == "unsure" or verdicts["d"] == "near", "another language is no answer with a tick"
    assert verdicts["e"] == verdicts["f"] == "declined"
    result = app.kb_evaluation.result(kb_id, found["run_id"])
    said = {row.question.question_id: row.said for row in result.rows if row.said}
    assert said["a"].text == SAID["libros"] and not said["a"].why
    assert said["d"].text == SAID["dura"], "kept also if it is not shown"
    assert (said["c"].why, said["e"].why, said["e"].text) == ("topic", "evidence", "")
    metrics = app.archive.run(found["run_id"]).metrics
    assert metrics["solved"] == result.strict.right.value
    assert metrics["false_tick"] == 0


def test_a_provider_that_is_away_ends_the_run_where_the_chat_would_quote(settings: Settings, asked: Path) -> None:
    """What the chat quotes in place of its model is not what it says with it: a resume asks again."""
    chosen = load_settings(data_dir=settings.data_dir, retrieval_strategy="LEXICAL", provider="demo")
    away = fake_app(chosen, chat_model=FailingChatModel, run_model=lambda _: FailingChatModel())
    kb_id = away.kbs.add("biblioteca.md", TEXT.encode()).kb_id
    with pytest.raises(FakeOutage):
        away.kb_evaluation.evaluate(kb_id, asked)


def test_the_command_prints_what_the_chat_says(settings: Settings, asked: Path, command: Command) -> None:
    document = asked.with_name("biblioteca.md")
    document.write_text(TEXT, "utf-8")

    def said(*words: str) -> dict[str, Any]:
        code, out, err = command("kb", *words, "--json")
        assert code == 0, err
        found: dict[str, Any] = json.loads(out)
        return found

    answers = said("evaluate", str(document), str(asked))["answers"]
    for one in QUESTIONS[:2]:
        assert answers[one.question_id]["tick"] is said("ask", str(document), one.question)["tick"]
