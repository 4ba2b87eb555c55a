"""Where sessions ask: keeps each one's conversations and the answers under way apart from all others'."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from chatbot_mvp.chat.stream import AnswerStream
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.conversations import Conversation, ConversationStore, Turn, is_session, moment, new_session
from chatbot_mvp.chat.feedback import Kind, add_question
from chatbot_mvp.chat.prompting import PastTurn
from chatbot_mvp.chat.transcripts import as_json, as_markdown
from chatbot_mvp.chat.turns import LiveTurn, TurnRegistry

Ask = Callable[[str, str, UserContext, Sequence[PastTurn]], AnswerStream]
"""(kb_id, question, knobs, history) -> the answer's events."""

_LAST_WORDS_S = 10.0


class ChatSessions:
    """Conversations of all sessions. Safe to share between threads."""

    def __init__(self, conversations: Path, kb_dir: Path, ask: Ask) -> None:
        """
        Args:
            conversations: folder of the files.
            kb_dir: where knowledge bases keep their question files.
        """
        self._store = ConversationStore(conversations)
        self._turns = TurnRegistry()
        self._kb_dir = kb_dir
        self._ask = ask

    def new_session(self) -> str:
        """A name for a session that has none; who knows it can read its conversations."""
        return new_session()

    def is_session(self, name: str) -> bool:
        """Whether ``name`` could be a session's."""
        return is_session(name)

    def start(self, session: str, kb_id: str, kb_name: str) -> str:
        """Begin a conversation with a knowledge base; its id."""
        return self._store.start(session, kb_id, kb_name)

    def begin(self, session: str, conversation_id: str, question: str, context: UserContext) -> LiveTurn:
        """Ask. The answer comes in the background and is written down as it comes, whoever watches.

        Raises:
            ConversationNotFound
        """
        conversation = self._store.load(session, conversation_id)
        turn_id = secrets.token_hex(6)

        def write(entry: dict[str, Any], durable: bool) -> None:
            self._store.append(session, conversation_id, entry, durable)

        entry = {"type": "question", "turn": turn_id, "question": question, "mode": context.mode, "at": moment()}
        write(entry, False)

        def work(live: LiveTurn) -> None:
            def ask() -> AnswerStream:
                history = self._store.load(session, conversation_id).history
                return self._ask(conversation.kb_id, question, context, history)

            live.run(ask, write)

        return self._turns.begin(conversation_id, turn_id, work)

    def under_way(self, session: str, conversation_id: str) -> tuple[LiveTurn, ...]:
        """The answers on their way, in order."""
        self._store.load(session, conversation_id)
        return self._turns.live(conversation_id)

    def stop(self, session: str, conversation_id: str) -> None:
        """Stop the answers on their way; what has come stays."""
        for live in self.under_way(session, conversation_id):
            live.cancel()

    def conversation(self, session: str, conversation_id: str) -> Conversation:
        """A conversation with the state of each turn.

        Raises:
            ConversationNotFound
        """
        return self.watched(session, conversation_id)[0]

    def watched(self, session: str, conversation_id: str) -> tuple[Conversation, dict[str, LiveTurn]]:
        """A conversation, and by its id each turn of it that is "running".

        Raises:
            ConversationNotFound
        """
        # Asked before the file is read: a turn that ends in between is then read as ended.
        live = {live.turn_id: live for live in self._turns.live(conversation_id)}
        found = self._store.load(session, conversation_id)
        turns = tuple(
            replace(turn, state="running") if turn.state == "interrupted" and turn.turn_id in live else turn
            for turn in found.turns
        )
        running = {turn.turn_id: live[turn.turn_id] for turn in turns if turn.state == "running"}
        return replace(found, turns=turns), running

    def conversations(self, session: str, kb_id: str) -> list[Conversation]:
        """A session's conversations with a knowledge base, the newest first."""
        return self._store.list(session, kb_id)

    def delete(self, session: str, conversation_id: str) -> None:
        """Stop what is under way and delete the conversation's file."""
        self.stop(session, conversation_id)
        for live in self._turns.live(conversation_id):
            live.join(_LAST_WORDS_S)  # what is written after the file has gone would begin it anew
        self._store.delete(session, conversation_id)

    def rate(self, session: str, conversation_id: str, turn_id: str, good: bool, note: str = "") -> None:
        """Keep a thumb up or down, with a note; a later one takes the place of an earlier one.

        Raises:
            ConversationNotFound
        """
        self._store.load(session, conversation_id).turn(turn_id)
        entry = {"type": "feedback", "turn": turn_id, "good": good, "note": note.strip(), "at": moment()}
        self._store.append(session, conversation_id, entry, durable=True)

    def questions_path(self, kb_id: str) -> Path:
        """The question file that a knowledge base's readers have filled; ``kb evaluate`` accepts it."""
        return self._kb_dir / kb_id / "questions.jsonl"

    def add_question(
        self, session: str, conversation_id: str, turn_id: str, kind: Kind | None, answer: str = ""
    ) -> bool:
        """Make a turn's question one of the knowledge base's benchmark; False if it is one already.

        Raises:
            ConversationNotFound
        """
        conversation = self._store.load(session, conversation_id)
        turn: Turn = conversation.turn(turn_id)
        return add_question(self.questions_path(conversation.kb_id), turn, kind, answer)

    def export(self, session: str, conversation_id: str, form: str, language: str) -> str:
        """The conversation as "markdown" or "json".

        Raises:
            ConversationNotFound
        """
        found = self.conversation(session, conversation_id)
        return as_json(found) if form == "json" else as_markdown(found, language)
