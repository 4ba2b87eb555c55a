"""Answers come in the background and are on disk as they come; each session has its own."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chatbot_mvp.api import UserContext
from chatbot_mvp.app import App
from chatbot_mvp.chat.conversation import Turn
from chatbot_mvp.chat.conversations import ConversationStore, new_session
from chatbot_mvp.chat.sessions import ChatSessions
from chatbot_mvp.errors import ConversationNotFound
from chatbot_mvp.evaluation.kb.questions import load_questions
from chatbot_mvp.llm.base import ChatModel, ChatRequest, ChatStream
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.settings.model import Settings
from tests.chat.conftest import INSIDE, OUTSIDE, SOURCE
from tests.fakes import FailingChatModel, FakeChatModel, FakeEmbedder, SlowChatModel, fake_app
from tests.waiting import wait_until

SESSION = "0123456789abcdef"
WORDS = "Cada persona dispone de 23 días laborables de vacaciones. [1]"


def app_of(settings: Settings, model: ChatModel) -> App:
    changed = settings.with_changes(retrieval_strategy="LEXICAL")
    return fake_app(changed, embedder=lambda _: FakeEmbedder(), chat_model=lambda: model)


def begun(app: App, question: str = INSIDE, context: UserContext | None = None) -> tuple[ChatSessions, str]:
    record = app.kbs.add("manual.md", SOURCE.encode())
    conversation_id = app.chat.start(SESSION, record.kb_id, record.kb_name)
    app.chat.begin(SESSION, conversation_id, question, context or UserContext())
    return app.chat, conversation_id


def ended(desk: ChatSessions, conversation_id: str) -> tuple[Turn, ...]:
    """The turns, once all answers are made."""
    for live in desk.under_way(SESSION, conversation_id):
        assert live.join(20.0)
    return desk.conversation(SESSION, conversation_id).turns


def test_a_question_is_answered_in_the_background_and_found_again_on_disk(settings: Settings) -> None:
    app = app_of(settings, DemoModel())
    desk, conversation_id = begun(app)
    [turn] = ended(desk, conversation_id)
    assert (turn.question, turn.state, turn.mode) == (INSIDE, "done", "strict")
    assert turn.answer is not None
    assert turn.text == turn.answer.text == WORDS
    later = app_of(settings, DemoModel()).chat
    assert later.conversation(SESSION, conversation_id).turns == (turn,)
    [head] = later.conversations(SESSION, app.kbs.records()[0].kb_id)
    assert (head.conversation_id, head.title) == (conversation_id, INSIDE)


def test_what_was_found_is_there_before_the_text_and_the_text_is_saved_as_it_comes(settings: Settings) -> None:
    """Whoever comes back while it runs sees what has arrived; a crash would leave it on disk."""
    model = SlowChatModel(WORDS * 100, 0.05)
    model.may_begin.clear()
    desk, conversation_id = begun(app_of(settings, model))
    [live] = desk.under_way(SESSION, conversation_id)
    seen, versions = live.wait(0, 30.0), []
    assert seen.found is not None
    assert seen.text == ""
    assert seen.found[0].chunk.section == "Vacaciones"
    model.may_begin.set()
    while len(versions) < 8:
        seen = live.wait(seen.version, 30.0)
        versions.append(seen.text)
    assert versions == sorted(versions, key=len)
    after_crash = ConversationStore(settings.conversations_dir).load(SESSION, conversation_id).turns[0]
    assert after_crash.state == "interrupted"
    assert after_crash.text
    assert versions[-1].startswith(after_crash.text)
    assert desk.conversation(SESSION, conversation_id).turns[0].state == "running"
    desk.stop(SESSION, conversation_id)
    ended(desk, conversation_id)


def test_stop_keeps_what_has_come(settings: Settings) -> None:
    model = SlowChatModel(WORDS * 40, 0.02)
    desk, conversation_id = begun(app_of(settings, model))
    [live] = desk.under_way(SESSION, conversation_id)
    wait_until(lambda: live.wait(0, 0.01).text, 20, "the first piece", 0)
    desk.stop(SESSION, conversation_id)
    assert live.join(5.0)
    [turn] = desk.conversation(SESSION, conversation_id).turns
    assert turn.answer is not None
    assert turn.answer.finish_reason == "cancelled"
    assert 0 < len(turn.text) < len(model.reply)
    assert model.streams[0].closed.is_set()


def test_questions_of_a_conversation_are_answered_one_after_the_other_with_its_history(settings: Settings) -> None:
    model = SlowChatModel(WORDS, 0.01)
    desk, conversation_id = begun(app_of(settings, model))
    desk.begin(SESSION, conversation_id, "¿Y dónde se pide?", UserContext("general"))
    turns = ended(desk, conversation_id)
    assert [turn.state for turn in turns] == ["done", "done"]
    assert INSIDE in model.requests[-1].messages[-1].content
    assert INSIDE not in model.requests[0].messages[-1].content.partition("Pregunta:")[0]


def test_a_provider_that_fails_loses_no_question(settings: Settings) -> None:
    desk, conversation_id = begun(app_of(settings, FailingChatModel(pieces=2)))
    [turn] = ended(desk, conversation_id)
    assert turn.text == WORDS
    assert turn.answer is not None
    assert turn.answer.failure is not None
    assert (turn.answer.failure.code, turn.answer.model) == ("fake_outage", "demo")


def test_an_error_without_an_answer_is_kept_with_its_question(settings: Settings) -> None:
    desk, conversation_id = begun(app_of(settings, DemoModel()), context=UserContext(kb_top_k=0))
    [turn] = ended(desk, conversation_id)
    assert (turn.question, turn.state, turn.answer) == (INSIDE, "failed", None)
    assert turn.failure is not None
    assert turn.failure.code == "invalid_setting"


def test_an_unexpected_error_ends_the_turn(settings: Settings, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(FakeChatModel):
        def stream(self, request: ChatRequest) -> ChatStream:
            raise RuntimeError("no model today")

    desk, conversation_id = begun(app_of(settings, Broken("")))
    [turn] = ended(desk, conversation_id)
    assert (turn.state, turn.failure is not None) == ("failed", True)
    assert "no model today" in caplog.text


def test_a_torn_line_costs_only_itself(settings: Settings) -> None:
    desk, conversation_id = begun(app_of(settings, DemoModel()))
    ended(desk, conversation_id)
    path = settings.conversations_dir / SESSION / f"{conversation_id}.jsonl"
    with path.open("ab") as file:
        file.write('{"type": "feedback", "turn": "áé'.encode()[:-1])
    later = app_of(settings, DemoModel()).chat
    turn_id = later.conversation(SESSION, conversation_id).turns[0].turn_id
    later.rate(SESSION, conversation_id, turn_id, True, "bien")
    found = later.conversation(SESSION, conversation_id)
    assert found.damaged == 1
    assert found.turns[0].feedback is not None
    assert found.turns[0].feedback.note == "bien"


@pytest.mark.parametrize("session", ["../../etc", "", "corta", "ABCDEFGHIJKLMNOPQRST", SESSION + "/x"])
def test_a_name_that_is_no_sessions_reaches_no_file(settings: Settings, session: str) -> None:
    desk = app_of(settings, DemoModel()).chat
    assert desk.conversations(session, "kb") == []
    with pytest.raises(ConversationNotFound):
        desk.conversation(session, "20261121-000000-000-abcdef")
    with pytest.raises(ConversationNotFound):
        desk.start(session, "kb", "kb")
    with pytest.raises(ConversationNotFound):
        desk.conversation(SESSION, "../../../etc/passwd")


def test_another_session_cannot_see_or_stop_a_conversation(settings: Settings) -> None:
    desk, conversation_id = begun(app_of(settings, DemoModel()))
    ended(desk, conversation_id)
    other = new_session()
    for action in (desk.conversation, desk.stop, desk.delete):
        with pytest.raises(ConversationNotFound):
            action(other, conversation_id)
    assert desk.conversation(SESSION, conversation_id).turns


def test_twenty_sessions_at_once_each_get_their_own_answer_and_history(settings: Settings) -> None:
    app = app_of(settings, DemoModel())
    place = [f"Lugar{chr(97 + n)}{chr(97 + n)}" for n in range(20)]
    kbs = [
        app.kbs.add(
            f"casa{n}.md", f"# Casa {n}\n\n## Horario\n\nLa casa de {place[n]} abre a las {n + 3} horas.\n".encode()
        )
        for n in range(20)
    ]
    sessions = [new_session() for _ in range(20)]
    conversations = [app.chat.start(s, kb.kb_id, kb.kb_name) for s, kb in zip(sessions, kbs, strict=True)]
    barrier = threading.Barrier(20)

    def ask(n: int) -> None:
        barrier.wait()
        for question in (f"¿A qué hora abre la casa de {place[n]}?", "¿Y a qué hora abre?"):
            app.chat.begin(sessions[n], conversations[n], question, UserContext())

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(ask, range(20)))
    talks = list(zip(sessions, conversations, strict=True))
    wait_until(lambda: not any(app.chat.under_way(*talk) for talk in talks), 60, "the last answer")
    for n in range(20):
        turns = app.chat.conversation(sessions[n], conversations[n]).turns
        assert [f"{place[n]} abre a las {n + 3} horas" in turn.text for turn in turns] == [True, True]


# --- feedback, export, deletion


@pytest.fixture
def rated(settings: Settings) -> tuple[ChatSessions, str, str]:
    app = app_of(settings, DemoModel())
    desk, conversation_id = begun(app)
    ended(desk, conversation_id)
    desk.begin(SESSION, conversation_id, OUTSIDE, UserContext())
    turn_id = ended(desk, conversation_id)[1].turn_id
    desk.rate(SESSION, conversation_id, turn_id, False, "  Falta la altura.  ")
    return desk, conversation_id, turn_id


def test_a_bad_answer_becomes_a_question_that_evaluation_accepts(rated: tuple[ChatSessions, str, str]) -> None:
    desk, conversation_id, turn_id = rated
    conversation = desk.conversation(SESSION, conversation_id)
    path = desk.questions_path(conversation.kb_id)
    assert desk.add_question(SESSION, conversation_id, turn_id, "near", "330 metros")
    assert not desk.add_question(SESSION, conversation_id, turn_id, "near"), "once is enough"
    first = conversation.turns[0].turn_id
    assert desk.add_question(SESSION, conversation_id, first, None)
    loaded = load_questions(path)
    assert [(question.question, question.kind) for question in loaded] == [(OUTSIDE, "near"), (INSIDE, None)]
    written = json.loads(path.read_text("utf-8").splitlines()[0])
    assert (written["answers"], written["note"]) == (["330 metros"], "Falta la altura.")


def test_the_question_file_of_a_kb_can_be_evaluated(rated: tuple[ChatSessions, str, str], settings: Settings) -> None:
    desk, conversation_id, turn_id = rated
    desk.add_question(SESSION, conversation_id, turn_id, "far")
    kb_id = desk.conversation(SESSION, conversation_id).kb_id
    result = app_of(settings, DemoModel()).kb_evaluation.evaluate(kb_id, desk.questions_path(kb_id))
    assert result["questions"] == {"far": 1}
    assert result["accepted"] == {"far": 0.0}


def test_the_last_rating_counts(rated: tuple[ChatSessions, str, str]) -> None:
    desk, conversation_id, turn_id = rated
    desk.rate(SESSION, conversation_id, turn_id, True)
    feedback = desk.conversation(SESSION, conversation_id).turn(turn_id).feedback
    assert feedback is not None
    assert (feedback.good, feedback.note) == (True, "")


def test_exports_hold_questions_answers_sources_and_feedback(rated: tuple[ChatSessions, str, str]) -> None:
    desk, conversation_id, _ = rated
    markdown = desk.export(SESSION, conversation_id, "markdown", "es")
    for expected in (f"## {INSIDE}", WORDS, "**Fuentes**", "[1] Vacaciones", "Valoración: no útil · Falta la altura."):
        assert expected in markdown
    assert "**Sources**" in desk.export(SESSION, conversation_id, "markdown", "en")
    value = json.loads(desk.export(SESSION, conversation_id, "json", "es"))
    assert [turn["question"] for turn in value["turns"]] == [INSIDE, OUTSIDE]
    source = value["turns"][0]["sources"][0]
    [[start, end]] = source["highlights"]
    assert SOURCE[start:end] == WORDS.removesuffix(" [1]")
    assert value["turns"][1]["feedback"] == {"good": False, "note": "Falta la altura.", "reasons": []}


def test_a_deleted_conversation_is_gone_also_while_it_is_being_answered(settings: Settings) -> None:
    model = SlowChatModel(WORDS * 40, 0.05)
    desk, conversation_id = begun(app_of(settings, model))
    desk.delete(SESSION, conversation_id)
    with pytest.raises(ConversationNotFound):
        desk.conversation(SESSION, conversation_id)
    assert not list(Path(settings.conversations_dir).rglob("*.jsonl"))


def test_exports_tell_the_outcomes_apart(settings: Settings) -> None:
    app = app_of(settings, DemoModel())
    desk, conversation_id = begun(app)
    for question, context in (("¿Vacaciones en Mongolia?", UserContext(kb_min_evidence=1.0)), ("¿Xqzw kjxv?", None)):
        ended(desk, conversation_id)
        desk.begin(SESSION, conversation_id, question, context or UserContext())
    ended(desk, conversation_id)
    assert desk.conversation(SESSION, conversation_id).outcomes == {
        "answered": 1,
        "asks": 0,
        "nearest": 1,
        "refused": 1,
    }
    markdown = desk.export(SESSION, conversation_id, "markdown", "es")
    for expected in (
        "1 con respuesta · 0 con varias lecturas · 1 con pasajes cercanos · 1 sobre otro asunto",
        "modo estricto · con respuesta*",
        "modo estricto · con pasajes cercanos*",
        "modo estricto · sobre otro asunto*",
        "Lo más cercano en el documento (no es una respuesta):\n\n- ",
        "«Mongolia»",
    ):
        assert expected in markdown
    value = json.loads(desk.export(SESSION, conversation_id, "json", "es"))
    assert value["outcomes"] == {"answered": 1, "asks": 0, "nearest": 1, "refused": 1}
    answered, nearest, refused = value["turns"]
    assert [turn["outcome"] for turn in value["turns"]] == ["answered", "nearest", "refused"]
    assert (answered["nearest"], refused["nearest"]) == (None, None)
    assert answered["statements"][0]["text"] == WORDS.removesuffix(" [1]")
    assert (nearest["why"], nearest["nearest"]["missing"]) == ("evidence", ["Mongolia"])
    source = nearest["nearest"]["passages"][0]
    assert SOURCE[source["start"] : source["end"]] == source["text"]
