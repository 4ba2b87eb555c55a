"""The chat's sessions: each one's conversations, kept apart from all others', and the answers being made."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from chatbot_mvp.chat.answering import Answering
from chatbot_mvp.chat.context import UserContext, require_short
from chatbot_mvp.chat.conversations import Conversation, ConversationStore, Turn, new_session
from chatbot_mvp.chat.feedback import Kind, add_question
from chatbot_mvp.chat.transcripts import as_json, as_markdown
from chatbot_mvp.chat.turns import LiveTurn, TurnRegistry
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.storage.clock import utc_now

_LAST_WORDS_S = 10.0


class ChatSessions:
    """Conversations of all sessions. Safe to share between threads."""

    def __init__(self, live: LiveSettings, answering: Answering) -> None:
        self._store = ConversationStore(live.current.conversations_dir)
        self._turns = TurnRegistry()
        self._beginning = threading.Lock()
        self._kb_dir = live.current.kb_dir
        self._answering = answering

    def new_session(self) -> str:
        """Create a session name. The conversations of a session are its own: pages name it to nobody."""
        return new_session()

    @performs(Action.ASK)
    def start(self, session: str, kb_id: str, kb_name: str) -> str:
        """Start a conversation with a knowledge base and return its id.

        Raises:
            FileNotWritten, LimitError (too_many_conversations)
        """
        return self._store.start(session, kb_id, kb_name)

    @performs(Action.ASK)
    def begin(self, session: str, conversation_id: str, question: str, context: UserContext) -> LiveTurn:
        """Ask a question. The answer is produced and saved in the background, also while the page is reloaded.

        Raises:
            ConversationNotFound, FileOfLaterVersion, ConfigurationError (question_too_long)
            LimitError (too_many_answers, server_has_no_place): the question is not asked.
            FileNotWritten: the question could not be saved, and is not asked.
        """
        require_short(question)
        conversation = self._store.open(session, conversation_id)
        turn = LiveTurn(secrets.token_hex(6), question, context, conversation, self._answering, session)
        entry = {"type": "question", "turn": turn.turn_id, "question": question, "mode": context.mode, "at": utc_now()}
        with self._beginning:  # two questions at once count as two
            self._turns.require_place(session)
            conversation.append(entry, durable=False)
            self._turns.begin(conversation_id, turn)
        return turn

    def end_unattended(self, present: Collection[str]) -> None:
        """Stop the answers of sessions that have had no page open for ``limits.GRACE_S`` seconds.

        Text received so far stays. Called every few seconds by whoever knows which pages are open; without such calls
        every answer is made to its end.

        Args:
            present: sessions with an open page.
        """
        self._turns.end_unattended(present)

    def under_way(self, session: str, conversation_id: str) -> tuple[LiveTurn, ...]:
        """Return the running answers, in order."""
        self._store.load(session, conversation_id)
        return self._turns.live(conversation_id)

    @performs(Action.STOP_ANSWER)
    def stop(self, session: str, conversation_id: str) -> None:
        """Stop the running answers. Text received so far stays."""
        for live in self.under_way(session, conversation_id):
            live.cancel()

    @performs(Action.READ)
    def conversation(self, session: str, conversation_id: str) -> Conversation:
        """Return a conversation with the state of each turn.

        Raises:
            ConversationNotFound
        """
        return self.watched(session, conversation_id)[0]

    @performs(Action.READ)
    def watched(self, session: str, conversation_id: str) -> tuple[Conversation, dict[str, LiveTurn]]:
        """Return a conversation, and turn id -> live turn for its running turns.

        Raises:
            ConversationNotFound
        """
        # Query the live turns before reading the file: a turn that ends in between is then read as ended.
        live = {live.turn_id: live for live in self._turns.live(conversation_id)}
        found = self._store.load(session, conversation_id)
        turns = tuple(
            self._without_end(turn, turn.turn_id in live) if turn.state == "interrupted" else turn
            for turn in found.turns
        )
        running = {turn.turn_id: live[turn.turn_id] for turn in turns if turn.state == "running"}
        return replace(found, turns=turns), running

    def _without_end(self, turn: Turn, running: bool) -> Turn:
        """Return the state of a turn that has no end on disk."""
        if running:
            return replace(turn, state="running")
        unsaved = self._turns.unsaved(turn.turn_id)
        return replace(turn, state="failed", failure=unsaved[0], text=unsaved[1]) if unsaved else turn

    @performs(Action.READ)
    def conversations(self, session: str, kb_id: str) -> list[Conversation]:
        """List a session's conversations with a knowledge base, newest first."""
        return self._store.list(session, kb_id)

    @performs(Action.DELETE_CONVERSATION)
    def delete(self, session: str, conversation_id: str) -> None:
        """Stop running answers and delete the conversation's file."""
        self.stop(session, conversation_id)
        for live in self._turns.live(conversation_id):
            live.join(_LAST_WORDS_S)  # a later write would create the file again
        self._store.delete(session, conversation_id)

    @performs(Action.RATE)
    def rate(self, session: str, conversation_id: str, turn_id: str, good: bool, note: str = "") -> None:
        """Save a rating (thumb up or down) with a note. A later rating replaces an earlier one.

        Raises:
            ConversationNotFound, FileNotWritten
        """
        self._store.load(session, conversation_id).turn(turn_id)
        entry = {"type": "feedback", "turn": turn_id, "good": good, "note": note.strip(), "at": utc_now()}
        self._store.append(session, conversation_id, entry, durable=True)

    @performs(Action.READ)
    def questions_path(self, kb_id: str) -> Path:
        """Return the path of the questions that users added to a knowledge base, in the format of ``kb evaluate``."""
        return self._kb_dir / kb_id / "questions.jsonl"

    @performs(Action.RATE)
    def add_question(
        self, session: str, conversation_id: str, turn_id: str, kind: Kind | None, answer: str = ""
    ) -> bool:
        """Add a turn's question to the knowledge base's benchmark; return False if it is already there.

        Raises:
            ConversationNotFound, FileNotWritten
        """
        conversation = self._store.load(session, conversation_id)
        turn: Turn = conversation.turn(turn_id)
        return add_question(self.questions_path(conversation.kb_id), turn, kind, answer)

    @performs(Action.READ)
    def export(self, session: str, conversation_id: str, form: str, language: str) -> str:
        """Return the conversation as "markdown" or "json".

        Raises:
            ConversationNotFound
        """
        found = self.conversation(session, conversation_id)
        return as_json(found) if form == "json" else as_markdown(found, language)
