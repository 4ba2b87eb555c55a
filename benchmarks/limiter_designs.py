"""Compare rules for the request rate by answers per second and refused requests, in simulated time.

    python benchmarks/limiter_designs.py [--requests 2000]

Rules: halve the rate at every 429 (``aimd``); the same, but not below the accepted rate (``floor``); the better of two
rates by accepted minus twice the refused requests (``probe``, after PCC Vivace, Dong et al. 2018); ``usual share`` of
``chatbot_mvp.remote.pace``. Providers: one refuses a share of all requests, one limits requests per second, one does
both. Each cell: answers per second, compared with the provider's maximum (``allowed/s``), and refused requests.
"""

from __future__ import annotations

import argparse
import heapq
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from chatbot_mvp.remote.pace import Pace


class Rule(Protocol):
    interval: float

    def told(self, started: float, now: float, refused: bool) -> None: ...


class Aimd:
    """A 429 halves the rate, a success raises it by a tenth."""

    floor = False

    def __init__(self) -> None:
        self.interval = 0.0
        self._slowed = -1.0
        self._starts: deque[float] = deque(maxlen=16)
        self._accepted: deque[float] = deque(maxlen=16)

    def told(self, started: float, now: float, refused: bool) -> None:
        self._starts.append(started)
        if not refused:
            self._accepted.append(now)
            self.interval *= 0.9
            if self.interval < 0.01:
                self.interval = 0.0
            return
        if started < self._slowed:
            return
        self._slowed = now
        spacing = (max(self._starts) - min(self._starts)) / max(1, len(self._starts) - 1)
        longest = 10.0
        if self.floor and len(self._accepted) > 3:
            longest = (self._accepted[-1] - self._accepted[0]) / (len(self._accepted) - 1)
        self.interval = min(max(0.02, 2 * max(self.interval, spacing)), longest)


class AimdFloor(Aimd):
    floor = True


class Probe:
    """Twenty requests a little faster, twenty a little slower; then towards the better."""

    def __init__(self) -> None:
        self.interval = 0.0
        self._rate = 0.0
        self._sign, self._step, self._last = 1, 0.05, 0
        self._scores: list[float] = []
        self._since, self._first, self._n, self._k = 0.0, 1e9, 0, 0

    def told(self, started: float, now: float, refused: bool) -> None:
        if started < self._since:
            return
        self._first, self._n, self._k = min(self._first, started), self._n + 1, self._k + refused
        if self._n < 20:
            return
        rate = self._n / (now - self._first)
        share = self._k / self._n
        self._since, self._first, self._n, self._k = now, 1e9, 0, 0
        if not self._rate:
            if share == 0:
                return
            self._rate = rate
        self._scores.append(rate * (1 - share) - 2 * rate * share)
        if len(self._scores) == 2:
            direction = 1 if self._scores[0] > self._scores[1] else -1
            self._step = min(0.4, self._step * 1.7) if direction == self._last else 0.1
            self._last = direction
            self._rate = max(0.1, min(self._rate * (1 + direction * self._step), 1.5 * max(rate, self._rate / 2)))
            self._scores = []
        epsilon = 0.1 if not self._scores else -0.1
        self.interval = 1 / (self._rate * (1 + epsilon))


RULES: dict[str, Callable[[], Rule]] = {"aimd": Aimd, "floor": AimdFloor, "probe": Probe, "usual share": Pace}


@dataclass(frozen=True)
class Provider:
    """Refuses a share of all, and what exceeds a token bucket."""

    share: float = 0.0
    limit: float = 0.0
    """Requests per second; 0: none."""
    failing: float = 0.07
    """Share of 500s and cut connections."""
    burst: float = 4.0


def simulate(
    rule: Rule, provider: Provider, requests: int, places: int, latency: float, seed: int
) -> tuple[float, float]:
    """(answers per second, 429s per request). As in a run: threads repeat what failed after a wait of their own."""
    source = random.Random(seed)
    now, last, tokens, filled = 0.0, -1e9, provider.burst, 0.0
    running = done = refusals = sent = 0
    ready: list[tuple[float, int]] = [(0.0, 0) for _ in range(4 * places)]  # (when, tries so far) of each thread
    heapq.heapify(ready)
    ends: list[tuple[float, float, str, int]] = []
    while done < requests:
        begin = max(now, ready[0][0], last + rule.interval) if ready and running < places else float("inf")
        if ends and ends[0][0] <= begin:
            now, started, fate, tries = heapq.heappop(ends)
            running -= 1
            if fate == "cut":
                pass
            else:
                rule.told(started, now, fate == "429")
            if fate == "ok":
                done += 1
                heapq.heappush(ready, (now, 0))
            else:
                refusals += fate == "429"
                heapq.heappush(ready, (now + source.uniform(0, 0.4 * 2 ** min(tries, 5)), tries + 1))
            continue
        now = last = begin
        _, tries = heapq.heappop(ready)
        limit = provider.limit
        tokens, filled = min(provider.burst, tokens + (now - filled) * limit), now
        fate = "ok"
        if limit and tokens < 1:
            fate = "429"
        elif limit:
            tokens -= 1
        drawn = source.random()
        if drawn < provider.share:
            fate = "429"
        elif drawn < provider.share + provider.failing and fate == "ok":
            fate = "cut"
        running += 1
        sent += 1
        heapq.heappush(ends, (now + latency * source.uniform(0.8, 1.2), now, fate, tries))
    return done / now, refusals / sent


PROVIDERS = {
    "20 % refused": Provider(0.2),
    "50 % refused": Provider(0.5),
    "limit 40/s": Provider(0.0, 40.0),
    "limit 5/s": Provider(0.0, 5.0),
    "limit 0.5/s": Provider(0.0, 0.5),
    "20 % and 40/s": Provider(0.2, 40.0),
    "no refusal": Provider(),
}


def allowed(provider: Provider, places: int, latency: float) -> float:
    most = places / latency
    share = 1 - provider.share - provider.failing
    # A request that is refused by chance has already taken its token.
    return min(most, provider.limit or most) * share


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=2_000)
    parser.add_argument("--places", type=int, default=8)
    parser.add_argument("--latency", type=float, default=0.05)
    arguments = parser.parse_args()
    print(f"{'provider':<18} {'allowed/s':>9} " + " ".join(f"{name:>20}" for name in RULES))
    for name, provider in PROVIDERS.items():
        best = allowed(provider, arguments.places, arguments.latency)
        requests = min(arguments.requests, int(best * 60) + 20)
        cells = []
        for make in RULES.values():
            shape = (arguments.places, arguments.latency)
            runs = [simulate(make(), provider, requests, *shape, seed) for seed in range(10)]
            rate, refused = (sum(run[part] for run in runs) / len(runs) for part in (0, 1))
            cells.append(f"{rate:6.1f}/s {rate / best:4.0%} {refused:4.0%}")
        print(f"{name:<18} {best:>9.1f} " + " ".join(f"{cell:>20}" for cell in cells))


if __name__ == "__main__":
    main()
