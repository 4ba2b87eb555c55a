"""Limits the requests to a provider: how many run at the same time, and how quickly they follow each other."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from chatbot_mvp.remote.pace import Pace


@dataclass(frozen=True, slots=True)
class Slot:
    """Permission for one running request."""

    limiter: Limiter
    started: float
    """Seconds on the monotonic clock."""
    _released: list[bool] = field(default_factory=list)

    def release(self) -> None:
        """Give the slot back. Safe to call twice."""
        if not self._released:
            self._released.append(True)
            self.limiter._give_back()


class Limiter:
    """Caps concurrency, and adapts the request rate to the provider's 429 replies (see ``pace``).

    Without a 429 the rate is not limited at all. Safe to share between threads. It blocks the calling thread, so it
    needs no event loop.
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
        """Number of running requests."""
        return self._running

    def set_concurrency(self, concurrency: int) -> None:
        """Change the maximum number of concurrent requests; running requests continue."""
        with self._free:
            self._concurrency = concurrency
            self._free.notify_all()

    def acquire(self) -> Slot:
        """Wait until a request may start, and return its slot."""
        with self._free:
            self._free.wait_for(lambda: self._running < self._concurrency)
            self._running += 1
            now = time.monotonic()
            interval = self._pace.interval
            start = max(now, self._not_before, self._last_start + interval if interval else now)
            self._last_start = start
        try:
            # The slot is held while waiting: later requests would have to wait for the rate anyway.
            time.sleep(start - now)
        except BaseException:
            self._give_back()
            raise
        return Slot(self, start)

    @contextmanager
    def slot(self) -> Iterator[Slot]:
        """Acquire a slot and release it at the end of the ``with`` block."""
        slot = self.acquire()
        try:
            yield slot
        finally:
            slot.release()

    def throttled(self, slot: Slot, retry_after: float = 0.0) -> None:
        """Report a 429 for the request of ``slot``. No request starts in the next ``retry_after`` seconds."""
        with self._free:
            now = time.monotonic()
            self._not_before = max(self._not_before, now + retry_after)
            self._pace.told(slot.started, now, refused=True)

    def succeeded(self, slot: Slot) -> None:
        """Report that the request of ``slot`` succeeded."""
        with self._free:
            self._pace.told(slot.started, time.monotonic(), refused=False)

    def _give_back(self) -> None:
        with self._free:
            self._running -= 1
            self._free.notify()


_LIMITERS: dict[tuple[str, str], Limiter] = {}
_LOCK = threading.Lock()


def limiter_for(provider: str, base_url: str, concurrency: int) -> Limiter:
    """Return the limiter of a provider's address, shared in this process, and set its ``concurrency``."""
    with _LOCK:
        limiter = _LIMITERS.setdefault((provider, base_url), Limiter(concurrency))
    limiter.set_concurrency(concurrency)
    return limiter
