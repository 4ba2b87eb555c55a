"""Branches of a conversation, answers from a passage that a person chose, and in another language."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from chatbot_mvp.api import UserContext
from chatbot_mvp.app import App
from chatbot_mvp.chat import answering
from chatbot_mvp.chat.conversation import Conversation, Turn
from chatbot_mvp.chat.conversations import ConversationStore
from chatbot_mvp.llm.base import ChatModel, ChatRequest
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.settings.model import Settings
from tests.chat.conftest import INSIDE
from tests.chat.test_sessions import SESSION, app_of, begun, ended
from tests.fakes import FakeChatModel, FakeEmbedder, fake_app

NEAR = "¿Cuánto dura el permiso de paternidad de cada persona?"


def asked(app: App, conversation_id: str, question: str, after: str | None, context: UserContext | None = None) -> str:
    live = app.chat.begin(SESSION, conversation_id, question, context or UserContext(), after)
    assert live.join(20.0)
    return live.turn_id


def shown(conversation: Conversation, turn_id: str = "") -> list[str]:
    return [turn.question for turn in conversation.branch(turn_id)]


def test_each_branch_keeps_its_turns_and_a_follow_up_takes_those_alone(settings: Settings) -> None:
    """In the file the branches stand one behind the other; the newest question's branch is shown."""
    prompts: list[str] = []

    def answer(request: ChatRequest) -> str:
        prompts.append(request.messages[-1].content)
        return "Cada persona dispone de 23 días laborables de vacaciones. [1]"

    app = app_of(settings, FakeChatModel(answer))
    chat, conversation_id = begun(app)
    [first] = ended(chat, conversation_id)
    asked(app, conversation_id, "¿Y las dietas?", None)
    edited = asked(app, conversation_id, "¿Dónde se piden las vacaciones?", "")
    again = asked(app, conversation_id, "¿Dónde se piden las vacaciones?", "")
    asked(app, conversation_id, "¿Y cuántos días laborables son?", None)
    found = chat.conversation(SESSION, conversation_id)
    assert shown(found) == ["¿Dónde se piden las vacaciones?", "¿Y cuántos días laborables son?"]
    assert shown(found, first.turn_id) == [INSIDE, "¿Y las dietas?"]
    assert shown(found, edited) == ["¿Dónde se piden las vacaciones?"]
    assert [turn.turn_id for turn in found.alternatives(first)] == [first.turn_id, edited, again]
    assert "¿Dónde se piden las vacaciones?" in prompts[-1]
    assert INSIDE not in prompts[-1]
    assert "¿Y las dietas?" not in prompts[-1]


def test_a_file_without_branches_is_one_branch_and_no_line_makes_a_circle(tmp_path: Path) -> None:
    store = ConversationStore(tmp_path)
    conversation_id = store.start(SESSION, "kb", "manual.md")

    def line(turn: str, **more: str) -> None:
        entry = {"type": "question", "turn": turn, "question": turn, "mode": "strict", "at": ""}
        store.append(SESSION, conversation_id, {**entry, **more})

    for name in "abc":
        line(name)
    assert shown(store.load(SESSION, conversation_id)) == ["a", "b", "c"]
    line("a", after="c")
    line("d", after="d")
    line("e", after="nobody")
    found = store.load(SESSION, conversation_id)
    assert shown(found) == ["a", "b", "c", "d", "e"]
    assert found.damaged == 0


def near_turn(settings: Settings, model: ChatModel) -> tuple[App, str, Turn]:
    app = app_of(settings, model)
    chat, conversation_id = begun(app, NEAR)
    [turn] = ended(chat, conversation_id)
    assert turn.answer is not None
    assert turn.answer.nearest is not None
    return app, conversation_id, turn


def test_an_answer_from_a_chosen_passage_is_of_it_alone_and_counts_as_chosen(settings: Settings) -> None:
    app, conversation_id, turn = near_turn(settings, DemoModel())
    assert turn.answer is not None
    assert turn.answer.nearest is not None
    passage = turn.answer.nearest.passages[0].chunk
    chosen_id = asked(app, conversation_id, NEAR, "", UserContext(passage=passage))
    found = app.chat.conversation(SESSION, conversation_id)
    answer = found.turn(chosen_id).answer
    assert answer is not None
    assert (answer.outcome, answer.decided_by, answer.chosen) == ("answered", "chosen", True)
    assert [source.chunk.text for source in answer.sources] == [passage.text]
    assert answer.text.removesuffix(" [1]") in passage.text
    assert found.outcomes == {"answered": 0, "asks": 0, "nearest": 1, "refused": 0}


