"""Limits the requests to a provider: how many run at the same time, and how quickly they follow each other.

The pace is learned from the requests that a provider refuses with 429. Not every refusal means "too fast": some
providers refuse a share of all requests at any rate, and slowing down does not help then. So the share of refusals is
counted over about twenty requests. If it is higher than usual, the rate is lowered to what was accepted, and the next
twenty requests show the reason. If the share has fallen, the rate was too high. If it has not, that share is taken as
the usual one and the earlier rate is restored. A rate without unusual refusals rises again until it limits nothing.
"""

from __future__ import annotations

import math
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from math import log, sqrt

_COUNTED = 20
_ROW = 4
_CHANCE = 1e-5
"""``_ROW`` refusals in a row (one fewer if nothing was accepted yet) slow down at once: with a limit of a few requests
per minute there is no time to count. If refusals are usual, the row must be so long that its probability by chance is
below ``_CHANCE``."""
_BELOW_ACCEPTED = 0.95
_FASTER = 0.5
"""Relative rise of the rate after a count without unusual refusals; smaller after the rate has met its limit."""
_CAREFUL = 4
_SLOWER = 2.0
_TOO_MANY_SDS = 2.0
_LEARNS = 0.1
_CLEARLY = 1.1
_FREE = 1.3
_SHORTEST = 0.001
_LONGEST = 10.0

_BELOW_RATE = 0.95
"""Share of a configured rate at which requests start."""
_DELIVERY_S = 0.15
"""Seconds after its start in which a request arrives. Requests that arrive later may exceed a configured rate."""
_LONGEST_SPAN_S = 60


@dataclass(frozen=True, slots=True)
class _Trial:
    """A lower rate on trial, after too many refusals at another one."""

    interval: float
    """Seconds between starts before the trial."""
    refused: int
    counted: int


class Pace:
    """Current request rate. Not thread-safe: the limiter calls it under its lock. Times are seconds."""

    def __init__(self) -> None:
        self.interval = 0.0
        """Seconds between the starts of two requests; 0: not limited."""
        self.usual = 0.0
        """Share of refusals that does not depend on the rate, 0-1."""
        self._trial: _Trial | None = None
        self._met = 0
        """How many times in a row the rate was too high after a rise."""
        self._limit = 0.0
        """Interval at which the rate was last too high, in seconds."""
        self._since, self._first, self._last = 0.0, float("inf"), 0.0
        self._counted, self._refused, self._row = 0, 0, 0

    def told(self, started: float, now: float, refused: bool) -> None:
        """Record that the provider answered a request, or refused it with 429.

        Args:
            started: when the request started.
            now: the current time.
            refused: True for a 429.
        """
        if started < self._since:
            return  # it started before the rate changed, so it says nothing about the new rate
        self._first, self._last = min(self._first, started), max(self._last, started)
        self._counted += 1
        self._refused += refused
        self._row = self._row + 1 if refused else 0
        enough = _ROW - (self._row == self._counted)
        if self._row >= max(enough, log(_CHANCE) / log(self.usual) if self.usual > 0 else 0):
            # In a first burst the starts are closer together than any rate, so the elapsed time is used.
            self._slow_down(_SLOWER, (now - self._first) / self._counted, now)
        elif self._counted >= _COUNTED:
            self._judge(now)

    def _begin(self, now: float) -> None:
        self._since, self._first, self._last = now, float("inf"), 0.0
        self._counted = self._refused = self._row = 0

    def _judge(self, now: float) -> None:
        share, counted = self._refused / self._counted, self._counted
        trial, self._trial = self._trial, None
        came = (self._last - self._first) / (counted - 1)
        spacing = max(self.interval, came)
        noise = sqrt(counted * self.usual * (1 - self.usual))
        if trial and share > (trial.refused / trial.counted + self.usual) / 2:
            self.usual = (self._refused + trial.refused) / (counted + trial.counted)
            self.interval = trial.interval
            self._met = 0
            self._begin(now)
        elif self._refused > counted * self.usual + _TOO_MANY_SDS * noise + 1:
            self._trial = _Trial(trial.interval if trial else self.interval, self._refused, counted)
            if not trial:
                self._met = min(self._met + 1, _CAREFUL)
                self._limit = spacing
            self._slow_down(1 / (_BELOW_ACCEPTED * (1 - share)), spacing, now)
        else:
            # Near a rate that was too high before, additional refusals may be caused by the rate itself.
            known = not self.interval or self.interval > _CLEARLY * self._limit
            self.usual += _LEARNS * (share - self.usual if known else min(0.0, share - self.usual))
            if self.interval * _CLEARLY < self._limit:
                self._met = 0
            # A rate above that of the incoming requests limits nothing.
            free = max(came / _FREE, _SHORTEST)
            self.interval = 0.0 if self.interval < free else self.interval / (1 + _FASTER / max(1, self._met))
            self._begin(now)

    def _slow_down(self, factor: float, spacing: float, now: float) -> None:
        interval = factor * max(self.interval, min(spacing, _LONGEST / 4), _SHORTEST)
        self.interval = min(interval, _LONGEST)
        self._begin(now)


@dataclass(frozen=True, slots=True)
class Slot:
    """Permission for one running request."""

    limiter: Limiter
    started: float
    """Seconds on the monotonic clock."""
    share: threading.Semaphore | None = None
    """The caller's own limit, against which this request counts, too."""
    ticket: str = ""
    """Identifies the request in a limiter that several processes share; "" in one of this process."""
    _released: list[bool] = field(default_factory=list)

    def release(self) -> None:
        """Give the slot back. Safe to call twice."""
        if not self._released:
            self._released.append(True)
            self.limiter._give_back(self)


