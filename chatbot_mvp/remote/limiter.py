"""One limiter per provider: how many requests are on their way at a time, and how quickly they follow each other."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from chatbot_mvp.remote.pace import Pace


@dataclass(frozen=True, slots=True)
class Slot:
    """The right to have one request on its way."""

    limiter: Limiter
    started: float
    """On the monotonic clock."""
    _released: list[bool] = field(default_factory=list)

    def release(self) -> None:
        """Give the slot back. Safe to call twice."""
        if not self._released:
            self._released.append(True)
            self.limiter._give_back()


class Limiter:
    """Caps concurrency, and adapts the rate to what the provider refuses, as ``pace`` has it.

    Without a 429 the rate is not limited at all. Safe to share between threads; made to be waited for in threads, so
    it works beside any event loop.
    """

    def __init__(self, concurrency: int) -> None:
        self._concurrency = concurrency
        self._running = 0
        self._pace = Pace()
        self._not_before = 0.0
        self._last_start = 0.0
        self._free = threading.Condition()

    @property
    def interval(self) -> float:
        """Seconds between the starts of two requests; 0 while the rate is not limited."""
        return self._pace.interval

    @property
    def running(self) -> int:
        """Requests on their way."""
        return self._running

    def set_concurrency(self, concurrency: int) -> None:
        """Take another cap; what runs already goes on."""
        with self._free:
            self._concurrency = concurrency
            self._free.notify_all()

    def acquire(self) -> Slot:
        """Wait for a place and for the rate."""
        with self._free:
            self._free.wait_for(lambda: self._running < self._concurrency)
            self._running += 1
            now = time.monotonic()
            interval = self._pace.interval
            start = max(now, self._not_before, self._last_start + interval if interval else now)
            self._last_start = start
        try:
            # The place is kept meanwhile: those behind would have to wait for the rate as well.
            time.sleep(start - now)
        except BaseException:
            self._give_back()
            raise
        return Slot(self, start)

    @contextmanager
    def slot(self) -> Iterator[Slot]:
        """``acquire``, and ``release`` at the end of the block."""
        slot = self.acquire()
        try:
            yield slot
        finally:
            slot.release()

    def throttled(self, slot: Slot, retry_after: float = 0.0) -> None:
        """The request of ``slot`` met a 429: nobody starts within ``retry_after`` seconds."""
        with self._free:
            now = time.monotonic()
            self._not_before = max(self._not_before, now + retry_after)
            self._pace.told(slot.started, now, refused=True)

    def succeeded(self, slot: Slot) -> None:
        """The request of ``slot`` got its answer."""
        with self._free:
            self._pace.told(slot.started, time.monotonic(), refused=False)

    def _give_back(self) -> None:
        with self._free:
            self._running -= 1
            self._free.notify()


_LIMITERS: dict[tuple[str, str], Limiter] = {}
_LOCK = threading.Lock()


def limiter_for(provider: str, base_url: str, concurrency: int) -> Limiter:
    """The one limiter of a provider's address in this process, whoever asks; the latest ``concurrency`` holds."""
    with _LOCK:
        limiter = _LIMITERS.setdefault((provider, base_url), Limiter(concurrency))
    limiter.set_concurrency(concurrency)
    return limiter
