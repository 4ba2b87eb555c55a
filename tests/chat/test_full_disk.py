"""A disk that becomes full costs no answer: it stays on the page with the reason, and the next one works."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.api import UserContext
from chatbot_mvp.app import App
from chatbot_mvp.chat import conversations
from chatbot_mvp.errors import FileNotWritten
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage import jsonl
from tests.chat.conftest import INSIDE, SOURCE
from tests.fakes import FakeEmbedder, fake_app
from tests.moving import document

SESSION = "0123456789abcdef"
WORDS = "Cada persona dispone de 23 días laborables de vacaciones. [1]"


class FullDisk:
    """Refuses to append lines of some types to conversations."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refused: set[str] = set()
        monkeypatch.setattr(conversations, "append_lines", self.append)

    def append(self, path: Path, rows: list[dict[str, Any]], sync: bool = True) -> None:
        if any(row["type"] in self.refused for row in rows):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        jsonl.append_lines(path, rows, sync)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    return FullDisk(monkeypatch)


@pytest.fixture
def app(settings: Settings) -> App:
    changed = settings.with_changes(retrieval_strategy="LEXICAL")
    return fake_app(changed, embedder=lambda _: FakeEmbedder(), chat_model=DemoModel)


def asked(app: App, conversation_id: str) -> Any:
    app.chat.begin(SESSION, conversation_id, INSIDE, UserContext())
    for live in app.chat.under_way(SESSION, conversation_id):
        assert live.join(20.0)
    return app.chat.conversation(SESSION, conversation_id).turns[-1]


@pytest.fixture
def conversation(app: App) -> str:
    record = app.kbs.add("manual.md", SOURCE.encode())
    return app.chat.start(SESSION, record.kb_id, record.kb_name)


def test_a_question_that_cannot_be_saved_is_answered_and_the_conversation_says_so(
    app: App, conversation: str, disk: FullDisk, settings: Settings
) -> None:
    disk.refused = {"conversation", "question", "text", "answer"}
    assert asked(app, conversation).text == WORDS
    assert app.chat.conversation(SESSION, conversation).held
    new = app.chat.start(SESSION, app.kbs.records()[0].kb_id, "KB")
    assert (asked(app, new).text, len(asked(app, new).answer.sources)) == (WORDS, 1)
    assert {head.conversation_id for head in app.chat.heads(SESSION)} == {conversation, new}
    store = conversations.ConversationStore(settings.conversations_dir)
    assert [len(head.turns) for head in store.heads(SESSION)] == [0]
    disk.refused = set()
    assert asked(app, new).state == "done"
    kept = store.load(SESSION, new)
    assert ([turn.state for turn in kept.turns], kept.held) == (["done"] * 3, False)
    app.chat.delete(SESSION, conversation)
    assert [head.conversation_id for head in app.chat.heads(SESSION)] == [new]


def test_what_the_disk_did_not_take_is_purged_too(app: App, conversation: str, disk: FullDisk) -> None:
    [record] = app.kbs.records()
    app.kb_changes.change(record.kb_id, new=[document("otro.md", "# Otro\n\nNada más.\n")])
    disk.refused = {"question", "text", "answer"}
    asked(app, conversation)
    app.kb_changes.purge(record.kb_id, ["manual.md"])
    assert app.chat.conversation(SESSION, conversation).turns == ()


def test_pieces_that_cannot_be_saved_do_not_stop_the_answer(app: App, conversation: str, disk: FullDisk) -> None:
    disk.refused = {"text", "restart"}
    turn = asked(app, conversation)
    assert (turn.state, turn.text) == ("done", WORDS)


def test_an_answer_that_cannot_be_saved_is_shown_and_saved_with_the_next(
    app: App, conversation: str, disk: FullDisk, settings: Settings
) -> None:
    disk.refused = {"text", "answer", "failed"}
    turn = asked(app, conversation)
    assert (turn.state, turn.text) == ("done", WORDS)
    assert app.chat.conversation(SESSION, conversation).held
    disk.refused = set()
    assert asked(app, conversation).state == "done"
    found = conversations.ConversationStore(settings.conversations_dir).load(SESSION, conversation)
    assert ([turn.state for turn in found.turns], found.held) == (["done", "done"], False)


def test_a_rating_that_cannot_be_saved_says_so_and_the_earlier_one_stays(
    app: App, conversation: str, disk: FullDisk
) -> None:
    turn = asked(app, conversation)
    app.chat.rate(SESSION, conversation, turn.turn_id, True)
    disk.refused = {"feedback"}
    with pytest.raises(FileNotWritten, match="Free up space"):
        app.chat.rate(SESSION, conversation, turn.turn_id, False)
    [turn] = app.chat.conversation(SESSION, conversation).turns
    assert turn.feedback.good


def test_caches_and_logs_that_cannot_be_written_fail_no_question(
    settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = fake_app(
        settings.with_changes(retrieval_strategy="HYBRID", llm_temperature=0.0),
        embedder=lambda _: FakeEmbedder(),
        chat_model=DemoModel,
    )
    record = app.kbs.add("manual.md", SOURCE.encode())
    # Files where folders should be, which not even an administrator can write to.
    for name in ("cache", "logs"):
        path = settings.data_dir / name
        if path.is_dir():
            path.rename(tmp_path / name)
        path.write_text("no folder")
    assert app.answering.ask(record.kb_id, INSIDE).text == WORDS
    assert "cannot be written" in caplog.text or "could not be written" in caplog.text
