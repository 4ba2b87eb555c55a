"""Simulated years of a chat for ``drift``: a promise, the questions after it, and how many answers are truly wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.drift_pools import Pool
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.wings.promise.calibration import LabelledQuestion
from chatbot_mvp.wings.promise.promise import Basis, Promise, make_promise

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

DAYS, A_DAY = 360, 20
QUESTIONS = DAYS * A_DAY
LEVEL = 0.05
LABELLED = 1_000
"""Number of labelled questions that a promise is made from."""
MISLABELLED = 0.05
BASE = {"answerable": 0.86, "near": 0.04, "far": 0.10}
"""Share of each kind among the questions before anything changes."""


@dataclass(frozen=True)
class Drift:
    """What the questions of a year become."""

    towards: Mapping[str, float]
    """Shares of the kinds after the change."""
    how: Callable[[Floats, float], Floats]
    """(day of each question, day of the change) -> how far the change has gone, 0-1."""
    mislabelled: float = 0.0
    """Share of the labels of the year that say the contrary of the truth, …"""
    before: float = 0.0
    """… and of those that the promise is made from."""


def _sudden(day: Floats, start: float) -> Floats:
    return (day >= start).astype(float)


def _slow(day: Floats, start: float) -> Floats:
    return np.clip((day - start) / (DAYS / 2), 0, 1)


def _season(day: Floats, start: float) -> Floats:
    return (1 - np.cos(2 * np.pi * (day - start) / 120)) / 2 * (day >= start)


def _part(name: str, share: float) -> dict[str, float]:
    """Return the base shares after ``share`` of the answerable questions became another kind."""
    lost = BASE["answerable"] * share
    return {**BASE, "answerable": BASE["answerable"] - lost, name: lost}


_NEAR = {"answerable": 0.45, "near": 0.45, "far": 0.10}
_ALMOST = {"answerable": 0.45, "almost": 0.45, "far": 0.10}
DRIFTS: Mapping[str, Drift] = {
    "none": Drift(BASE, _sudden),
    "labels: 5 % false": Drift(BASE, _sudden, MISLABELLED, MISLABELLED),
    "labels: 5 % false, after the promise": Drift(BASE, _sudden, MISLABELLED),
    "documents: 30 % removed at once": Drift(_part("removed", 0.3), _sudden),
    "documents: 50 % removed in six months": Drift(_part("removed", 0.5), _slow),
    "documents: 15 % outdated at once": Drift(_part("outdated", 0.15), _sudden),
    "questions: near 4 % to 45 % at once": Drift(_NEAR, _sudden),
    "questions: near 4 % to 45 % in six months": Drift(_NEAR, _slow),
    "questions: 45 % almost answered, at once": Drift(_ALMOST, _sudden),
    "people: half misspell": Drift(_part("misspelt", 0.5), _sudden),
    "people: half have not read the manual": Drift({**{n: v / 2 for n, v in BASE.items()}, "own words": 0.5}, _sudden),
    "people: half ask in English about other texts": Drift(
        {**{n: v / 2 for n, v in BASE.items()}, "english": 0.5}, _sudden
    ),
    "season: near 4 % to 30 % and back": Drift({"answerable": 0.6, "near": 0.3, "far": 0.1}, _season),
}


@dataclass(frozen=True, eq=False)
class Year:
    """A promise and the questions that follow; every array has one entry a question."""

    promise: Promise
    evidence: Floats
    answered: Flags
    wrong: Flags
    """Whether an answer is wrong, as its label would say."""
    rate: Floats
    """True share of wrong ones among the answers that the mix of that moment gets, 0-1."""
    changed: int
    """Number of the first question after the change; ``QUESTIONS`` if nothing changes."""
    labelled: tuple[LabelledQuestion, ...]
    lapsed: Floats
    """Share of the answerable questions whose paragraph has been taken out of the documents, 0-1."""


class Calibrations:
    """Promises made from labelled questions that are drawn from the mix before anything changes."""

    def __init__(self, pools: Mapping[str, Pool]) -> None:
        self.pools = pools
        self._made: dict[tuple[int, float, float], tuple[list[LabelledQuestion], Promise]] = {}

    def of(self, seed: int, mislabelled: float, level: float) -> tuple[list[LabelledQuestion], Promise]:
        """Return (labelled questions, promise), which may not be made; the same ones for the same arguments."""
        key = seed, mislabelled, level
        if key not in self._made:
            labelled = _labelled(self.pools, mislabelled, np.random.default_rng([seed, 0]))
            basis = Basis("", "", "", "", "", "", {})
            self._made[key] = labelled, make_promise(labelled, 0, level, basis, "question")
        return self._made[key]


def year(calibrations: Calibrations, drift: Drift, seed: int, level: float = LEVEL) -> Year | None:
    """Draw labelled questions, make the promise, and draw the questions of a year; None if no promise can be made.

    Args:
        level: the promise is made for this level; the truth is still held against ``LEVEL``.
    """
    pools, rng = calibrations.pools, np.random.default_rng([seed, 1])
    labelled, promise = calibrations.of(seed, drift.before, level)
    if promise.threshold is None:
        return None
    least = promise.threshold - 1  # here the evidence stands for what a promise asks of a proof beyond 1
    start = rng.uniform(60, 240)
    gone = drift.how(np.repeat(np.arange(DAYS, dtype=float), A_DAY), start)
    names = list(pools)
    before, after = (np.array([part.get(name, 0.0) for name in names]) for part in (BASE, drift.towards))
    mix = before + gone[:, None] * (after - before)
    chosen = (rng.random(QUESTIONS)[:, None] > np.cumsum(mix, axis=1)).sum(axis=1).clip(0, len(names) - 1)
    evidence, wrong = np.empty(QUESTIONS), np.empty(QUESTIONS, bool)
    shares = []
    for row, name in enumerate(names):
        pool, where = pools[name], np.flatnonzero(chosen == row)
        drawn = rng.integers(len(pool.evidence), size=where.size)
        evidence[where], wrong[where] = pool.evidence[drawn], pool.wrong[drawn]
        above = pool.evidence >= least
        shares.append((above.mean(), (above & pool.wrong).mean()))
    answered_of, wrong_of = np.array(shares).T
    rate = mix @ wrong_of / (mix @ answered_of)
    wrong ^= rng.random(QUESTIONS) < drift.mislabelled
    changed = int(np.argmax(gone > 0)) if drift.towards is not BASE else QUESTIONS
    lapsed = gone * drift.towards.get("removed", 0.0) / BASE["answerable"]
    return Year(promise, evidence, evidence >= least, wrong, rate, changed, tuple(labelled), lapsed)


def _labelled(pools: Mapping[str, Pool], mislabelled: float, rng: np.random.Generator) -> list[LabelledQuestion]:
    found = []
    for number, name in enumerate(rng.choice(list(BASE), LABELLED, p=list(BASE.values()))):
        pool = pools[name]
        at = int(rng.integers(len(pool.evidence)))
        wrong = bool(pool.wrong[at]) ^ bool(rng.random() < mislabelled)
        # Whether a question fits or calibrates depends on its words: they must differ.
        question = KbQuestion(str(number), f"{rng.integers(2**62)}", pool.kinds[at])
        found.append(LabelledQuestion(question, evidence := float(pool.evidence[at]), wrong, evidence=evidence))
    return found