class Limiter:
    """Caps concurrency, and adapts the request rate to the provider's 429 replies (see ``pace``).

    Without a 429 the rate is limited only by ``set_rate``. Safe to share between threads. It blocks the calling thread,
    so it needs no event loop.
    """

    def __init__(self, concurrency: int) -> None:
        self.concurrency = concurrency
        """Maximum number of concurrent requests."""
        self.running = 0
        """Number of running requests."""
        self._pace = Pace()
        self._least_interval = 0.0
        self._span_s = 0.0
        self._starts: deque[float] = deque(maxlen=0)
        """The latest starts, as many as may arrive in any span of ``_span_s``; none without a configured rate."""
        self._not_before = 0.0
        self._last_start = -math.inf  # the monotonic clock may count from the machine's start
        self._free = threading.Condition()
        self._shares: dict[int, threading.Semaphore] = {}

    @property
    def interval(self) -> float:
        """Seconds between the starts of two requests; 0 while the rate is not limited."""
        return max(self._pace.interval, self._least_interval)

    def set_concurrency(self, concurrency: int) -> None:
        """Change the maximum number of concurrent requests; running requests continue."""
        with self._free:
            self.concurrency = concurrency
            self._free.notify_all()

    def set_rate(self, per_second: float) -> None:
        """Let at most ``per_second`` requests arrive in any second, 3 in any two seconds for 1.5; 0: no limit.

        Holds for requests that arrive within 0.15 s of their start. This margin costs up to 13 % of the rate.
        """
        with self._free:
            self._least_interval = 1 / (_BELOW_RATE * per_second) if per_second else 0.0
            allowed = Fraction(per_second).limit_denominator(_LONGEST_SPAN_S)
            self._span_s = float(allowed.denominator)
            self._starts = deque(self._starts, maxlen=allowed.numerator)

    def acquire(self, at_once: int | None = None) -> Slot:
        """Wait until a request may start, and return its slot. The argument is that of ``reserve``."""
        slot, wait = self.reserve(at_once)
        try:
            # The slot is held while waiting: later requests would have to wait for the rate anyway.
            time.sleep(wait)
        except BaseException:
            slot.release()
            raise
        return slot

    def reserve(self, at_once: int | None = None) -> tuple[Slot, float]:
        """Wait until fewer requests run than the cap; return a slot and the seconds until its request may start.

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
                self._free.wait_for(lambda: self.running < self.concurrency)
                self.running += 1
                now = time.monotonic()
                interval = self.interval
                start = max(now, self._not_before, self._last_start + interval if interval else now)
                if self._starts and len(self._starts) == self._starts.maxlen:
                    # The oldest of them may have arrived this late, and the next request may arrive at once.
                    start = max(start, self._starts[0] + self._span_s + _DELIVERY_S)
                self._starts.append(start)
                self._last_start = start
        except BaseException:
            if share is not None:
                share.release()
            raise
        return Slot(self, start, share), start - now

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

    def _give_back(self, slot: Slot) -> None:
        with self._free:
            self.running -= 1
            self._free.notify()
        if slot.share is not None:
            slot.share.release()


MakeLimiter = Callable[[str, str, int], Limiter]
"""Provider, its address and the maximum number of concurrent requests -> limiter."""


class Limiters:
    """The limiters of a process: one per provider and address, all under one cap. Safe to share between threads."""

    def __init__(self) -> None:
        # Until an App sets the cap, only the callers' own limits apply.
        self._cap = sys.maxsize
        self._rate = 0.0
        self._make: MakeLimiter = lambda _provider, _base_url, concurrency: Limiter(concurrency)
        self._limiters: dict[tuple[str, str], Limiter] = {}
        self._served: dict[tuple[str, str], int] = {}
        self._lock = threading.Lock()

    def set_cap(self, cap: int, rate: float = 0.0) -> None:
        """Limit each address to ``cap`` concurrent requests, or to fewer if it cannot serve as many.

        Args:
            rate: maximum requests per second to each address; 0: as many as it accepts.
        """
        with self._lock:
            self._cap, self._rate = cap, rate
            for key, limiter in self._limiters.items():
                limiter.set_concurrency(min(cap, self._served[key]))
                limiter.set_rate(rate)

    def make_by(self, make: MakeLimiter) -> None:
        """Make all further limiters by ``make``."""
        self._make = make

    def of(self, provider: str, base_url: str, served: int | None = None) -> Limiter:
        """Return the shared limiter of a provider's address.

        Args:
            served: number of requests that the address can serve at the same time; None if unknown.
        """
        key = (provider, base_url)
        with self._lock:
            if key not in self._limiters:
                self._served[key] = sys.maxsize if served is None else served
                self._limiters[key] = self._make(*key, min(self._cap, self._served[key]))
                self._limiters[key].set_rate(self._rate)
            return self._limiters[key]


_LIMITERS = Limiters()


def limiter_for(provider: str, base_url: str, served: int | None = None) -> Limiter:
    """Return this process's shared limiter of a provider's address; ``served`` as in ``Limiters.of``.

    Asking for a limiter never changes its cap: the chat, a run and a health check share it.
    """
    return _LIMITERS.of(provider, base_url, served)


def set_process_cap(cap: int, rate: float = 0.0) -> None:
    """Set the maximum number of concurrent requests, and of requests per second, per address in this process.

    Args:
        rate: 0 for as many requests per second as the provider accepts.
    """
    _LIMITERS.set_cap(cap, rate)


def make_limiters_by(make: MakeLimiter) -> None:
    """Make the further limiters of this process by ``make``, for example such as several processes share."""
    _LIMITERS.make_by(make)
