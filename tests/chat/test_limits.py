"""How much one visitor may have under way, and how long work goes on that nobody waits for."""

from __future__ import annotations

import threading
import time

import pytest

from chatbot_mvp.api import UserContext
from chatbot_mvp.chat import limits
from chatbot_mvp.settings.model import Settings
from tests.chat.conftest import INSIDE, SOURCE
from tests.chat.test_sessions import SESSION, WORDS, app_of
from tests.fakes import SlowChatModel
from tests.raising import raises

OTHER = "f" * 32


def turn_threads() -> int:
    return sum(thread.name.startswith("turn-") for thread in threading.enumerate())


def test_a_visitor_has_only_so_many_answers_running_and_waiting_and_others_have_theirs(settings: Settings) -> None:
    app = app_of(settings, SlowChatModel(WORDS * 40, 0.05))
    kb = app.kbs.add("manual.md", SOURCE.encode())
    before = turn_threads()
    conversations = [app.chat.start(SESSION, kb.kb_id, kb.kb_name) for _ in range(3)]
    for number in range(limits.MOST_ANSWERS):
        app.chat.begin(SESSION, conversations[number % 3], INSIDE, UserContext())
    for conversation in conversations * 10:
        with raises("too_many_answers", match=f"{limits.MOST_ANSWERS} answers.*Wait"):
            app.chat.begin(SESSION, conversation, INSIDE, UserContext())
    assert turn_threads() - before <= limits.MOST_ANSWERS
    asked = sum(len(app.chat.conversation(SESSION, one).turns) for one in conversations)
    assert asked == limits.MOST_ANSWERS, "a question that was refused is not in the conversation"
    own = app.chat.start(OTHER, kb.kb_id, kb.kb_name)
    app.chat.begin(OTHER, own, INSIDE, UserContext())
    for session, one in [(OTHER, own), *((SESSION, each) for each in conversations)]:
        app.chat.stop(session, one)
        for live in app.chat.under_way(session, one):
            assert live.join(20)
    app.chat.begin(SESSION, conversations[0], INSIDE, UserContext())
    app.chat.stop(SESSION, conversations[0])


def test_the_server_has_only_so_many_answers(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_ANSWERS_OF_ALL", 2)
    app = app_of(settings, SlowChatModel(WORDS * 40, 0.05))
    kb = app.kbs.add("manual.md", SOURCE.encode())
    for number in range(2):
        one = app.chat.start(f"{number}" * 32, kb.kb_id, kb.kb_name)
        app.chat.begin(f"{number}" * 32, one, INSIDE, UserContext())
    one = app.chat.start(OTHER, kb.kb_id, kb.kb_name)
    with raises("server_has_no_place", match="2 answers"):
        app.chat.begin(OTHER, one, INSIDE, UserContext())
    assert app.chat.conversation(OTHER, one).turns == ()


@pytest.mark.slow
def test_work_that_nobody_waits_for_ends_after_the_grace_time(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "GRACE_S", 0.5)
    model = SlowChatModel(WORDS * 400, 0.02)
    app = app_of(settings, model)
    kb = app.kbs.add("manual.md", SOURCE.encode())
    conversation = app.chat.start(SESSION, kb.kb_id, kb.kb_name)
    running = app.chat.begin(SESSION, conversation, INSIDE, UserContext())
    queued = app.chat.begin(SESSION, conversation, "¿Y después?", UserContext())
    until = time.monotonic() + 1.0
    while time.monotonic() < until:  # somebody waits: nothing ends
        app.chat.end_unattended({SESSION})
        time.sleep(0.05)
    assert not running.join(0)
    app.chat.end_unattended(set())
    assert not running.join(0), "the reader may reload"
    time.sleep(0.6)
    app.chat.end_unattended({OTHER})
    assert running.join(10)
    assert queued.join(10)
    first, second = app.chat.conversation(SESSION, conversation).turns
    assert first.answer is not None and first.answer.finish_reason == "cancelled"
    assert first.text, "what had come is kept"
    assert second.failure is not None and second.failure.code == "answer_not_awaited"
    assert len(model.streams) == 1, "the model was not asked for the second"
    assert model.streams[0].closed.is_set()


def test_a_visitor_keeps_only_so_many_conversations(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MOST_CONVERSATIONS", 3)
    app = app_of(settings, SlowChatModel(WORDS, 0.0))
    kb = app.kbs.add("manual.md", SOURCE.encode())
    kept = [app.chat.start(SESSION, kb.kb_id, kb.kb_name) for _ in range(3)]
    with raises("too_many_conversations", match="3"):
        app.chat.start(SESSION, kb.kb_id, kb.kb_name)
    assert {one.conversation_id for one in app.chat.conversations(SESSION, kb.kb_id)} == set(kept)
    app.chat.start(OTHER, kb.kb_id, kb.kb_name)
    app.chat.delete(SESSION, kept[0])
    app.chat.start(SESSION, kb.kb_id, kb.kb_name)