def test_a_passage_that_has_changed_is_not_answered_from(settings: Settings) -> None:
    app, conversation_id, turn = near_turn(settings, DemoModel())
    assert turn.answer is not None
    assert turn.answer.nearest is not None
    passage = replace(turn.answer.nearest.passages[0].chunk, text="Otra cosa.")
    changed = asked(app, conversation_id, NEAR, "", UserContext(passage=passage))
    failure = app.chat.conversation(SESSION, conversation_id).turn(changed).failure
    assert failure is not None
    assert failure.code == "passage_changed"


def test_an_answer_in_the_other_language_is_asked_for_and_given_without_marks(settings: Settings) -> None:
    def answer(request: ChatRequest) -> str:
        english = "answer in English" in request.messages[0].content
        return "Each person has 23 working days of holidays [1]." if english else "No lo sé."

    app = app_of(settings, FakeChatModel(answer))
    chat, conversation_id = begun(app, INSIDE, UserContext(answer_in="en"))
    [turn] = ended(chat, conversation_id)
    assert turn.answer_in == "en"
    assert turn.answer is not None
    assert (turn.answer.outcome, turn.answer.statements, turn.answer.from_kb) == ("answered", (), True)
    assert turn.answer.text.startswith("Each person has 23")
    assert len(turn.answer.sources) == 1


def test_reasons_of_a_rating_are_kept_and_unknown_ones_are_not(settings: Settings) -> None:
    chat, conversation_id = begun(app_of(settings, DemoModel()))
    [turn] = ended(chat, conversation_id)
    chat.rate(SESSION, conversation_id, turn.turn_id, False, "Falta el plazo", ("incomplete", "nobody knows"))
    feedback = chat.conversation(SESSION, conversation_id).turns[0].feedback
    assert feedback is not None
    assert (feedback.good, feedback.note, feedback.reasons) == (False, "Falta el plazo", ("incomplete",))
    [row] = json.loads(chat.export(SESSION, conversation_id, "json", "es"))["turns"]
    assert row["feedback"]["reasons"] == ["incomplete"]
    assert "*Valoración: no útil · falta algo · Falta el plazo*" in chat.export(
        SESSION, conversation_id, "markdown", "es"
    )


def test_questions_to_ask_next_lead_to_passages_and_repeat_nothing(settings: Settings) -> None:
    app = fake_app(settings.with_changes(retrieval_strategy="LEXICAL"), lambda _: FakeEmbedder(), DemoModel)
    kb = app.kbs.add_sample()
    conversation_id = app.chat.start(SESSION, kb.kb_id, kb.kb_name)
    asked(app, conversation_id, "¿Cuántos días laborables de vacaciones tiene cada persona?", None)
    seen: list[str] = []
    for _ in range(3):
        turns = app.chat.conversation(SESSION, conversation_id).turns
        questions = app.answering.follow_ups([kb.kb_id], turns, UserContext())
        assert 1 <= len(questions) <= 3
        assert not {turn.question for turn in turns} & set(questions)
        seen.append(questions[0])
        asked(app, conversation_id, questions[0], None)
    turns = app.chat.conversation(SESSION, conversation_id).turns
    assert [turn.answer.outcome for turn in turns if turn.answer] == 4 * ["answered"]
    assert len(set(seen)) == len(seen)


def test_questions_to_begin_with_are_answered_which_is_found_out_once(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = fake_app(settings.with_changes(retrieval_strategy="LEXICAL"), lambda _: FakeEmbedder(), DemoModel)
    kb_id = app.kbs.add_sample().kb_id
    outcomes = {one: app.answering.ask(kb_id, one).outcome for one in app.kbs.suggested_questions(kb_id, 12)}
    assert "nearest" in outcomes.values()
    found = app.answering.first_questions([kb_id], UserContext())
    assert [outcomes[question] for question in found] == 4 * ["answered"]
    monkeypatch.setattr(answering, "AnswerStream", None)
    assert app.answering.first_questions([kb_id], UserContext()) == found
