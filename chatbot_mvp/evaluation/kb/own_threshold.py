"""Choose the evidence threshold of one knowledge base by its own labelled questions, from the first ten on.

Figures of the very questions that chose a threshold are too good to be true. So few labels move the threshold a little
only, and each label is judged by a threshold that the other labels chose (leave one out). What that gives on other
people's questions: docs/research/evidence.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chatbot_mvp.metrics.statistics.share import Share
from chatbot_mvp.metrics.statistics.significance import randomisation_p

_FEW = 20
"""Number of questions of a kind below which its shares are unreliable."""
_STEPS = 100
"""Number of thresholds between 0 and 1, the same resolution as the slider."""

UNANSWERABLE = ("near", "far")

LEAST_LABELS = 10
"""Fewest labelled questions that choose a threshold, …"""
LEAST_OF_A_SIDE = 2
"""… and fewest with and without an answer in the knowledge base."""
GENERAL = 20.0
"""Number of labels that count as much as the general threshold (``python -m benchmarks near --labels``)."""
THRESHOLDS = np.array([step / _STEPS for step in range(_STEPS + 1)])
PROVEN = 0.05
"""Below this p the threshold decides the labels otherwise than the general one by more than chance."""

Counts = npt.NDArray[np.int64]


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

    above = {kind: np.array(values)[:, None] >= THRESHOLDS for kind, values in labelled.items()}
    counts = {kind: of_kind.sum(axis=0) for kind, of_kind in above.items()}
    totals = {kind: len(values) for kind, values in labelled.items()}

    def unseen(kind: str) -> list[bool]:
        """Return whether each question of a kind is answered at the threshold that the other labels choose."""
        others = {**totals, kind: totals[kind] - 1}
        return [
            score >= _towards(_of_counts({**counts, kind: counts[kind] - own}, others, tolerance), general, count - 1)
            for score, own in zip(labelled[kind], above[kind], strict=True)
        ]

    answered = {kind: unseen(kind) for kind in labelled}
    shares = {kind: Share(sum(of), len(of)) for kind, of in answered.items()}
    changes = [
        (1 if kind == "answerable" else -1) * (now - (score >= general))
        for kind, scores_of in labelled.items()
        for now, score in zip(answered[kind], scores_of, strict=True)
    ]
    alone = _of_counts(counts, totals, tolerance)
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


def _of_counts(counts: Mapping[str, Counts], totals: Mapping[str, int], tolerance: float) -> float:
    """Return the middle of the thresholds that answer most within the tolerance; 1 if none keeps it.

    Args:
        counts: kind -> answered questions at each threshold, shape (STEPS + 1,).
        totals: kind -> questions.
    """
    fine = np.ones(_STEPS + 1, bool)
    for kind in UNANSWERABLE:
        fine &= counts[kind] <= tolerance * totals[kind]
    if not fine.any():
        return 1.0
    best = np.flatnonzero(fine & (counts["answerable"] == counts["answerable"][fine].max()))
    return float(THRESHOLDS[best[(len(best) - 1) // 2]])


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
    return [figures_at(scores, step / _STEPS) for step in range(_STEPS + 1)]


def few_of(scores: Scores) -> list[tuple[str, int]]:
    """Return (side, number of questions) for the sides, "answerable" and "unanswerable", with too few questions."""
    counts = [
        ("answerable", len(scores.get("answerable", ()))),
        ("unanswerable", sum(len(scores.get(kind, ())) for kind in UNANSWERABLE)),
    ]
    return [(kind, count) for kind, count in counts if count < _FEW]
