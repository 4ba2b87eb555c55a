"""Answers that are being made, each in a thread of its own, so that the reader may leave and come back."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from chatbot_mvp.chat import limits
from chatbot_mvp.chat.answer import Failure, Finished, Piece, Restarted, Retrieved
from chatbot_mvp.chat.answering import Answering
from chatbot_mvp.chat.citations import Source
from chatbot_mvp.chat.context import UserContext
from chatbot_mvp.chat.conversation import Conversation
from chatbot_mvp.chat.conversations import ConversationStore
from chatbot_mvp.chat.records import record_of
from chatbot_mvp.chat.stream import AnswerStream
from chatbot_mvp.errors import ChatbotError, FileNotWritten, LimitError

log = logging.getLogger(__name__)

_SAVE_EVERY_S = 0.1


@dataclass(frozen=True, slots=True)
class TurnProgress:
    """The state of a running answer."""

    version: int = 0
    """Increases with each change."""
    found: tuple[Source, ...] | None = None
    """The passages found, numbered as the answer will cite them; None while the search runs."""
    text: str = ""
    """The text received so far."""
    failure: Failure | None = None
    """The provider's failure, if the built-in model has taken over."""
    done: bool = False
    """True once the answer, or its failure, is saved in the conversation."""


class LiveTurn:
    """One answer that is being made, in a thread of its own. It is written to the conversation as it comes."""

    def __init__(
        self,
        turn_id: str,
        question: str,
        context: UserContext,
        conversation: Conversation,
        store: ConversationStore,
        answering: Answering,
    ) -> None:
        self.turn_id = turn_id
        self.conversation = conversation
        """The conversation as it was when the question was asked."""
        self._question, self._context = question, context
        self._store, self._answering = store, answering
        self._progress = TurnProgress()
        self._changed = threading.Condition()
        self._stream: AnswerStream | None = None
        self._cancelled = False
        self._attended_at = time.monotonic()
        self._abandoned = False

    def wait(self, seen: int, timeout: float) -> TurnProgress:
        """Wait until the progress is newer than version ``seen``, at most ``timeout`` seconds, and return it."""
        with self._changed:
            self._changed.wait_for(lambda: self._progress.version > seen, timeout)
            return self._progress

    def join(self, timeout: float) -> bool:
        """Wait at most ``timeout`` seconds for the end; return whether the answer has ended."""
        with self._changed:
            return self._changed.wait_for(lambda: self._progress.done, timeout)

    def cancel(self) -> None:
        """Stop the model. The text so far becomes the answer."""
        with self._changed:
            self._cancelled = True
            stream = self._stream
        if stream is not None:
            stream.cancel()

    def attend(self, present: bool) -> None:
        """Note whether the session has a page open; stop the answer if it has had none for ``limits.GRACE_S``."""
        now = time.monotonic()
        if present:
            self._attended_at = now
        elif now - self._attended_at > limits.GRACE_S:
            self._abandoned = True
            self.cancel()

    def run(self, earlier: Sequence[LiveTurn]) -> None:
        """Produce the answer and write it down; never raises. ``end`` has to follow.

        ``earlier`` turns of the same conversation must end first, since this one reads their answers.
        """
        for turn in earlier:
            while not turn.join(60.0):
                pass
        try:
            if self._abandoned:
                raise LimitError("answer_not_awaited", seconds=round(limits.GRACE_S))
            self._produce()
        except ChatbotError as error:
            self._fail(Failure.of(error))
        except Exception as error:
            log.exception("turn %s failed", self.turn_id)
            self._fail(Failure("", repr(error)))

    def end(self) -> None:
        """Tell all who wait that the answer, or its failure, can be read from now on."""
        self._set(done=True)

    def _produce(self) -> None:
        now = self._store.load(self.conversation.session, self.conversation.conversation_id)
        history = now.history_of(self.turn_id)
        stream = self._answering.stream_over(now.kb_ids, self._question, self._context, history)
        with self._changed:
            self._stream = stream
        if self._cancelled:
            stream.cancel()
        unsaved, saved_at = "", time.monotonic()

        def save() -> None:
            nonlocal unsaved, saved_at
            saved_at = time.monotonic()
            if unsaved and self._note("text", text=unsaved):
                unsaved = ""

        for event in stream:
            if isinstance(event, Retrieved):
                hits = event.search.trace.chunks_final
                found = [Source(number, hit.chunk, ()) for number, hit in enumerate(hits, 1)]
                self._set(found=stream.with_places(found))
            elif isinstance(event, Piece):
                unsaved += event.text
                self._set(text=self._progress.text + event.text)
                if time.monotonic() - saved_at >= _SAVE_EVERY_S:
                    save()
            elif isinstance(event, Restarted):
                unsaved = ""
                self._note("restart")
                self._set(text="", failure=event.failure)
            elif isinstance(event, Finished):
                self._write("answer", durable=True, answer=record_of(event.answer).as_json())

    def _fail(self, failure: Failure) -> None:
        reason = {"code": failure.code, "message": failure.message, "params": dict(failure.params)}
        self._write("failed", durable=True, failure=reason)

    def _note(self, kind: str, **fields: Any) -> bool:
        """Write what the answer replaces at its end; return whether it was written. A full disk stops no answer."""
        try:
            self._write(kind, **fields)
        except FileNotWritten as error:
            log.warning("%s", error)
            return False
        return True

    def _write(self, kind: str, durable: bool = False, **fields: Any) -> None:
        entry = {"type": kind, "turn": self.turn_id, **fields}
        # What the end of the turn replaces is not held.
        self._store.append(self.conversation.session, self.conversation.conversation_id, entry, durable, hold=durable)

    def _set(self, **changes: Any) -> None:
        with self._changed:
            self._progress = replace(self._progress, version=self._progress.version + 1, **changes)
            self._changed.notify_all()
