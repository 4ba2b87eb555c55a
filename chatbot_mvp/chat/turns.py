"""Answers on their way, each in a thread of its own: whoever asked may leave and come back."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from chatbot_mvp.chat.answer import Failure, Finished, Piece, Restarted, Retrieved
from chatbot_mvp.chat.stream import AnswerStream
from chatbot_mvp.chat.citations import Source
from chatbot_mvp.chat.records import record_of
from chatbot_mvp.errors import ChatbotError

log = logging.getLogger(__name__)

_SAVE_EVERY_S = 0.1

Write = Callable[[dict[str, Any], bool], None]
"""Gets a line of the conversation, and whether it must be on disk at once."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an answer is."""

    version: int = 0
    """Grows with each change."""
    found: tuple[Source, ...] | None = None
    """The passages found, numbered as the answer will cite them; None while the search runs."""
    text: str = ""
    failure: Failure | None = None
    """Of the provider, when the built-in model has taken over."""
    done: bool = False
    """The answer, or why there is none, is in the conversation."""


class LiveTurn:
    """One answer on its way."""

    def __init__(self, turn_id: str) -> None:
        self.turn_id = turn_id
        self._progress = Progress()
        self._changed = threading.Condition()
        self._stream: AnswerStream | None = None
        self._cancelled = False

    def wait(self, seen: int, timeout: float) -> Progress:
        """How far it is, as soon as that is further than version ``seen``, or after ``timeout`` seconds."""
        with self._changed:
            self._changed.wait_for(lambda: self._progress.version > seen, timeout)
            return self._progress

    def join(self, timeout: float) -> bool:
        """Whether it has ended, after at most ``timeout`` seconds of waiting for that."""
        with self._changed:
            return self._changed.wait_for(lambda: self._progress.done, timeout)

    def cancel(self) -> None:
        """Stop the model; what has come so far is the answer."""
        with self._changed:
            self._cancelled = True
            stream = self._stream
        if stream is not None:
            stream.cancel()

    def run(self, ask: Callable[[], AnswerStream], write: Write) -> None:
        """Produce the answer and write it down; never raises."""
        try:
            self._produce(ask, write)
        except ChatbotError as error:
            self._fail(Failure.of(error), write)
        except Exception as error:
            log.exception("turn %s failed", self.turn_id)
            self._fail(Failure("", repr(error)), write)
        finally:
            self._set(done=True)

    def _produce(self, ask: Callable[[], AnswerStream], write: Write) -> None:
        stream = ask()
        with self._changed:
            self._stream = stream
        if self._cancelled:
            stream.cancel()
        unsaved, saved_at = "", time.monotonic()

        def save() -> None:
            nonlocal unsaved, saved_at
            if unsaved:
                write({"type": "text", "turn": self.turn_id, "text": unsaved}, False)
            unsaved, saved_at = "", time.monotonic()

        for event in stream:
            if isinstance(event, Retrieved):
                hits = event.search.trace.chunks_final
                self._set(found=tuple(Source(number, hit.chunk, ()) for number, hit in enumerate(hits, 1)))
            elif isinstance(event, Piece):
                unsaved += event.text
                self._set(text=self._progress.text + event.text)
                if time.monotonic() - saved_at >= _SAVE_EVERY_S:
                    save()
            elif isinstance(event, Restarted):
                unsaved = ""
                write({"type": "restart", "turn": self.turn_id}, False)
                self._set(text="", failure=event.failure)
            elif isinstance(event, Finished):
                write({"type": "answer", "turn": self.turn_id, "answer": record_of(event.answer).as_json()}, True)

    def _fail(self, failure: Failure, write: Write) -> None:
        reason = {"code": failure.code, "message": failure.message, "params": dict(failure.params)}
        try:
            write({"type": "failed", "turn": self.turn_id, "failure": reason}, True)
        except (OSError, ChatbotError):
            log.exception("turn %s could not be written down", self.turn_id)

    def _set(self, **changes: Any) -> None:
        with self._changed:
            self._progress = replace(self._progress, version=self._progress.version + 1, **changes)
            self._changed.notify_all()


class TurnRegistry:
    """The answers on their way in this process. Those of one conversation follow each other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._live: dict[str, list[LiveTurn]] = {}

    def begin(self, conversation: str, turn_id: str, work: Callable[[LiveTurn], None]) -> LiveTurn:
        """Run ``work`` in a thread, after what the conversation has under way already."""
        live = LiveTurn(turn_id)
        with self._lock:
            before = list(self._live.get(conversation, ()))
            self._live.setdefault(conversation, []).append(live)

        def run() -> None:
            for other in before:
                while not other.join(60.0):
                    pass
            try:
                work(live)
            finally:
                with self._lock:
                    left = [other for other in self._live[conversation] if other is not live]
                    self._live[conversation] = left
                    if not left:
                        del self._live[conversation]

        # A daemon: the server's exit does not wait for a model; what had come is on disk.
        threading.Thread(target=run, name=f"turn-{turn_id}", daemon=True).start()
        return live

    def live(self, conversation: str) -> tuple[LiveTurn, ...]:
        """What the conversation has under way, in order."""
        with self._lock:
            return tuple(self._live.get(conversation, ()))
