"""Requests to a provider that refuses some of them, in simulated time: what a rule for the rate reaches."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass

from chatbot_mvp.remote.limiter import Pace


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
    rule: Pace, provider: Provider, requests: int, places: int, latency: float, seed: int
) -> tuple[float, float]:
    """Return (answers per second, 429s per request). As in a run, threads repeat what failed after a wait of their own.

    Args:
        requests: number of answers after which the simulation ends.
        places: requests at the same time.
        latency: of a reply, in seconds.
    """
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
            if fate != "cut":
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


def allowed(provider: Provider, places: int, latency: float) -> float:
    """Return the most answers per second that the provider would give."""
    most = places / latency
    share = 1 - provider.share - provider.failing
    # A request that is refused by chance has already taken its token.
    return min(most, provider.limit or most) * share
