"""Choose the evidence threshold of one knowledge base by its own labelled questions, from the first ten on.

``thresholds.suggest`` reads the figures of the very questions that chose the threshold. With a few labels that is too
good to be true: here few labels move the threshold a little only, and each label is judged by a threshold that the
other labels chose (leave one out).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from chatbot_mvp.evaluation.kb.thresholds import STEPS, UNANSWERABLE, Scores
from chatbot_mvp.metrics.statistics.share import Share

LEAST_LABELS = 10
"""Fewest labelled questions that choose a threshold, …"""
LEAST_OF_A_SIDE = 2
"""… and fewest with and without an answer in the knowledge base."""
GENERAL = 20.0
"""Number of labels that count as much as the general threshold (``python -m benchmarks near --labels``)."""


@dataclass(frozen=True, slots=True)
class OwnThreshold:
    """A threshold from the labels of one knowledge base. All shares have a 95 % ``interval``."""

    threshold: float
    """Between the general threshold and that of the labels alone: the more labels, the nearer to the latter."""
    of_labels: float
    """The threshold of the labels alone."""
    general: float
    """The threshold without labels."""
    labels: int
    answered: Share
    """Answerable questions that are answered, each at the threshold that the other labels choose."""
    wrong: Mapping[str, Share]
    """Kind ("near", "far") -> questions of that kind that are answered nevertheless, likewise."""


def own_threshold(scores: Scores, tolerance: float, general: float) -> OwnThreshold | None:
    """Return the threshold that answers most with at most ``tolerance`` wrong answers of each kind.

    Args:
        scores: kind -> evidence scores of the labelled questions, 0-1.
        tolerance: share of the near, and of the far questions, that may be answered, 0-1.
        general: the threshold without labels, 0-1.

    Returns:
        None with fewer than ``LEAST_LABELS`` labels, or fewer than ``LEAST_OF_A_SIDE`` of a side.
    """
    labelled = {kind: tuple(scores.get(kind, ())) for kind in ("answerable", *UNANSWERABLE)}
    count = sum(map(len, labelled.values()))
    sides = len(labelled["answerable"]), count - len(labelled["answerable"])
    if count < LEAST_LABELS or min(sides) < LEAST_OF_A_SIDE:
        return None

    def unseen(kind: str) -> Share:
        right = 0
        for at, score in enumerate(labelled[kind]):
            others = {**labelled, kind: labelled[kind][:at] + labelled[kind][at + 1 :]}
            right += score >= _towards(_of_labels(others, tolerance), general, count - 1)
        return Share(right, len(labelled[kind]))

    alone = _of_labels(labelled, tolerance)
    return OwnThreshold(
        _towards(alone, general, count),
        alone,
        general,
        count,
        unseen("answerable"),
        {kind: unseen(kind) for kind in UNANSWERABLE},
    )


def _towards(alone: float, general: float, labels: int) -> float:
    return (labels * alone + GENERAL * general) / (labels + GENERAL)


def _of_labels(scores: Scores, tolerance: float) -> float:
    """Return the middle of the thresholds that answer most within the tolerance."""
    best, fine = -1, [1.0]
    for step in range(STEPS + 1):
        threshold = step / STEPS
        wrong = [[value >= threshold for value in scores[kind]] for kind in UNANSWERABLE if scores[kind]]
        if any(sum(of_kind) > tolerance * len(of_kind) for of_kind in wrong):
            continue
        answered = sum(value >= threshold for value in scores["answerable"])
        if answered > best:
            best, fine = answered, []
        if answered == best:
            fine.append(threshold)
    return fine[(len(fine) - 1) // 2]
