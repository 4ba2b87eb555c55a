"""Measure a judge's reliability: its agreement with human labels, and the spread of its scores over repetitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import stdev
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chatbot_mvp.metrics.statistics.bootstrap import LEVEL, RESAMPLES, SEED
from chatbot_mvp.runs.rows import Agreement, Estimate, RowSpread

THRESHOLD = 1.0
"""Score from which a response counts as faithful. All statements must be, since people also reject a single error."""
_LABELS = {"faithful": True, "unfaithful": False}
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Label:
    """The human label of a response."""

    faithful: bool
    error: str
    """Kind of error of an unfaithful response ("invented_figure", "changed_name", …); "" for a faithful one."""


def label_of(given: Mapping[str, Any]) -> Label | None:
    """Return the label in the columns ``label`` and ``error`` of a row; None if it has no valid label."""
    label = str(given.get("label") or "")
    return Label(_LABELS[label], str(given.get("error") or "")) if label in _LABELS else None


def judge_agreement(
    labelled: Sequence[Label], scores: Sequence[float | None], threshold: float = THRESHOLD
) -> Agreement:
    """Compare a judge's scores with human labels.

    Args:
        scores: one score per row, 0-1, in the order of ``labelled``; None is not scored.
        threshold: score from which the verdict counts as "faithful".
    """
    pairs = [
        (one, score >= threshold - _ROUNDING) for one, score in zip(labelled, scores, strict=True) if score is not None
    ]
    found: dict[str, tuple[int, int]] = {}
    cells = np.zeros(4)
    for one, said_faithful in pairs:
        cells[2 * one.faithful + said_faithful] += 1
        if not one.faithful:
            right, count = found.get(one.error, (0, 0))
            found[one.error] = (right + (not said_faithful), count + 1)
    figures = _figures(cells[None])[:, 0]
    intervals = np.full((4, 2), np.nan)
    if len(pairs) >= 2:
        # Resampling rows with replacement and counting the four cells equals one multinomial draw.
        draws = np.random.default_rng(SEED).multinomial(len(pairs), cells / len(pairs), RESAMPLES)
        resampled = _figures(draws.astype(np.float64))
        tail = (1 - LEVEL) / 2
        for row, values in enumerate(resampled):
            if len(known := values[~np.isnan(values)]) and not np.isnan(figures[row]):
                intervals[row] = np.quantile(known, [tail, 1 - tail])
    accuracy, kappa, precision, recall = (
        Estimate(_number(value), _number(low), _number(high))
        for value, (low, high) in zip(figures, intervals, strict=True)
    )
    return Agreement(len(labelled), len(pairs), threshold, accuracy, kappa, precision, recall, found)


def spread(scores: Sequence[float | None]) -> RowSpread:
    """Return the spread of one row's score over its repetitions; None is a repetition without a score."""
    known = [score for score in scores if score is not None]
    deviation = stdev(known) if len(known) > 1 else None
    return RowSpread(deviation, min(known, default=None), max(known, default=None))


def _figures(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    """Compute (accuracy, κ, precision, recall), shape (4, draws), from confusion matrices of shape (draws, 4).

    The columns are true negatives, false positives, false negatives and true positives of "faithful".
    """
    true_no, false_yes, false_no, true_yes = cells.T
    total = cells.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = (true_no + true_yes) / total
        people, judge = (false_no + true_yes) / total, (false_yes + true_yes) / total
        chance = people * judge + (1 - people) * (1 - judge)
        # If judge and people give only one and the same verdict, κ is undefined (0 / 0).
        kappa = (accuracy - chance) / (1 - chance)
        return np.stack([accuracy, kappa, true_yes / (true_yes + false_yes), true_yes / (true_yes + false_no)])


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 6) + 0.0  # no "-0.00"
