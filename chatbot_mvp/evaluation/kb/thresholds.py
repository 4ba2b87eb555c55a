"""Compute from recorded scores which questions reach each evidence threshold, so that an answer is looked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from chatbot_mvp.metrics.statistics.share import Share

FEW = 20
"""Number of questions of a kind below which its shares are unreliable."""
STEPS = 100
"""Number of thresholds between 0 and 1, the same resolution as the slider."""

UNANSWERABLE = ("near", "far")


@dataclass(frozen=True, slots=True)
class ThresholdFigures:
    """Which questions reach one threshold. What the chat then says is ``strict_mode.StrictMode``."""

    threshold: float
    coverage: Share
    """Answerable questions that reach it."""
    wrong_answers: Share
    """Questions without an answer in the knowledge base that reach it nevertheless."""
    by_kind: Mapping[str, Share]
    """Kind -> questions that reach it, for each kind without an answer in the knowledge base."""


Scores = Mapping[str, Sequence[float]]
"""Kind -> evidence scores of its questions, 0-1."""


def figures_at(scores: Scores, threshold: float) -> ThresholdFigures:
    """Compute the figures at a threshold. A question reaches it if its score is at least the threshold."""

    def answered(*kinds: str) -> Share:
        values = [value for kind in kinds for value in scores.get(kind, ())]
        return Share(sum(value >= threshold for value in values), len(values))

    return ThresholdFigures(
        threshold,
        answered("answerable"),
        answered(*UNANSWERABLE),
        {kind: answered(kind) for kind in UNANSWERABLE},
    )


def curve(scores: Scores) -> list[ThresholdFigures]:
    """Compute the figures at all thresholds from 0 to 1."""
    return [figures_at(scores, step / STEPS) for step in range(STEPS + 1)]


def few_of(scores: Scores) -> list[tuple[str, int]]:
    """Return (side, number of questions) for the sides, "answerable" and "unanswerable", with too few questions."""
    counts = [
        ("answerable", len(scores.get("answerable", ()))),
        ("unanswerable", sum(len(scores.get(kind, ())) for kind in UNANSWERABLE)),
    ]
    return [(kind, count) for kind, count in counts if count < FEW]
