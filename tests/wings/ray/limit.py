"""Measure how the workers of a Ray cluster share a provider's limit of requests per second.

Four workers on two nodes (two ``ray start`` on this machine) answer and judge questions. The provider is a process of
its own on loopback. It refuses with 429 what exceeds the limit by more than four requests, and notes when each request
arrives. NIM_MAX_REQUESTS_PER_SECOND is the limit; if it is not configured, it is 0, so that the workers learn the limit
from the refusals. The used share is that of the seconds between the first and the last one with requests.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import synthetic
from benchmarks.chaos import CommandLine, finish
from benchmarks.pressure import provider
from tests.evaluation.benchmark.judge_stub import Faults, ModelStub
from tests.wings.ray.nodes import RayNodes

LATENCY = 0.1


@dataclass(frozen=True)
class Limited:
    """What the provider counted."""

    limit: float
    configured: bool
    requests: int
    refused: int
    seconds: int
    """Whole seconds between the first and the last one with requests."""
    per_second: float
    """Mean requests in them."""
    most: int
    """Most requests that arrived in any sliding window of one second."""
    most_whole: int
    """Most requests of a whole second of the provider's clock."""
    load: float
    """Load average of the last minute, at the end."""

    @property
    def share(self) -> float:
        """Share of the limit that was used without being refused."""
        return (self.per_second - self.refused / max(1, self.seconds)) / self.limit


def measure(folder: Path, limit: float, configured: bool, queries: int) -> Limited:
    """Carry out one run with answers and judgements."""
    dataset = folder / "dataset"
    synthetic.make(7, 200, queries).write(dataset)
    with provider(LATENCY, Faults(), limit) as (base_url, ask), RayNodes(2, cpus=2) as nodes:
        # A stub that is not started gives the names of the settings; the address is that of the process.
        line = CommandLine(folder, ModelStub(), "LEXICAL", queries, calls=32)
        line.environment |= {
            **nodes.environment,
            "OPENAI_BASE_URL": base_url,
            "MTEB_DATASET_NAME": str(dataset),
            "EVAL_ENGINE": "ray",
            "RAY_ADDRESS": nodes.address,
            "NIM_MAX_REQUESTS_PER_SECOND": str(limit if configured else 0),
        }
        finish(line.start("run"), line)
        told = ask()
    seconds = told["by_second"]
    inner = range(min(seconds) + 1, max(seconds))
    return Limited(
        limit=limit,
        configured=configured,
        requests=sum(told["statuses"].values()),
        refused=told["statuses"].get("429", 0),
        seconds=len(inner),
        per_second=round(sum(seconds.get(at, 0) for at in inner) / max(1, len(inner)), 1),
        most=most_in_a_second(told["arrivals"]),
        most_whole=max(seconds.values()),
        load=round(os.getloadavg()[0], 1),
    )


def most_in_a_second(arrivals: Sequence[float]) -> int:
    """Return the most requests in any sliding window of one second; ``arrivals`` are sorted, in seconds."""
    return max(bisect_left(arrivals, at + 1.0) - place for place, at in enumerate(arrivals))
