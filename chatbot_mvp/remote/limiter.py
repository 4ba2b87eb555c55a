"""Limits the requests to a provider: how many run at the same time, and how quickly they follow each other."""

from __future__ import annotations

import sys
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
    share: threading.Semaphore | None = None
    """The caller's own limit, against which this request counts, too."""
    _released: list[bool] = field(default_factory=list)

    def release(self) -> None:
        """Give the slot back. Safe to call twice."""
        if not self._released:
            self._released.append(True)
            self.limiter._give_back(self.share)


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
        self._shares: dict[int, threading.Semaphore] = {}

    @property
    def interval(self) -> float:
        """Seconds between the starts of two requests; 0 while the rate is not limited."""
        return self._pace.interval

    @property
    def concurrency(self) -> int:
        """Maximum number of concurrent requests."""
        return self._concurrency

    @property
    def running(self) -> int:
        """Number of running requests."""
        return self._running

    def set_concurrency(self, concurrency: int) -> None:
        """Change the maximum number of concurrent requests; running requests continue."""
        with self._free:
            self._concurrency = concurrency
            self._free.notify_all()

    def acquire(self, at_once: int | None = None) -> Slot:
        """Wait until a request may start, and return its slot.

        Args:
            at_once: the caller's own limit below the cap, at least 1. Callers with the same number share one limit, so
                that a run's generator and judge together keep the run's concurrency. None applies only the cap.
        """
        share = None if at_once is None else self._share(at_once)
        if share is not None:
            # Acquired before the cap, so that a caller at its own limit does not take a place from other callers.
            share.acquire()
        try:
            with self._free:
                self._free.wait_for(lambda: self._running < self._concurrency)
                self._running += 1
                now = time.monotonic()
                interval = self._pace.interval
                start = max(now, self._not_before, self._last_start + interval if interval else now)
                self._last_start = start
        except BaseException:
            if share is not None:
                share.release()
            raise
        try:
            # The slot is held while waiting: later requests would have to wait for the rate anyway.
            time.sleep(start - now)
        except BaseException:
            self._give_back(share)
            raise
        return Slot(self, start, share)

    @contextmanager
    def slot(self, at_once: int | None = None) -> Iterator[Slot]:
        """Acquire a slot and release it at the end of the ``with`` block."""
        slot = self.acquire(at_once)
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

    def _share(self, at_once: int) -> threading.Semaphore:
        with self._free:
            return self._shares.setdefault(at_once, threading.Semaphore(at_once))

    def _give_back(self, share: threading.Semaphore | None) -> None:
        with self._free:
            self._running -= 1
            self._free.notify()
        if share is not None:
            share.release()


class Limiters:
    """The limiters of a process: one per provider and address, all under one cap. Safe to share between threads."""

    def __init__(self) -> None:
        # Until an App sets the cap, only the callers' own limits apply.
        self._cap = sys.maxsize
        self._limiters: dict[tuple[str, str], Limiter] = {}
        self._served: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()

    def set_cap(self, cap: int) -> None:
        """Limit each address to ``cap`` concurrent requests, or to fewer if it cannot serve as many."""
        with self._lock:
            self._cap = cap
            for key, limiter in self._limiters.items():
                limiter.set_concurrency(min(cap, self._served[key]))

    def of(self, provider: str, base_url: str, served: int | None = None) -> Limiter:
        """Return the shared limiter of a provider's address.

        Args:
            served: number of requests that the address can serve at the same time; None if unknown.
        """
        key = (provider, base_url)
        with self._lock:
            if key not in self._limiters:
                self._served[key] = sys.maxsize if served is None else served
                self._limiters[key] = Limiter(min(self._cap, self._served[key]))
            return self._limiters[key]


_LIMITERS = Limiters()


def limiter_for(provider: str, base_url: str, served: int | None = None) -> Limiter:
    """Return this process's shared limiter of a provider's address; ``served`` as in ``Limiters.of``.

    Asking for a limiter never changes its cap: the chat, a run and a health check share it.
    """
    return _LIMITERS.of(provider, base_url, served)


def set_process_cap(cap: int) -> None:
    """Set the maximum number of concurrent requests per address in this process."""
    _LIMITERS.set_cap(cap)
