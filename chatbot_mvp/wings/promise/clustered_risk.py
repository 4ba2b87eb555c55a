"""Bound the share of wrong answers when questions come in clusters, such as documents: betting on the clusters' shares.

Questions about one document are not independent draws; documents are taken to be. At a threshold that was fixed before,
V_i is the share of wrong ones among the answers of cluster i, and the risk is the mean of E[V_i] over the clusters that
get an answer: every document counts the same. For a fixed bet b between 0 and 1, the capital
K = prod(1 - b * (V_i - level) / (1 - level)) is not negative. If the risk is above the level, E[K] is at most 1: the
clusters are independent, and a product of numbers is at most the power of their mean. By Markov's inequality, the
probability of K >= 1 / alpha is then at most alpha (testing by betting: Waudby-Smith & Ramdas 2024, arXiv:2010.09686).
The correlation within a cluster is unrestricted, and the clusters need not be alike. If no answer is wrong and b is 1,
K is (1 - level) ** -n: 59 clusters show 5 %, as 59 single questions do in the exact binomial test.

Thresholds are tested as a fixed sequence from strict to loose, as in ``risk``. Other clusters choose start and bets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chatbot_mvp.wings.promise.risk import GRID, Controlled, Judged, last_passing

Floats = npt.NDArray[np.float64]
Cluster = Sequence[Judged]
_BETS = np.array([0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99])
_USUAL_BET = 0.9
_PRIOR = 0.3  # right and wrong clusters added to those of the fit, as in ``risk``
_NEARLY = 0.95  # share of the best growth that a stricter threshold must have


@dataclass(frozen=True, slots=True)
class Plan:
    """What the fit chooses for the sequence."""

    start: int
    """First threshold, in steps of 1 / ``GRID``."""
    bets: tuple[float, ...]
    """Bet at each threshold from 0 to ``GRID``, between 0 and 1 exclusive."""


def plan_of(fit: Sequence[Cluster], level: float, calibration: int, alpha: float = 0.05) -> Plan:
    """Choose bets by the growth of the capital on the fit, and the strictest threshold of nearly the best growth.

    Args:
        fit: the questions of each cluster that takes part in the fit.
        calibration: number of clusters that the sequence will be tested on.
    """
    losses = (_shares(fit) - level) / (1 - level)
    answering = ~np.isnan(losses)
    if not answering.any():
        return Plan(0, (_USUAL_BET,) * (GRID + 1))
    share = answering.mean(axis=1)[:, None]
    gain = np.log1p(_BETS * level / (1 - level))[None, :]
    # Without these, a few clusters without a wrong answer would count as proof that none will come.
    prior = _PRIOR * (np.log1p(-_BETS)[None, :] + gain) * share
    gains = np.log1p(-_BETS[None, :, None] * np.nan_to_num(losses)[:, None, :]).sum(axis=2)
    growth = (gains + prior) / (len(fit) + 2 * _PRIOR)
    # A bet that cannot pass even if every answer is right is of no use, however safely it grows.
    possible = calibration * share * gain >= -math.log(alpha)
    some = possible.any(axis=1)
    growth = np.where(possible | ~some[:, None], growth, -math.inf)
    best = np.where(answering.any(axis=1) & (some | ~some.any()), growth.max(axis=1), -math.inf)
    start = int(np.flatnonzero(best >= best.max() - (1 - _NEARLY) * abs(best.max()))[-1])
    rows = np.where(some, growth.argmax(axis=1), len(_BETS) - 1)
    return Plan(start, tuple(float(_BETS[row]) for row in rows))


def cluster_sequence(clusters: Sequence[Cluster], level: float, plan: Plan, alpha: float = 0.05) -> Controlled | None:
    """Test thresholds from strict to loose and return the last one before the first that fails; None if none passes.

    Args:
        clusters: the questions of each calibration cluster. ``plan`` must not depend on them.
        level: the risk to keep, between 0 and 1 exclusive.
        alpha: probability of a threshold with a higher risk, at most.
    """
    shares = _shares(clusters)
    last = last_passing(plan.start, lambda step: _log_capital(shares[step], level, plan.bets[step]) >= -math.log(alpha))
    if last is None:
        return None
    above = [one for cluster in clusters for one in cluster if one.score >= last / GRID]
    return Controlled(last / GRID, plan.start / GRID, len(above), sum(one.wrong for one in above))


def cluster_bound(clusters: Sequence[Cluster], step: int, bet: float, alpha: float = 0.05) -> float:
    """Return the one-sided upper bound of the risk at one threshold, with confidence 1 - ``alpha``, to 1e-9.

    The bound is the lowest level at which the test passes. The capital grows with the level.

    Args:
        step: the threshold, 0 to ``GRID``.
        bet: the bet at this threshold.
    """
    shares = _shares(clusters)[step]
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if _log_capital(shares, middle, bet) >= -math.log(alpha) else (middle, high)
    return high


def clusters_missing(clusters: Sequence[Cluster], level: float, step: int, alpha: float = 0.05) -> int | None:
    """Return the number of clusters to add if all their answers are right; None if the share of wrong ones is too high.

    The bet is the one that needs the fewest: a later fit has more clusters to choose it by.

    Args:
        step: the threshold, 0 to ``GRID``.
    """
    shares = _shares(clusters)[step]
    if not np.isnan(shares).all() and np.nanmean(shares) > level:
        return None
    lacking = [
        math.ceil((-math.log(alpha) - _log_capital(shares, level, bet)) / math.log1p(bet * level / (1 - level)))
        for bet in _BETS.tolist()
    ]
    return max(1, min(lacking))


def least_level(clusters: int, alpha: float = 0.05) -> float:
    """Return the lowest level that so many clusters can show if every answer is right and the bet is the largest."""
    if not clusters:
        return 1.0
    odds = math.expm1(-math.log(alpha) / clusters) / float(_BETS[-1])
    return odds / (1 + odds)


def _shares(clusters: Sequence[Cluster]) -> Floats:
    """Return the share of wrong answers, shape (GRID + 1, clusters), none of which is empty; NaN without an answer."""
    if not clusters:
        return np.empty((GRID + 1, 0))
    steps = (np.arange(GRID + 1) / GRID)[:, None]
    scores = np.array([one.score for cluster in clusters for one in cluster], dtype=np.float64)
    bad = np.array([one.wrong for cluster in clusters for one in cluster], dtype=bool)
    begins = np.concatenate([[0], np.cumsum([len(cluster) for cluster in clusters])[:-1]])
    above = scores[None, :] >= steps
    answered = np.add.reduceat(above, begins, axis=1, dtype=np.int64)
    wrong = np.add.reduceat(above & bad[None, :], begins, axis=1, dtype=np.int64)
    found: Floats = np.divide(wrong, answered, out=np.full(answered.shape, np.nan), where=answered > 0)
    return found


def _log_capital(shares: Floats, level: float, bet: float) -> float:
    """Return the logarithm of the capital; clusters without an answer leave it as it is."""
    return float(np.nansum(np.log1p(-bet * (shares - level) / (1 - level))))
