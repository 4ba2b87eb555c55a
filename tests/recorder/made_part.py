"""A part of two facts, and one that costs; a test says what they are now."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.recorder.facts import Fact, Place

NOW: dict[str, Fact] = {}
COSTS: list[float] = []
"""What the costing fact is at each try; the last one stays."""
IN_SAMPLE = ("made/sampled",)


def facts(place: Place) -> Iterator[Fact]:
    for name, fact in NOW.items():
        if name in IN_SAMPLE or not place.sample:
            yield fact
    if COSTS and not place.sample:
        yield Fact("made/time", COSTS.pop(0) if len(COSTS) > 1 else COSTS[0], "time")
