"""Compute, before a search, which differences its questions can show: by simulating the search and the confirmation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from pydantic import ConfigDict

from chatbot_mvp.metrics.statistics.bootstrap import SEED, Floats
from chatbot_mvp.metrics.statistics.noninferiority import ALPHA
from chatbot_mvp.metrics.statistics.significance import holm
from chatbot_mvp.runs.rows import STORED
from chatbot_mvp.wings.tune.confirming import rise_p
from chatbot_mvp.wings.tune.halving import halving

CHANGED = 0.15
"""Assumed variance of a paired gain: 15 % of the questions change between 0 and 1."""
EFFECTS = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.18, 0.22, 0.26, 0.3, 0.4, 0.5)
"""True gains for which the probability is computed."""
SIMULATIONS = 200
_TINY = 1e-9
_MOST = 400  # simulated configurations; more change the figures little and take long


@dataclass(frozen=True, slots=True)
class Power:
    """What a tune can show, by true gain of one configuration among others that are equal to today's."""

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    searching: int
    """Number of questions of the search."""
    confirming: int
    """Number of questions of the confirmation."""
    configurations: int
    variance: float
    """Variance of a paired gain that is assumed, 0-1."""
    piloted: bool
    """True if the variance was measured by a pilot; False if it is the assumption ``CHANGED``."""
    effects: tuple[float, ...]
    found: tuple[float, ...]
    """For each effect the probability that the configuration with this gain is recommended, 0-1."""
    confirmed: tuple[float, ...]
    """For each effect the probability that it is recommended if the search has chosen it."""
    from_80: float | None
    """Smallest of the effects that is found with a probability of 80 % or more; None if there is none."""
    from_95: float | None
    """The same for 95 %."""
    confirmed_from_80: float | None
    """Smallest of the effects that is confirmed with a probability of 80 %, if the search has chosen it."""


def power_of(
    searching: int,
    confirming: int,
    configurations: int,
    min_effect: float,
    variance: float | None = None,
    simulations: int = SIMULATIONS,
) -> Power:
    """Simulate searches with one better configuration, through the functions that a tune uses.

    A gain is -1, 0 or 1 in the simulation, the coarsest a score can have, so that the figures are cautious for scores
    of smaller steps. The other configurations vary independently of each other, which is cautious, too: in a real space
    many give almost the same results.

    Args:
        searching, confirming: number of questions of each part, 1 or more.
        configurations: number without today's, 1 or more.
        variance: measured variance of a paired gain, 0-1; None for ``CHANGED``.
    """
    assumed = CHANGED if variance is None else min(max(variance, 0.01), 0.5)
    count = min(configurations, _MOST)
    rng = np.random.default_rng(SEED)
    found, confirmed = np.zeros(len(EFFECTS)), np.zeros(len(EFFECTS))
    for _ in range(simulations):
        null = _gains(rng.random((count, searching)), 0.0, assumed)
        at = int(rng.integers(count))
        own, later, other = rng.random(searching), rng.random(confirming), rng.random(confirming)
        runner_up = _gains(other, 0.0, assumed)
        for row, effect in enumerate(EFFECTS):
            gain = _gains(later, effect, assumed)
            if not _recommended(gain, gain - runner_up, min_effect):
                continue
            confirmed[row] += 1
            null[at] = _gains(own, effect, assumed)
            searched = halving(count, searching, partial(_first_questions, null), min_effect)
            found[row] += searched.ranking[0] == at and not searched.ended
    found, confirmed = found / simulations, confirmed / simulations
    return Power(
        searching=searching,
        confirming=confirming,
        configurations=configurations,
        variance=round(assumed, 4),
        piloted=variance is not None,
        effects=EFFECTS,
        found=tuple(round(float(value), 3) for value in found),
        confirmed=tuple(round(float(value), 3) for value in confirmed),
        from_80=_first(found, 0.8),
        from_95=_first(found, 0.95),
        confirmed_from_80=_first(confirmed, 0.8),
    )


def _first_questions(table: Floats, rows: Sequence[int], size: int) -> Floats:
    part: Floats = table[list(rows), :size]
    return part


def _gains(uniform: Floats, effect: float, variance: float) -> Floats:
    """Return gains of -1, 0 and 1 with the mean ``effect`` from numbers between 0 and 1."""
    changed = max(variance + effect**2, effect)
    up = (changed + effect) / 2
    result: Floats = np.where(uniform < up, 1.0, np.where(uniform < changed, -1.0, 0.0))
    return result


def _recommended(today: Floats, runner_up: Floats, min_effect: float) -> bool:
    """Return whether the winner is recommended, with the normal approximation of the runner-up's p in a close case."""
    p = rise_p(today)
    if p > ALPHA or today.mean() < min_effect - _TINY:
        return False  # no correction makes p smaller
    if p <= ALPHA / 2:
        return True
    error = float(runner_up.std(ddof=1)) / math.sqrt(len(runner_up)) if len(runner_up) > 1 else 0.0
    other = 1 - NormalDist().cdf(float(runner_up.mean()) / error) if error > 0 else 1.0
    corrected = holm([p, other])[0]
    return corrected is not None and corrected <= ALPHA


def _first(shares: Floats, least: float) -> float | None:
    return next((effect for effect, share in zip(EFFECTS, shares, strict=True) if share >= least), None)
