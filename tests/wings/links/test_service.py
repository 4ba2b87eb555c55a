"""A link opens one answer for whoever has it, until it ends; it keeps no text of its own."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from chatbot_mvp.api import UserContext
from chatbot_mvp.app import App, build_app
from chatbot_mvp.chat.conversations import new_session
from chatbot_mvp.errors import ConversationNotFound
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.storage.clock import now
from chatbot_mvp.wings.links import service
from chatbot_mvp.wings.links.service import AnswerLinks
from tests.raising import raises

QUESTION = "¿Cuántos días laborables de vacaciones tiene cada persona?"


@pytest.fixture
def app(tmp_path: Path, clean_env: None) -> App:
    return build_app(load_settings(data_dir=tmp_path, provider="demo", retrieval_strategy="LEXICAL"))


@pytest.fixture
def asked(app: App) -> tuple[str, str, str]:
    """Session, conversation and turn of an answered question, which another one follows."""
    kb, session = app.kbs.add_sample(), new_session()
    conversation_id = app.chat.start(session, kb.kb_id, kb.kb_name)
    for question in (QUESTION, "¿Cuánto se paga por kilómetro en coche propio?"):
        app.chat.begin(session, conversation_id, question, UserContext("strict")).join(60)
    return session, conversation_id, app.chat.conversation(session, conversation_id).turns[0].turn_id


def test_a_link_opens_its_answer_and_nothing_else(app: App, asked: tuple[str, str, str]) -> None:
    links = app.get(AnswerLinks)
    assert links.link_to(*asked) is None
    link = links.make(*asked)
    shared = links.shared_by(link.token)
    assert shared.turn.question == QUESTION
    assert shared.turn.answer is not None and "23 días" in shared.turn.answer.text
    assert links.link_to(*asked) == link
    assert asked[0] not in link.token  # the session's name opens its conversations
    [path] = (app.settings.data_dir / "answer_links").glob("*.json")
    assert "23 días" not in path.read_text("utf-8") and QUESTION not in path.read_text("utf-8")


def test_a_new_link_and_a_withdrawal_end_the_earlier_one(app: App, asked: tuple[str, str, str]) -> None:
    links = app.get(AnswerLinks)
    first, second = links.make(*asked), links.make(*asked)
    with raises("answer_link_unknown"):
        links.shared_by(first.token)
    assert links.shared_by(second.token).turn.question == QUESTION
    links.withdraw(*asked)
    with raises("answer_link_unknown"):
        links.shared_by(second.token)
    links.withdraw(*asked)


@pytest.mark.parametrize("change", [lambda token: "", lambda token: token[:-1], lambda token: token[:32] + "0" * 32])
def test_what_is_not_the_link_opens_nothing(app: App, asked: tuple[str, str, str], change) -> None:  # type: ignore[no-untyped-def]
    token = app.get(AnswerLinks).make(*asked).token
    with raises("answer_link_unknown"):
        app.get(AnswerLinks).shared_by(change(token))
    with raises("answer_link_unknown"):
        app.get(AnswerLinks).shared_by("../" * 10 + "visitor")


def test_a_link_ends_after_its_days_and_its_file_goes(
    app: App, asked: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    links = app.get(AnswerLinks)
    link = links.make(*asked)
    assert now() + timedelta(days=29) < service.datetime.fromisoformat(link.ends_at) <= now() + timedelta(days=30)
    monkeypatch.setattr(service, "now", lambda: now() + timedelta(days=31))
    with raises("answer_link_unknown"):
        links.shared_by(link.token)
    other = app.chat.conversation(*asked[:2]).turns[1].turn_id
    links.make(*asked[:2], other)
    assert len(list((app.settings.data_dir / "answer_links").glob("*.json"))) == 1


def test_a_link_ends_with_its_conversation(app: App, asked: tuple[str, str, str]) -> None:
    links = app.get(AnswerLinks)
    link = links.make(*asked)
    app.chat.delete(*asked[:2])
    with raises("answer_link_unknown"):
        links.shared_by(link.token)


def test_only_the_session_of_a_conversation_makes_a_link_to_it(app: App, asked: tuple[str, str, str]) -> None:
    with pytest.raises(ConversationNotFound):
        app.get(AnswerLinks).make(new_session(), *asked[1:])


def test_without_days_no_link_is_made(tmp_path: Path, app: App, asked: tuple[str, str, str]) -> None:
    off = build_app(load_settings(data_dir=tmp_path, provider="demo", answer_link_days=0))
    with raises("answer_links_off"):
        off.get(AnswerLinks).make(*asked)
