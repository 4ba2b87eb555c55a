"""Runs one answer in a thread of its own and hands its events to the event loop.

With a thread per answer, a model that takes its time holds up only its own reader. The endpoint has as many threads as
it may have connections (SERVE_MAX_CONNECTIONS), those of clients who have left included.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable

from chatbot_mvp.chat.answer import Event
from chatbot_mvp.chat.stream import AnswerStream

log = logging.getLogger(__name__)
_END = None


class RunningAnswer:
    """The events of an answer as it is made. Must be created in the event loop; can be iterated once."""

    def __init__(self, make: Callable[[], AnswerStream]) -> None:
        """``make`` starts the answer; it is called in the answer's thread, because it may wait for indexes."""
        self._make = make
        self._loop = asyncio.get_running_loop()
        self._events: asyncio.Queue[Event | Exception | None] = asyncio.Queue()
        self._stream: AnswerStream | None = None
        self._cancelled = False
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._run, name="answer", daemon=True)
        self._thread.start()

    @property
    def working(self) -> bool:
        """Whether the work goes on, as a search does for a while after its client has left."""
        return self._thread.is_alive()

    def cancel(self) -> None:
        """Stop the model and drop what is still to come. Does not wait."""
        with self._lock:
            self._cancelled = True
            stream = self._stream
        if stream is not None:
            stream.cancel()

    async def __aiter__(self) -> AsyncIterator[Event]:
        """Yield the events.

        Raises:
            ChatbotError: the answer could not be made.
        """
        while (event := await self._events.get()) is not _END:
            if isinstance(event, Exception):
                raise event
            yield event

    def _run(self) -> None:
        try:
            if self._cancelled:
                return
            stream = self._make()
            with self._lock:
                self._stream = stream
                if self._cancelled:
                    return
            for event in stream:
                self._hand_over(event)
                if self._cancelled:
                    return
        except Exception as error:  # noqa: BLE001 - raised again where the events are read
            self._hand_over(error)
        finally:
            self._hand_over(_END)

    def _hand_over(self, event: Event | Exception | None) -> None:
        try:
            self._loop.call_soon_threadsafe(self._events.put_nowait, event)
        except RuntimeError:
            log.debug("the server stopped before an answer ended")
