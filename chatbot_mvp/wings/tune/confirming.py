"""Confirm the winner of a search on questions that the search has not seen."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from pydantic import ConfigDict

from chatbot_mvp.metrics.statistics.bootstrap import Floats
from chatbot_mvp.metrics.statistics.noninferiority import ALPHA, one_sided_p, paired_interval
from chatbot_mvp.metrics.statistics.significance import holm
from chatbot_mvp.runs.rows import STORED

Verdict = Literal["better", "too_small", "no_difference", "nothing_found"]
"""better: the winner is better than today's configuration, and is recommended. too_small: it is better, by less than
the smallest effect worth having. no_difference: the confirmation shows no difference. nothing_found: no configuration
was better in the search, so that nothing was confirmed."""

_TINY = 1e-9


@dataclass(frozen=True, slots=True)
class Difference:
    """The winner compared with another configuration on the untouched questions."""

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    gain: float
    """Mean of the winner's score minus the other's."""
    low: float
    """Bounds of the 95 % interval of the gain."""
    high: float
    p: float
    """One-sided p of "the winner is not better"."""
    p_holm: float
    """The same p, corrected by Holm over the comparisons of this confirmation."""
    pairs: int
    """Number of questions."""
    better: int
    """Number of questions on which the winner's score is higher."""
    worse: int


def differences(gains: list[Floats]) -> list[Difference]:
    """Compare the winner with other configurations.

    The p comes from the sign-flip randomisation test with equal sums counted in full (as in a gate), corrected by Holm
    (1979); the interval is that of ``paired_interval``.

    Args:
        gains: for each other configuration the winner's score minus its score, one per question, at least one question.
    """
    raw = [rise_p(values) for values in gains]
    corrected = [1.0 if p is None else p for p in holm(raw)]
    found = []
    for values, p, p_holm in zip(gains, raw, corrected, strict=True):
        low, high = paired_interval(values)
        better, worse = int((values > _TINY).sum()), int((values < -_TINY).sum())
        found.append(Difference(float(values.mean()), low, high, p, p_holm, len(values), better, worse))
    return found


def verdict_of(against_today: Difference, min_effect: float) -> Verdict:
    """Return whether the winner is recommended."""
    if against_today.p_holm > ALPHA or against_today.gain <= 0:
        return "no_difference"
    return "better" if against_today.gain >= min_effect - _TINY else "too_small"


def rise_p(gains: Floats) -> float:
    """Return the one-sided sign-flip p of "the mean gain is not above 0"; 1.0 if no score differs.

    For changes of one size, as of hit@3, the test is the sign test, whose p is computed exactly.
    """
    changed = gains[np.abs(gains) > _TINY]
    if not len(changed):
        return 1.0
    sizes = np.abs(changed)
    if sizes.max() - sizes.min() < _TINY:
        return sign_test_p(int((changed > 0).sum()), len(changed))
    p = one_sided_p(-gains)
    assert p is not None
    return p


def sign_test_p(rose: int, changed: int) -> float:
    """Return P(X >= rose) for X from a binomial distribution of ``changed`` tosses with probability 1/2."""
    return float(sum(math.comb(changed, count) for count in range(rose, changed + 1)) / 2**changed)
