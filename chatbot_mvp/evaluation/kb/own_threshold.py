"""Choose the evidence threshold of one knowledge base by its own labelled questions, from the first ten on.

Figures of the very questions that chose a threshold are too good to be true. So few labels move the threshold a little
only, and each label is judged by a threshold that the other labels chose (leave one out). What that gives on other
people's questions: docs/research/evidence.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from chatbot_mvp.evaluation.kb.thresholds import STEPS, UNANSWERABLE, Scores
from chatbot_mvp.metrics.statistics.share import Share
from chatbot_mvp.metrics.statistics.significance import randomisation_p

LEAST_LABELS = 10
"""Fewest labelled questions that choose a threshold, …"""
LEAST_OF_A_SIDE = 2
"""… and fewest with and without an answer in the knowledge base."""
GENERAL = 20.0
"""Number of labels that count as much as the general threshold (``python -m benchmarks near --labels``)."""
PROVEN = 0.05
"""Below this p the threshold decides the labels otherwise than the general one by more than chance."""


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
    better: int
    """Labels that are decided rightly so, and wrongly at the general threshold."""
    worse: int
    """Labels that are decided wrongly so, and rightly at the general threshold."""
    p: float
    """That chance alone makes these two so different: two-sided sign test, 0-1; 1 if no label is decided otherwise."""

    @property
    def all_wrong(self) -> Share:
        """Near and far questions that are answered nevertheless."""
        return Share(sum(of.count for of in self.wrong.values()), sum(of.total for of in self.wrong.values()))


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

    def unseen(kind: str) -> list[bool]:
        """Return whether each question of a kind is answered at the threshold that the other labels choose."""
        answered = []
        for at, score in enumerate(labelled[kind]):
            others = {**labelled, kind: labelled[kind][:at] + labelled[kind][at + 1 :]}
            answered.append(score >= _towards(_of_labels(others, tolerance), general, count - 1))
        return answered

    answered = {kind: unseen(kind) for kind in labelled}
    shares = {kind: Share(sum(of), len(of)) for kind, of in answered.items()}
    changes = [
        (1 if kind == "answerable" else -1) * (now - (score >= general))
        for kind, scores_of in labelled.items()
        for now, score in zip(answered[kind], scores_of, strict=True)
    ]
    alone = _of_labels(labelled, tolerance)
    return OwnThreshold(
        _towards(alone, general, count),
        alone,
        general,
        count,
        shares["answerable"],
        {kind: shares[kind] for kind in UNANSWERABLE},
        better=changes.count(1),
        worse=changes.count(-1),
        p=float(randomisation_p(np.array(changes, float)[:, None])[0]),
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
