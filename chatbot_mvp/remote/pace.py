"""How quickly requests may follow each other, learned from which of them a provider refuses with 429.

Not every refusal says "too fast": some providers turn away a share of all requests whatever the rate, and to slow down
for those costs answers and spares nobody. So the share of refusals is counted over some twenty requests. If it is more
than usual, the rate is lowered to what was accepted, and the next twenty tell which it was: a provider that was asked
too quickly refuses hardly any now; where the share has not fallen, it is the usual one from now on and the rate is as
it was. A rate without unusual refusals rises again until it does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

_COUNTED = 20
_ROW = 4
_CHANCE = 1e-5
"""So many refusals in a row, one fewer where nothing was accepted yet, or as many more as usual ones give with this
chance, slow down at once: a limit of a few requests per minute leaves no time to count."""
_BELOW_ACCEPTED = 0.95
_FASTER = 0.5
"""By how much the rate rises after a count without unusual refusals; by less where it has met its limit before."""
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
    """A rate that is being tried because of the refusals at another."""

    interval: float
    """Before."""
    refused: int
    counted: int


class Pace:
    """Not safe to share between threads: for the limiter, under its lock. Times are seconds on one clock."""

    def __init__(self) -> None:
        self.interval = 0.0
        """Seconds between the starts of two requests; 0: as quickly as they come."""
        self.usual = 0.0
        """Share of refusals that has nothing to do with the rate, 0-1."""
        self._trial: _Trial | None = None
        self._met = 0
        """How often in a row the rate was too high when it had risen."""
        self._limit = 0.0
        """The interval at which it was last too high."""
        self._since, self._first, self._last = 0.0, float("inf"), 0.0
        self._counted, self._refused, self._row = 0, 0, 0

    def told(self, started: float, now: float, refused: bool) -> None:
        """The provider has answered a request, or refused it with 429."""
        if started < self._since:
            return  # it was on its way before the rate changed: no news
        self._first, self._last = min(self._first, started), max(self._last, started)
        self._counted += 1
        self._refused += refused
        self._row = self._row + 1 if refused else 0
        enough = _ROW - (self._row == self._counted)
        if self._row >= max(enough, log(_CHANCE) / log(self.usual) if self.usual > 0 else 0):
            # Of a first burst, the starts lie closer together than any rate.
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
            # At a rate that was too high before, or that rises, more refusals may be its own doing.
            known = not self.interval or self.interval > _CLEARLY * self._limit
            self.usual += _LEARNS * (share - self.usual if known else min(0.0, share - self.usual))
            if self.interval * _CLEARLY < self._limit:
                self._met = 0
            # Faster than they come on their own, it limits nothing.
            free = max(came / _FREE, _SHORTEST)
            self.interval = 0.0 if self.interval < free else self.interval / (1 + _FASTER / max(1, self._met))
            self._begin(now)

    def _slow_down(self, factor: float, spacing: float, now: float) -> None:
        interval = factor * max(self.interval, min(spacing, _LONGEST / 4), _SHORTEST)
        self.interval = min(interval, _LONGEST)
        self._begin(now)
