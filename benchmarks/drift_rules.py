"""Rules that withdraw a promise in a simulated year, for ``drift``. Those of the product are its own code."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy.stats import kstwobign

from benchmarks.drift_years import A_DAY, DAYS, LEVEL, QUESTIONS, Flags, Floats, Year
from chatbot_mvp.wings.promise.calibration import ALPHA
from chatbot_mvp.wings.promise.live_watch import distance
from chatbot_mvp.wings.promise.promise import make_promise
from chatbot_mvp.wings.promise.risk import answers_needed
from chatbot_mvp.wings.promise.shift import LIMIT, Shift, capitals, find_shift, p_values

Numbers = npt.NDArray[np.int64]

BUDGET = 100
"""Number of labels a year."""
LABEL_LIMIT = 125.0
"""Mean capital of the bets on labels that withdraws; 100 labels at a risk of 5 % reach it in about 5 % of the years."""
RATES = (0.1, 0.2, 0.4)
"""Shares of wrong answers that the bets on labels expect."""
LEAST_KS = 50
STEP = 0.01
"""Share of the passages that may go before the labels are counted again."""
STRICT = 2_000.0
"""Limit that 7,200 questions without a change reach with a probability of 0.04."""


@dataclass(frozen=True)
class Course:
    """What a rule did in a year."""

    stands: Flags
    """Whether the promise stood when each question was asked."""
    labels: int


Rule = Callable[[Year, int], Course]
"""(year, seed) -> what the rule did."""


def until(number: int, labels: int = 0) -> Course:
    """Return the course of a promise that is withdrawn after so many questions, for good."""
    return Course(np.arange(QUESTIONS) < number, labels)


@lru_cache(maxsize=8)
def held(year: Year, seed: str) -> tuple[Floats, Numbers]:
    """Return what ``find_shift`` compares with its limit."""
    return capitals(np.fromiter(p_values(year.evidence.tolist(), year.promise.scores, seed), float))


def alarm(year: Year, seed: str, limit: float = LIMIT) -> Shift | None:
    """Do what ``find_shift`` does."""
    alarms = np.flatnonzero(held(year, seed)[0] >= limit)
    return Shift(int(held(year, seed)[1][alarms[0]]), int(alarms[0])) if alarms.size else None


def kolmogorov(year: Year, seed: int) -> Course:
    """The rule before decision 0229: each week all questions against the labelled ones, p < 0.01, from 50 on."""
    for day in range(7, DAYS + 1, 7):
        asked = day * A_DAY
        if asked < LEAST_KS:
            continue
        size = asked * len(year.promise.scores) / (asked + len(year.promise.scores))
        apart = distance(year.evidence[:asked].tolist(), year.promise.scores)
        if kstwobign.sf(apart * math.sqrt(size)) < 0.01:
            return until(asked)
    return until(QUESTIONS)


def evenly(year: Year, seed: int) -> Course:
    """A label for every so manieth answer."""
    return _by_labels(year, _spread(np.flatnonzero(year.answered), BUDGET), lambda number: 1.0)


def near_threshold(year: Year, seed: int) -> Course:
    """Twice as many labels for the third of the answers with the least evidence, half as many for the others."""
    answered = np.flatnonzero(year.answered)
    middle = np.quantile([score for score in year.promise.scores if score >= (year.promise.threshold or 1) - 1], 1 / 3)
    rng = np.random.default_rng([seed, 3])
    low = year.evidence[answered] < middle
    chance = BUDGET / len(answered) * np.where(low, 2.0, 0.5)
    chosen = answered[rng.random(len(answered)) < chance][:BUDGET]
    return _by_labels(year, chosen, lambda number: 2.0 if year.evidence[number] < middle else 0.5)


def by_evidence(year: Year, seed: int) -> Course:
    """The rule of the product: bets on the evidence."""
    found = alarm(year, str(seed))
    return until(QUESTIONS if found is None else found.raised + 1)


def strict(year: Year, seed: int) -> Course:
    """The same with fewer alarms by chance."""
    found = alarm(year, str(seed), STRICT)
    return until(QUESTIONS if found is None else found.raised + 1)


def both(year: Year, seed: int) -> Course:
    """Bets on the evidence, and labels evenly."""
    one, other = by_evidence(year, seed), evenly(year, seed)
    return Course(one.stands & other.stands, other.labels)


def restored(year: Year, seed: int) -> Course:
    """Bets on the evidence; once withdrawn, the next answers are labelled until they show the level or labels end.

    Without a wrong answer 59 labels show it, with one 93. The questions since then are what later ones are like.
    """
    looks = {answers_needed(LEVEL, ALPHA, wrong): wrong for wrong in range(3)}
    stands, begin, left = np.zeros(QUESTIONS, bool), 0, BUDGET
    found = alarm(year, str(seed))
    while found is not None:
        stop = begin + found.raised + 1
        stands[begin:stop] = True
        asked = stop + np.flatnonzero(year.answered[stop:])[:left]
        wrong = np.cumsum(year.wrong[asked])
        passed = [number for number, most in looks.items() if number <= len(asked) and wrong[number - 1] <= most]
        left -= passed[0] if passed else len(asked)
        if not passed:
            return Course(stands, BUDGET - left)
        begin = int(asked[passed[0] - 1]) + 1
        found = find_shift(year.evidence[begin:].tolist(), year.evidence[stop:begin].tolist(), f"{seed} {begin}")
    stands[begin:] = True
    return Course(stands, BUDGET - left)


def touched(year: Year, seed: int) -> Course:
    """Bets on the evidence; and documents: withdrawn when the labels whose passages went, if wrong, would be too many.

    Which labels lapse is drawn: as many as of the questions. The product withdraws at any change of a document.
    """
    rng = np.random.default_rng([seed, 4])
    order = rng.random(len(year.labelled))
    course = by_evidence(year, seed)
    seen = 0.0
    for number in range(year.changed, QUESTIONS, A_DAY):
        share = year.lapsed[number]
        if share < seen + STEP or not course.stands[number]:
            continue
        seen = share
        lapsed = [
            replace(one, wrong=one.wrong or (one.question.kind == "answerable" and at < share))
            for one, at in zip(year.labelled, order, strict=True)
        ]
        again = make_promise(lapsed, 0, year.promise.level, year.promise.basis, "question")
        if not again.covers(year.promise.threshold or 0.0):
            return Course(course.stands & (np.arange(QUESTIONS) < number), 0)
    return course


RULES: Mapping[str, Rule] = {
    "before": kolmogorov,
    "labels evenly": evenly,
    "labels near threshold": near_threshold,
    "evidence": by_evidence,
    "evidence, strict": strict,
    "evidence, labels": both,
    "evidence, restored": restored,
    "evidence, passages": touched,
}


def label_capitals(wrong: Iterable[bool], weights: Iterable[float]) -> Iterator[float]:
    """Yield the mean capital of bets that more than ``LEVEL`` of the answers are wrong, after each label.

    A capital below 1 is put up again. Without a break, a bet wins nothing on average.

    Args:
        weights: how many times as likely each answer was to be labelled as without a choice.
    """
    shares = [(rate - LEVEL) / (LEVEL * (1 - LEVEL)) for rate in RATES]  # bets of the likelihood ratio
    held = [1.0] * len(RATES)
    for bad, weight in zip(wrong, weights, strict=True):
        value = bad / weight
        held = [max(one, 1.0) * (1 + share * (value - LEVEL)) for one, share in zip(held, shares, strict=True)]
        yield sum(held) / len(held)


def _by_labels(year: Year, chosen: Numbers, weight: Callable[[int], float]) -> Course:
    weights = [weight(number) for number in chosen]
    for count, capital in enumerate(label_capitals(year.wrong[chosen].tolist(), weights), 1):
        if capital >= LABEL_LIMIT:
            return until(int(chosen[count - 1]) + 1, count)
    return until(QUESTIONS, len(chosen))


def _spread(numbers: Numbers, count: int) -> Numbers:
    places = np.linspace(0, len(numbers) - 1, min(count, len(numbers))).astype(int)
    return np.asarray(numbers[places])
