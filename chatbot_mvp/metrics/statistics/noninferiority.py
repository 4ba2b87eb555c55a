"""Test whether a metric got worse: one-sided paired tests of a mean gain against 0 and against a tolerated drop.

A gain is today's score minus the baseline's score of one question, negated for a metric where lower is better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from chatbot_mvp.metrics.statistics.bootstrap import Floats
from chatbot_mvp.metrics.statistics.significance import holm, randomisation_p

ALPHA = 0.05
"""Probability of a false "worse", over all metrics of one gate; also of a false "not worse" for each metric."""
POWER = 0.8
"""Probability with which the printed numbers of questions show what they are meant to show."""

LEAST_PAIRS = 10
"""Fewer questions than this never show "not worse": none of them need have been asked about what changed."""

_Z = NormalDist().inv_cdf(1 - ALPHA)
_REACH = _Z + NormalDist().inv_cdf(POWER)
_TINY = 1e-9
_STEPS = 40  # halvings of an interval
_STRONGEST = 1e6  # a tilt that leaves weight on the largest gain alone

Verdict = Literal["better", "not_worse", "worse", "unclear"]
"""better: not worse, and significantly above the baseline. unclear: there are too few questions to tell."""


@dataclass(frozen=True, slots=True)
class GainTest:
    """The tests of one metric."""

    verdict: Verdict
    mean: float | None
    """Mean gain; None without pairs, as are the other figures."""
    low: float | None
    """Lower and upper bound of the mean gain, each one-sided at 95 %."""
    high: float | None
    p_worse: float | None
    """One-sided sign-flip p of a drop, corrected by Holm over the metrics of the gate."""
    deviation: float | None
    """Standard deviation of the gains, at least that of the judge's noise."""
    noise: float | None
    """Share of the gains' variance that comes from repeats scoring the same question differently, 0-1."""
    pairs: int
    detectable: float | None
    """Smallest true drop that these questions call worse with a probability of ``POWER``; None if no score changed, so
    that nothing is known of how much they vary."""
    needed_if_equal: int | None
    """Number of questions that show "not worse" with a probability of ``POWER`` if nothing changed in truth. None if
    the verdict is clear, or if no number suffices because the tolerance is 0."""
    needed_if_real: int | None
    """Number of questions that call the measured drop worse with that probability, if it is real; else None."""


def gain_tests(gains: Sequence[Floats], noises: Sequence[float], tolerance: float) -> list[GainTest]:
    """Test the metrics of one gate.

    *worse*: the drop is significant (sign-flip randomisation, equal sums counted in full, Holm over the metrics) and
    larger than the tolerance. *not worse*: there are LEAST_PAIRS questions, and the lower bound is above -tolerance, or
    no question fell and nothing is noisy. The rest is unclear.

    Args:
        gains: for each metric the gains of the questions that both sides scored.
        noises: for each metric the mean over questions of the variance that repeats measured in a gain; 0 without
            repeats. The variance of the gains is taken to be at least this.
        tolerance: the drop of the mean that is accepted, 0 or more.
    """
    found = [one_sided_ps(values) for values in gains]
    corrected = holm([None if ps is None else ps[0] for ps in found])
    rows = zip(gains, noises, corrected, found, strict=True)
    return [gain_test(values, noise, tolerance, p, ps and ps[1]) for values, noise, p, ps in rows]


def one_sided_p(gains: Floats) -> float | None:
    """Return the sign-flip p of "the mean gain is below 0"; None without gains."""
    found = one_sided_ps(gains)
    return None if found is None else found[0]


def one_sided_ps(gains: Floats) -> tuple[float, float] | None:
    """Return the sign-flip p of "the mean gain is below 0" and of "it is above 0"; None without gains.

    Exact if each gain could as well have the opposite sign, as after a change without effect. Equal sums count in full,
    so that the probability of a false alarm is at most the level, also for scores of few steps.
    """
    if not len(gains):
        return None
    if np.abs(gains).max() < _TINY:
        return 1.0, 1.0
    both, total = float(randomisation_p(gains[:, None], ties=1.0)[0]), gains.sum()
    towards, against = min(1.0, both / 2), max(0.5, 1 - both / 2)
    return (towards if total < -_TINY else against), (towards if total > _TINY else against)


def bounds(gains: Floats, noise: float = 0.0, tail: float = ALPHA) -> tuple[float, float]:
    """Return the lower and upper bound of the mean gain, each one-sided at 95 %.

    A score interval: the bound is the furthest mean m with (mean - m) / sqrt(v(m) / n) within the normal quantile,
    where v(m) is the variance of the gains after exponential tilting to the mean m (Efron 1981). For scores of 0 and 1
    it is the interval of Wilson (1927). A standard error from the gains as they are is too small when few questions
    changed. Without noise a bound stays within the range of the gains: if no question fell, it is not below 0.

    Args:
        gains: at least one.
        noise: least variance of a gain.
        tail: probability that the mean lies beyond one bound, 0-0.5; 0.025 gives a 95 % interval.
    """
    reach = NormalDist().inv_cdf(1 - tail)
    values, counts = np.unique(np.round(gains, 9), return_counts=True)
    shares, mean = np.log(counts / counts.sum()), float(np.mean(gains))
    scale = float(np.abs(values - mean).max()) or 1.0
    apart, least = (values - mean) / scale, noise / scale**2
    low, high = (_distance(side, shares, least, len(gains), reach) * scale for side in (-apart, apart))
    return mean - low, mean + high


