"""Bound the share of wrong answers: exact binomial tails, and fixed-sequence testing from strict to loose thresholds.

The risk of a threshold is P(wrong | answered), and keeping it below a level is *risk control*, here by Learn-then-Test
(Angelopoulos et al. 2021, arXiv:2110.01052). The risk is a ratio whose denominator, the number of answers, is random.
At a threshold that was fixed before the questions were seen, the number of wrong answers is binomial *given* the number
of answers, because the questions are independent draws. So the exact binomial test of "the risk is above the level" is
valid given every number of answers, and therefore without that condition too. Testing a fixed sequence of thresholds
and stopping at the first that is not rejected keeps the probability of any false rejection at ``alpha``: a false
rejection needs the first true hypothesis of the sequence to be rejected. The risk does not have to be monotone in the
threshold.

The sequence must not depend on the questions that test it. ``start_of`` therefore reads other questions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

GRID = 100
"""Number of steps between the thresholds 0 and 1."""
_PRIOR = 0.3  # right and wrong answers added to those counted; chosen with the simulation of the tests, as the next
_NEARLY = 0.95  # share of the best chance that a stricter threshold must have


@dataclass(frozen=True, slots=True)
class Judged:
    """A question that has been judged."""

    score: float
    """From 0 to 1, or negative: never answered. The question is answered if it is at least the threshold."""
    wrong: bool
    """Whether an answer to the question would be wrong."""


@dataclass(frozen=True, slots=True)
class Controlled:
    """The loosest threshold whose risk is shown to be at most the level."""

    threshold: float
    strictest: float
    """First threshold of the sequence. Every threshold from ``threshold`` to ``strictest`` keeps the level too."""
    answered: int
    """Number of questions answered at ``threshold``."""
    wrong: int
    """Number of wrong ones among ``answered``."""


def binomial_tail(wrong: int, total: int, rate: float) -> float:
    """Return P(X <= wrong) for X binomial with ``total`` draws at ``rate`` (0-1); 1.0 without draws."""
    if wrong >= total or rate <= 0.0:
        return 1.0
    if wrong < 0 or rate >= 1.0:
        return 0.0
    logs = [
        math.lgamma(total + 1)
        - math.lgamma(k + 1)
        - math.lgamma(total - k + 1)
        + k * math.log(rate)
        + (total - k) * math.log1p(-rate)
        for k in range(wrong + 1)
    ]
    return min(1.0, math.fsum(map(math.exp, logs)))


def upper_bound(wrong: int, total: int, alpha: float = 0.05) -> float:
    """Return the one-sided Clopper-Pearson upper bound (1934) of a share, with confidence 1 - ``alpha``.

    The bound is the rate at which ``binomial_tail`` is ``alpha``, found by bisection to 1e-12; 1.0 without draws.
    """
    if wrong >= total:
        return 1.0
    low, high = wrong / total, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if binomial_tail(wrong, total, middle) > alpha else (low, middle)
    return high


def answers_needed(level: float, alpha: float = 0.05, wrong: int = 0) -> int:
    """Return the fewest answers of which ``wrong`` may be wrong so that the upper bound is at most ``level``.

    Args:
        level: promised share of wrong answers, between 0 and 1 exclusive.
    """
    total = wrong + 1
    step = 1
    while binomial_tail(wrong, total + step, level) > alpha:
        step *= 2
    low, high = total - 1, total + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if binomial_tail(wrong, middle, level) > alpha else (low, middle)
    return high


def fixed_sequence(questions: Sequence[Judged], level: float, start: int, alpha: float = 0.05) -> Controlled | None:
    """Test thresholds from strict to loose and return the last one before the first that fails; None if none passes.

    Args:
        questions: the calibration questions. ``start`` must not depend on them.
        level: the risk to keep, between 0 and 1 exclusive.
        start: first threshold of the sequence, in steps of 1 / ``GRID``, 0 to ``GRID``.
        alpha: probability of a threshold with a higher risk, at most.
    """
    answered, wrong = (counts.tolist() for counts in _counts(questions))
    last = last_passing(start, lambda step: binomial_tail(wrong[step], answered[step], level) <= alpha)
    return None if last is None else Controlled(last / GRID, start / GRID, answered[last], wrong[last])


def last_passing(start: int, passes: Callable[[int], bool]) -> int | None:
    """Return the last step, from ``start`` down to 0, before the first that fails; None if ``start`` fails."""
    failing = next((step for step in range(start, -1, -1) if not passes(step)), -1)
    return failing + 1 if failing < start else None


def start_of(fit: Sequence[Judged], level: float, calibration: int) -> int:
    """Return the step of the strictest threshold that is nearly as likely to pass as the likeliest one.

    The strictest threshold of all would answer nothing and never pass, and a sequence stops at its first failure.

    Args:
        fit: questions that choose the start of the sequence.
        calibration: number of questions that the sequence will be tested on.
    """
    if not any(one.score >= 0 for one in fit):  # nothing was answered: the fit says nothing
        return 0
    counts = list(zip(*(part.tolist() for part in _counts(fit)), strict=True))
    chances = []
    for answered, wrong in counts:
        expected = round(answered * calibration / len(fit))
        # Without this correction, a few questions without a wrong answer would count as proof that none will come.
        rate = (wrong + _PRIOR) / (answered + 2 * _PRIOR)
        chances.append(binomial_tail(_allowed(expected, level), expected, rate))
    if not max(chances):  # too few questions for any threshold: start where the fit speaks most against a high risk
        chances = [1 - binomial_tail(wrong, answered, level) for answered, wrong in counts]
    return max(step for step, chance in enumerate(chances) if chance >= _NEARLY * max(chances))


@lru_cache(maxsize=10_000)
def _allowed(answered: int, level: float, alpha: float = 0.05) -> int:
    """Return the most wrong answers with which a threshold passes; -1 if even none is too many."""
    wrong = -1
    while wrong + 1 < answered and binomial_tail(wrong + 1, answered, level) <= alpha:
        wrong += 1
    return wrong


def _counts(questions: Sequence[Judged]) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Return (answered, wrong) at every step from 0 to ``GRID``."""
    scores = np.array([one.score for one in questions], dtype=np.float64)
    bad = np.array([one.wrong for one in questions], dtype=bool)
    above = scores[None, :] >= (np.arange(GRID + 1) / GRID)[:, None]
    return above.sum(axis=1), (above & bad[None, :]).sum(axis=1)
