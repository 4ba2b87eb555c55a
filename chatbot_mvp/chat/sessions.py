"""The chat's sessions: each one's conversations, kept apart from all others', and the answers being made."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from chatbot_mvp.chat import limits
from chatbot_mvp.chat.answering import Answering
from chatbot_mvp.chat.context import UserContext, require_short
from chatbot_mvp.chat.conversation import Conversation
from chatbot_mvp.chat.conversations import NO_OTHERS, ConversationStore, new_session
from chatbot_mvp.chat.feedback import QuestionKind, add_question
from chatbot_mvp.chat.transcripts import as_json, as_markdown
from chatbot_mvp.chat.turns import LiveTurn
from chatbot_mvp.errors import KbNotFound, LimitError
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.storage.aside import forget_old
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.text import fold

_LAST_WORDS_S = 10.0
_BEFORE = 12
"""Characters before the first word of a search that are shown with it."""


class ChatSessions:
    """Conversations of all sessions. Safe to share between threads."""

    def __init__(self, live: LiveSettings, answering: Answering) -> None:
        self._store = ConversationStore(live.current.conversations_dir)
        self._aside = live.current.deleted_conversations_dir
        self._deleted = ConversationStore(self._aside)
        self._live: dict[str, list[LiveTurn]] = {}
        """Conversation -> its answers that are being made, in order."""
        self._lock, self._beginning = threading.Lock(), threading.Lock()
        self._kb_dir = live.current.kb_dir
        self._answering = answering

    def new_session(self) -> str:
        """Create a session name. The conversations of a session are its own: pages name it to nobody."""
        return new_session()

    @performs(Action.ASK)
    def start(self, session: str, kb_id: str, kb_name: str, others: Mapping[str, str] = NO_OTHERS) -> str:
        """Start a conversation with a knowledge base, and ``others`` (id -> name), and return its id.

        Raises:
            LimitError (too_many_conversations)
        """
        return self._store.start(session, kb_id, kb_name, others)

    @performs(Action.ASK)
    def begin(
        self, session: str, conversation_id: str, question: str, context: UserContext, after: str | None = None
    ) -> LiveTurn:
        """Ask a question. The answer is produced and saved in the background, also while the page is reloaded. What the
        disk does not take stays in memory (``Conversation.held``).

        Args:
            after: id of the turn that the question follows, "" for the conversation's beginning: a branch begins there.
                None for the newest question.

        Raises:
            ConversationNotFound, FileOfLaterVersion, ConfigurationError (question_too_long)
            LimitError (too_many_answers, server_has_no_place): the question is not asked.
        """
        require_short(question)
        conversation = self._store.load(session, conversation_id)
        turn = LiveTurn(secrets.token_hex(6), question, context, conversation, self._store, self._answering)
        entry: dict[str, Any] = {"type": "question", "turn": turn.turn_id, "question": question, "mode": context.mode}
        entry |= {"at": utc_now(), **({"documents": context.documents.as_json()} if context.documents else {})}
        entry |= {"answer_in": context.answer_in} if context.answer_in else {}
        entry |= {"after": after} if after is not None else {}
        with self._beginning:  # two questions at once count as two
            self._require_place(session)
            self._store.append(session, conversation_id, entry, hold=True)
            with self._lock:
                of_conversation = self._live.setdefault(conversation_id, [])
                earlier = tuple(of_conversation)
                of_conversation.append(turn)
        # A daemon thread, so that the server's exit does not wait for a model. Text received so far is on disk.
        threading.Thread(target=self._make, args=(turn, earlier), name=f"turn-{turn.turn_id}", daemon=True).start()
        return turn

    def _require_place(self, session: str) -> None:
        live = self._all_live()
        if sum(turn.conversation.session == session for turn in live) >= limits.MOST_ANSWERS:
            raise LimitError("too_many_answers", limit=limits.MOST_ANSWERS)
        if len(live) >= limits.MOST_ANSWERS_OF_ALL:
            raise LimitError("server_has_no_place", limit=limits.MOST_ANSWERS_OF_ALL)

    def _make(self, turn: LiveTurn, earlier: Sequence[LiveTurn]) -> None:
        try:
            turn.run(earlier)
        finally:
            turn.end()
            conversation_id = turn.conversation.conversation_id
            with self._lock:
                self._live[conversation_id].remove(turn)
                if not self._live[conversation_id]:
                    del self._live[conversation_id]

    def _all_live(self) -> list[LiveTurn]:
        with self._lock:
            return [turn for turns in self._live.values() for turn in turns]

    def _live_of(self, conversation_id: str) -> tuple[LiveTurn, ...]:
        with self._lock:
            return tuple(self._live.get(conversation_id, ()))

    def end_unattended(self, present: Collection[str]) -> None:
        """Stop the answers of sessions that have had no page open for ``limits.GRACE_S`` seconds.

        Text received so far stays. Called every few seconds by whoever knows which sessions are ``present``, with an
        open page; without such calls every answer is made to its end.
        """
        for turn in self._all_live():
            turn.attend(turn.conversation.session in present)

    def under_way(self, session: str, conversation_id: str) -> tuple[LiveTurn, ...]:
        """Return the running answers, in order."""
        self._store.load(session, conversation_id)
        return self._live_of(conversation_id)

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
        live = {live.turn_id: live for live in self._live_of(conversation_id)}
        found = self._store.load(session, conversation_id)
        turns = tuple(
            replace(turn, state="running") if turn.state == "interrupted" and turn.turn_id in live else turn
            for turn in found.turns
        )
        running = {turn.turn_id: live[turn.turn_id] for turn in turns if turn.state == "running"}
        return replace(found, turns=turns), running

    def forget_held(self) -> None:
        """Forget what the disk did not take."""
        self._store.forget_held()

    @performs(Action.READ)
    def conversations(self, session: str, kb_id: str) -> list[Conversation]:
        """List a session's conversations that ask a knowledge base, the one that was last asked first."""
        return self._store.list(session, kb_id)

    @performs(Action.READ)
    def heads(self, session: str, wanted: str = "") -> list[Conversation]:
        """List a session's conversations, as ``ConversationStore.heads`` does; with the texts of answers if words are
        wanted.

        Args:
            wanted: words, or parts of words, that title, questions and answers must have, in any case and with or
                without accents; "" for all conversations.
        """
        words = fold(wanted).split()
        found = self._store.heads(session, texts=bool(words))
        return [head for head in found if _has(head, words)] if words else found

    @performs(Action.ARRANGE_CONVERSATIONS)
    def rename(self, session: str, conversation_id: str, title: str) -> None:
        """Give a conversation a title, of which ``MOST_TITLE_CHARS`` are kept; "" for its first question.

        Raises:
            ConversationNotFound, FileNotWritten
        """
        self._note(session, conversation_id, "title", title=" ".join(title.split())[: limits.MOST_TITLE_CHARS])

    @performs(Action.ARRANGE_CONVERSATIONS)
    def pin(self, session: str, conversation_id: str, pinned: bool) -> None:
        """Pin a conversation, or no longer.

        Raises:
            ConversationNotFound, FileNotWritten
        """
        self._note(session, conversation_id, "pin", pinned=pinned)

    def _note(self, session: str, conversation_id: str, kind: str, **fields: Any) -> None:
        self._store.load(session, conversation_id)  # what is deleted must not come back as one line
        self._store.append(session, conversation_id, {"type": kind, **fields, "at": utc_now()}, durable=True)

    @performs(Action.DELETE_CONVERSATION)
    def delete(self, session: str, conversation_id: str, undoable: bool = False) -> None:
        """Stop running answers and delete the conversation's file.

        Args:
            undoable: keep it for a day, in which ``undelete`` brings it back.

        Raises:
            ConversationNotFound, FileNotWritten
        """
        self.stop(session, conversation_id)
        for live in self._live_of(conversation_id):
            live.join(_LAST_WORDS_S)  # a later write would create the file again
        self._store.delete(session, conversation_id, self._aside if undoable else None)

    @performs(Action.READ)
    def deleted(self, session: str) -> list[Conversation]:
        """List a session's conversations whose deletion can be undone, as ``heads`` does."""
        forget_old(self._aside.glob(f"{session}/*.jsonl"))
        return self._deleted.heads(session)

    @performs(Action.DELETE_CONVERSATION)
    def undelete(self, session: str, conversation_id: str) -> None:
        """Bring back a conversation whose deletion can be undone. Raises as ``ConversationStore.take_back``."""
        self._store.take_back(session, conversation_id, self._aside)

    @performs(Action.RATE)
    def rate(
        self,
        session: str,
        conversation_id: str,
        turn_id: str,
        good: bool,
        note: str = "",
        reasons: Collection[str] = (),
    ) -> None:
        """Save a rating (thumb up or down) with a note and reasons. A later rating replaces an earlier one.

        Raises:
            ConversationNotFound, FileNotWritten
        """
        self._store.load(session, conversation_id).turn(turn_id)
        entry: dict[str, Any] = {"type": "feedback", "turn": turn_id, "good": good, "note": note.strip()}
        entry |= {"reasons": list(reasons)} if reasons else {}
        entry |= {"at": utc_now()}
        self._store.append(session, conversation_id, entry, durable=True)

    @performs(Action.READ)
    def questions_path(self, kb_id: str) -> Path:
        """Return the path of the questions that users added to a knowledge base, in the format of ``kb evaluate``."""
        return self._kb_dir / kb_id / "questions.jsonl"

    @performs(Action.RATE)
    def add_question(
        self, session: str, conversation_id: str, turn_id: str, kind: QuestionKind | None, answer: str = ""
    ) -> bool:
        """Add a turn's question to the benchmark of the knowledge base that it is about (``Conversation.kb_of``).

        Returns:
            False if it is already there.

        Raises:
            ConversationNotFound, FileNotWritten
            KbNotFound: that knowledge base was deleted.
        """
        conversation = self._store.load(session, conversation_id)
        turn = conversation.turn(turn_id)
        path = self.questions_path(conversation.kb_of(turn))
        if not path.parent.is_dir():
            raise KbNotFound(kb_id=path.parent.name, legal=", ".join(sorted(p.name for p in self._kb_dir.glob("*"))))
        return add_question(path, turn, kind, answer)

    @performs(Action.READ)
    def export(self, session: str, conversation_id: str, form: str, language: str) -> str:
        """Return the conversation as "markdown" or "json".

        Raises:
            ConversationNotFound
        """
        found = self.conversation(session, conversation_id)
        return as_json(found) if form == "json" else as_markdown(found, language)


def found_in(found: Conversation, wanted: str) -> tuple[str, str]:
    """Return the first turn for which ``ChatSessions.heads`` found a conversation, and what of it has the words.

    That is its question, or its answer from shortly before the first of the words on. ("", "") if only the title has
    them, or no turn has them all.
    """
    words = fold(wanted).split()
    for turn in found.turns if words else ():
        if all(word in fold(turn.question) for word in words):
            return turn.turn_id, turn.question
        said = " ".join(turn.text.split())
        at = [fold(said).find(word) for word in words]
        if any(place >= 0 for place in at) and all(word in fold(f"{turn.question} {said}") for word in words):
            first = max(0, min(place for place in at if place >= 0) - _BEFORE)
            return turn.turn_id, said[said.rfind(" ", 0, first) + 1 :]
    return "", ""


def _has(head: Conversation, words: Sequence[str]) -> bool:
    """Return whether title, questions and answers of a conversation have each of some folded words."""
    said = fold("\n".join([head.title, *(f"{turn.question}\n{turn.text}" for turn in head.turns)]))
    return all(word in said for word in words)
