"""Produce answers in background threads, so that a user can leave the page and come back."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from chatbot_mvp.chat.answer import Failure, Finished, Piece, Restarted, Retrieved
from chatbot_mvp.chat.answering import AnswerStream
from chatbot_mvp.chat.citations import Source
from chatbot_mvp.chat.records import record_of
from chatbot_mvp.errors import ChatbotError

log = logging.getLogger(__name__)

_SAVE_EVERY_S = 0.1

Write = Callable[[dict[str, Any], bool], None]
"""Saves a line of the conversation; the second argument says whether it must be on disk at once."""


@dataclass(frozen=True, slots=True)
class Progress:
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
    """One running answer."""

    def __init__(self, turn_id: str) -> None:
        self.turn_id = turn_id
        self._progress = Progress()
        self._changed = threading.Condition()
        self._stream: AnswerStream | None = None
        self._cancelled = False

    def wait(self, seen: int, timeout: float) -> Progress:
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

    def run(self, ask: Callable[[], AnswerStream], write: Write) -> None:
        """Produce the answer and save it. Failures are saved too; this method never raises them."""
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
    """The running answers of this process. Answers of one conversation run one after the other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._live: dict[str, list[LiveTurn]] = {}

    def begin(self, conversation: str, turn_id: str, work: Callable[[LiveTurn], None]) -> LiveTurn:
        """Run ``work`` in a thread, after the answers that the conversation already has running."""
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

        # A daemon thread, so that the server's exit does not wait for a model. Text received so far is on disk.
        threading.Thread(target=run, name=f"turn-{turn_id}", daemon=True).start()
        return live

    def live(self, conversation: str) -> tuple[LiveTurn, ...]:
        """Return the conversation's running answers, in order."""
        with self._lock:
            return tuple(self._live.get(conversation, ()))
