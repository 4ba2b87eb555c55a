"""Learns how quickly requests may follow each other from the requests that a provider refuses with 429.

Not every refusal means "too fast": some providers refuse a share of all requests at any rate, and slowing down does
not help then. So the share of refusals is counted over about twenty requests. If it is higher than usual, the rate is
lowered to what was accepted, and the next twenty requests show the reason. If the share has fallen, the rate was too
high. If it has not, that share is taken as the usual one and the earlier rate is restored. A rate without unusual
refusals rises again until it limits nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
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
