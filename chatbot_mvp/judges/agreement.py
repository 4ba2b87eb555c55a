"""How far a judge can be trusted: its agreement with people, and the spread of its scores when asked again."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chatbot_mvp.judges.ragas.model import Row
from chatbot_mvp.metrics.statistics.bootstrap import LEVEL, RESAMPLES, SEED

THRESHOLD = 1.0
"""A response is faithful if all of its statements are: people call one wrong figure unfaithful too."""
_LABELS = {"faithful": True, "unfaithful": False}
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class LabelledRow:
    """A response that people have judged."""

    id: str
    row: Row
    faithful: bool
    error: str
    """Kind of error of an unfaithful one ("invented_figure", "changed_name", …); "" for a faithful one."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure and its 95 % bootstrap interval over the rows; None where the rows do not determine it."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """A judge against people. All figures are over the rows that it scored."""

    rows: int
    scored: int
    threshold: float
    """A score of at least this says "faithful"."""
    accuracy: Estimate
    """Share of the rows on which both say the same. 0-1."""
    kappa: Estimate
    """Cohen's κ (1960): agreement beyond chance; 1: all, 0: as by chance, below: less."""
    precision: Estimate
    """Of the rows that the judge calls faithful, the share that people do. 0-1."""
    recall: Estimate
    """Of the rows that people call faithful, the share that the judge does. 0-1."""
    found: Mapping[str, tuple[int, int]]
    """Kind of error -> (unfaithful rows that the judge found, of how many it scored)."""

    @property
    def not_scored(self) -> int:
        return self.rows - self.scored

    def to_json(self) -> dict[str, Any]:
        """Plain values; an estimate as {value, low, high}."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Spread:
    """The scores of one row and metric over repetitions. None where too few were scored (1; 2 for ``deviation``)."""

    repeats: int
    scored: int
    mean: float | None
    deviation: float | None
    """Standard deviation of the sample (n - 1)."""
    low: float | None
    high: float | None


def labelled_row(row_id: str, row: Row, given: Mapping[str, Any]) -> LabelledRow | None:
    """A row with what people said of it in its columns ``label`` and ``error``; None for one that has no such label."""
    label = str(given.get("label") or "")
    return LabelledRow(row_id, row, _LABELS[label], str(given.get("error") or "")) if label in _LABELS else None


def judge_agreement(
    labelled: Sequence[LabelledRow], scores: Sequence[float | None], threshold: float = THRESHOLD
) -> Agreement:
    """Compare a judge's scores, in the order of the rows, with what people said. None: not scored."""
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
        # Drawing rows with replacement and counting the cells is one multinomial draw.
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


def spread(scores: Sequence[float | None]) -> Spread:
    """Of one row's score over its repetitions; None: not scored that time."""
    known = [score for score in scores if score is not None]
    return Spread(
        len(scores),
        len(known),
        statistics.fmean(known) if known else None,
        statistics.stdev(known) if len(known) > 1 else None,
        min(known, default=None),
        max(known, default=None),
    )


def _figures(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    """(draws × (true -, false +, false -, true +) of "faithful") -> (accuracy, κ, precision, recall) × draws."""
    true_no, false_yes, false_no, true_yes = cells.T
    total = cells.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        accuracy = (true_no + true_yes) / total
        people, judge = (false_no + true_yes) / total, (false_yes + true_yes) / total
        chance = people * judge + (1 - people) * (1 - judge)
        # Where both say but one thing, there is no agreement beyond chance to speak of: 0 / 0.
        kappa = (accuracy - chance) / (1 - chance)
        return np.stack([accuracy, kappa, true_yes / (true_yes + false_yes), true_yes / (true_yes + false_no)])


def _number(value: float) -> float | None:
    return None if np.isnan(value) else round(float(value), 6) + 0.0  # no "-0.00"