def paired_interval(gains: Floats) -> tuple[float, float]:
    """Return the 95 % interval of the mean gain of paired scores.

    The score interval of ``bounds`` with one more question that rises and one that falls by the largest change (as
    Agresti & Min 2005 add pairs to a difference of proportions). Without them, the interval of a single changed
    question would leave out 0.

    Args:
        gains: at least one.
    """
    largest = float(np.abs(gains).max()) or 1.0
    return bounds(np.append(gains, [largest, -largest]), tail=0.025)


def _distance(apart: Floats, shares: Floats, noise: float, count: int, reach: float) -> float:
    """Return how far above 0, the mean of ``apart``, the upper bound of ``bounds`` is.

    Args:
        apart: distinct gains minus their mean, at most 1 in size.
        shares: logarithm of each one's share.
        reach: normal quantile of the bound.
    """

    def tilted(strength: float) -> tuple[float, float]:
        exponents = strength * apart + shares
        weights = np.exp(exponents - exponents.max())
        weights /= weights.sum()
        mean = float(weights @ apart)
        return mean, float(weights @ (apart - mean) ** 2)

    def beyond(strength: float) -> bool:
        mean, variance = tilted(strength)
        return mean > reach * math.sqrt(max(variance, noise) / count)

    outside = 1.0
    while not beyond(outside):
        outside *= 2
        if outside > _STRONGEST:
            return max(float(apart.max()), reach * math.sqrt(noise / count))
    inside = 0.0
    for _ in range(_STEPS):
        middle = (inside + outside) / 2
        inside, outside = (inside, middle) if beyond(middle) else (middle, outside)
    return tilted(inside)[0]


def gain_test(gains: Floats, noise: float, tolerance: float, p_worse: float | None, p_better: float | None) -> GainTest:
    """Test one metric, as ``gain_tests`` does.

    Args:
        p_worse, p_better: as ``one_sided_ps`` gives them, ``p_worse`` corrected for several metrics.
    """
    if p_worse is None:
        return GainTest("unclear", None, None, None, None, None, None, 0, None, None, None)
    mean, pairs = float(gains.mean()), len(gains)
    low, high = bounds(gains, noise)
    measured = float(gains.var(ddof=1)) if pairs > 1 else 0.0
    deviation = math.sqrt(max(measured, noise))
    verdict: Verdict = "unclear"
    held = low > -tolerance or (noise == 0 and gains.min() >= -_TINY)
    if held and pairs >= LEAST_PAIRS:
        verdict = "better" if p_better is not None and p_better <= ALPHA else "not_worse"
    elif p_worse <= ALPHA and mean < -tolerance:
        verdict = "worse"
    unclear = verdict == "unclear"
    step = min((abs(float(gain)) for gain in gains if abs(gain) > _TINY), default=0.0)
    return GainTest(
        verdict=verdict,
        mean=mean,
        low=low,
        high=high,
        p_worse=p_worse,
        deviation=deviation,
        noise=min(1.0, noise / deviation**2) if deviation > 0 else 0.0,
        pairs=pairs,
        detectable=detectable(pairs, deviation, tolerance, step) if deviation > 0 else None,
        needed_if_equal=_needed_if_equal(deviation, tolerance) if unclear else None,
        needed_if_real=questions_needed(deviation, -mean) if unclear and mean < -tolerance else None,
    )


def _needed_if_equal(deviation: float, tolerance: float) -> int | None:
    needed = questions_needed(deviation, tolerance)
    return None if needed is None else max(LEAST_PAIRS, needed)


def questions_needed(deviation: float, difference: float) -> int | None:
    """Return how many questions tell a true difference from 0 with a probability of ``POWER``; None for no difference.

    Args:
        deviation: standard deviation of the gains.
    """
    return math.ceil((_REACH * deviation / difference) ** 2) if difference > _TINY else None


def detectable(pairs: int, deviation: float, tolerance: float, step: float = 0.0) -> float:
    """Return the smallest true drop that is called worse with a probability of ``POWER``; arguments as in ``power``."""
    error = deviation / math.sqrt(pairs)
    return max(_Z * error + step / pairs, tolerance) + (_REACH - _Z) * error


def power(pairs: int, deviation: float, drop: float, tolerance: float, step: float = 0.0) -> float:
    """Return the probability of the verdict "worse" for a true drop, by the normal approximation.

    Args:
        deviation: standard deviation of the gains, above 0.
        drop: true drop of the mean, 0 or more.
        step: smallest change of a score, 1 for hit@1, 0 for a continuous score. Because equal sums count in full, the
            sum of the gains must be lower by about this much.
    """
    error = deviation / math.sqrt(pairs)
    return NormalDist().cdf((drop - max(_Z * error + step / pairs, tolerance)) / error)


def deviation_of(changed: float, drop: float) -> float:
    """Return the standard deviation of gains of -1, 0 and 1, as of hit@1.

    Args:
        changed: share of the questions whose score changes, 0-1; at least ``drop`` is taken.
        drop: drop of the mean.
    """
    return math.sqrt(max(changed, drop) - drop**2)


def level_verdict(values: Floats, least: float) -> tuple[Verdict, float | None, tuple[float, float] | None]:
    """Compare the mean of a metric with a required level.

    Args:
        values: scores of the questions, negated for a metric where lower is better.
        least: required mean.

    Returns:
        (not_worse if the mean reaches the level, worse if its upper bound is below it, else unclear; mean; bounds).
        Unclear, None and None without scores.
    """
    if not len(values):
        return "unclear", None, None
    mean, (low, high) = float(values.mean()), bounds(values)
    if mean >= least - _TINY:
        return "not_worse", mean, (low, high)
    return "worse" if high < least else "unclear", mean, (low, high)
