"""Simulate years of drift: when a promise on wrong answers is withdrawn after it is broken.

python -m benchmarks drift ../shared/datasets [--years 200] [--only people,season] [--keep FOLDER]
python -m benchmarks drift --limits [--years 2000]      how often the watch alarms by chance
python -m benchmarks drift --possible [../shared/datasets]      what labels, and evidence, can show at best

Each year has a promise of at most 5 % wrong answers, made by the promise's own code from 1,000 labelled questions, and
then 360 days of 20 questions. Evidence and truth of the questions are measured once by the application itself. A
promise is broken while more than 5 % of the answers that the mix of the moment gets are wrong; years whose promise is
broken before anything changes are counted apart. Rows are kinds of drift, columns are rules:

before: Kolmogorov-Smirnov over all questions, weekly. labels evenly, labels near threshold: 100 labels a year.
evidence: the rule of the product. strict: the same with fewer alarms by chance. restored: the next answers are labelled
until the promise holds again. passages: also withdrawn when too many of the labelled passages have gone. margin:
evidence, and a promise made for 3.5 % but held against 5 %. The product also withdraws at any change of a document.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.drift_pools import pools
from benchmarks.drift_rules import LABEL_LIMIT, RULES, STRICT, Course, by_evidence, label_capitals
from benchmarks.drift_years import BASE, DRIFTS, LEVEL, QUESTIONS, Calibrations, Drift, Floats, Year, year
from benchmarks.script import add_keep, data_folder, head, parser, row
from chatbot_mvp.wings.promise.risk import binomial_tail
from chatbot_mvp.wings.promise.shift import LIMIT, capitals

WITHIN = 50
"""Number of answers after which a broken promise must be withdrawn."""
MARGIN = 0.035
MOST_SEEDS = 3
"""Seeds to try for each year wanted: not every draw of labels makes a promise."""


@dataclass(frozen=True)
class Outcome:
    """What a rule did in one year."""

    late: bool
    """Whether more than ``WITHIN`` answers in a row were given under a broken promise."""
    given: int | None
    """Number of answers given from the first break to the withdrawal, or to the end; None if it was never broken."""
    early: bool
    """Whether the promise was withdrawn before anything changed. Such years say nothing about lateness."""
    needless: bool
    """Whether it was withdrawn in a year in which it was never broken."""
    stands: float
    labels: int


def outcome(year: Year, course: Course) -> Outcome:
    """Hold what a rule did against the truth."""
    answers = np.flatnonzero(year.answered)
    broken, stands = year.rate[answers] > LEVEL, course.stands[answers]
    longest = run = 0
    for bad in (broken & stands).tolist():
        run = run + 1 if bad else 0
        longest = max(longest, run)
    given = None
    if broken.any():
        rest = stands[int(np.argmax(broken)) :]
        given = len(rest) if rest.all() else int(np.argmin(rest))
    gone = ~course.stands
    return Outcome(
        longest > WITHIN,
        given,
        bool(gone[: year.changed].any()),
        bool(gone.any() and not broken.any()),
        float(course.stands.mean()),
        course.labels,
    )


def years(found: Calibrations, drift: Drift, wanted: int, level: float) -> Iterator[tuple[int, Year]]:
    """Yield (seed, year) of the seeds that make a promise."""
    made = 0
    for seed in range(MOST_SEEDS * wanted):
        if made < wanted and (one := year(found, drift, seed, level)) is not None:
            made += 1
            yield seed, one


def measure(found: Calibrations, drift: Drift, wanted: int) -> tuple[dict[str, list[Outcome]], list[object]]:
    """Return (rule -> outcomes, [years, those broken at once, draws of labels, the same with the margin, rates])."""
    outcomes: dict[str, list[Outcome]] = {name: [] for name in (*RULES, "margin")}
    rates: list[tuple[float, float]] = []
    broken = tried = tried_margin = 0
    for seed, one in years(found, drift, wanted, LEVEL):
        tried = seed + 1
        if one.rate[0] > LEVEL:
            broken += 1
            continue
        rates.append((one.rate[0], one.rate.max()))
        for name, rule in RULES.items():
            outcomes[name].append(outcome(one, rule(one, seed)))
    for seed, one in years(found, drift, wanted, MARGIN):
        tried_margin = seed + 1
        if one.rate[0] <= LEVEL:
            outcomes["margin"].append(outcome(one, by_evidence(one, seed)))
    means = [f"{value:.3f}" for value in np.mean(rates, axis=0)] if rates else ["–", "–"]
    most = MOST_SEEDS * wanted
    return outcomes, [len(rates), broken, tried or most, f"{len(outcomes['margin'])} of {tried_margin or most}", *means]


def cell(outcomes: Sequence[Outcome], what: str) -> str:
    """Return one figure of a rule in a kind of drift."""
    if what in ("late", "given"):
        outcomes = [one for one in outcomes if one.given is not None and not one.early]
    if not outcomes:
        return "–"
    if what == "given":
        given = [one.given or 0 for one in outcomes]
        return f"{np.median(given):.0f} ({np.quantile(given, 0.95):.0f})"
    return f"{np.mean([getattr(one, what) for one in outcomes]):.{0 if what == 'labels' else 2}f}"


TABLES = {
    "late": "More than 50 answers in a row under a broken promise: share of the years in which it stood before",
    "given": "Answers from the break to the withdrawal: median (95th percentile), in the same years",
    "early": "Share of the years in which it was withdrawn before anything changed",
    "needless": "Share of the years in which it was withdrawn and never broken",
    "stands": "Share of the year in which the promise stood",
    "labels": "Labels used",
}


def limits(runs: int) -> None:
    """Print how often the two watches reach their limits by chance."""
    highest = [capitals(np.random.default_rng(seed).random(QUESTIONS))[0].max() for seed in range(runs)]
    print(f"{QUESTIONS:,} questions without a change, {runs} times:")
    for limit in (100, LIMIT, 1_000, STRICT):
        print(f"  mean capital {limit:>6,.0f} reached: {np.mean([one >= limit for one in highest]):.3f}")
    rng = np.random.default_rng(0)
    labels = [max(label_capitals((rng.random(100) < LEVEL).tolist(), [1.0] * 100)) for _ in range(4 * runs)]
    reached = np.mean(np.array(labels) >= LABEL_LIMIT)
    print(f"100 labels of answers at a risk of 5 %: {LABEL_LIMIT:.0f} reached: {reached:.3f}")


def possible() -> None:
    """Print the least risk after a break that labels of the next 50 answers show, whoever chooses the test.

    The most powerful test of 5 % against a higher risk counts the wrong ones (Neyman & Pearson 1933). It is made once
    at a known moment: a watch over a year makes it for every 50 answers, which asks for more.
    """
    print(
        head(["labels in 50 answers", "withdraw from wrong ones", "false alarms", "seen with 95 %", "checks a year"], 0)
    )
    for labels in (1, 5, 10, 20, 50):
        least = next(wrong for wrong in range(labels + 2) if 1 - binomial_tail(wrong - 1, labels, LEVEL) <= 0.05)
        alarms = 1 - binomial_tail(least - 1, labels, LEVEL)
        rates = [
            rate for rate in np.arange(0.05, 1.0001, 0.01) if 1 - binomial_tail(least - 1, labels, float(rate)) >= 0.95
        ]
        print(row([labels, least, f"{alarms:.3f}", f"{rates[0]:.2f}" if rates else "never", 100 // labels]))
    print(f"\nLabels until a break shows, on average, at least (limit {LABEL_LIMIT:.0f}, Wald 1945):")
    for rate in (0.06, 0.1, 0.2, 0.4, 0.8, 0.999):
        gain = rate * math.log(rate / LEVEL) + (1 - rate) * math.log((1 - rate) / (1 - LEVEL))
        print(f"  {rate:.0%} wrong: {math.log(LABEL_LIMIT) / gain:.0f} labels")


def visible(found: Calibrations) -> None:
    """Print how many answers evidence takes to show a change, on average, even if what it looks like were known.

    Each question adds the relative entropy of the mix after the change to the logarithm of the capital, on average, and
    no bet adds more (Wald 1945). The scores are counted in ten bins, as the watch counts them.
    """
    promise = next(one for seed in range(99) if (one := found.of(seed, 0.0, LEVEL)[1]).made)
    edges = np.quantile(promise.scores, np.linspace(0, 1, 11))[1:-1]
    counts = {
        name: np.bincount(np.searchsorted(edges, pool.evidence), minlength=10) for name, pool in found.pools.items()
    }
    above = {name: pool.evidence >= (promise.threshold or 1.0) - 1 for name, pool in found.pools.items()}

    def facts(mix: Mapping[str, float]) -> tuple[Floats, float, float]:
        """Return (shares of the bins, share answered, share of these that is wrong)."""
        bins = sum(share * counts[name] / counts[name].sum() for name, share in mix.items())
        answered = sum(share * above[name].mean() for name, share in mix.items())
        wrong = sum(share * (above[name] & found.pools[name].wrong).mean() for name, share in mix.items())
        return np.asarray(bins), float(answered), float(wrong / answered)

    print(f"\nEvidence, at the threshold {(promise.threshold or 1.0) - 1:.2f}, and a capital of {LIMIT:.0f}:\n")
    print(head(["drift", "wrong after it", "answers at least", "broken when so far", "answers at least, there"]))
    before = facts(BASE)[0]
    for name, drift in DRIFTS.items():
        steps = [
            facts({each: (1 - gone) * BASE.get(each, 0) + gone * drift.towards.get(each, 0) for each in found.pools})
            for gone in np.linspace(0, 1, 101)
        ]
        needed = [
            math.log(LIMIT) * answered / max(1e-9, float(np.sum(bins * np.log(np.maximum(bins, 1e-12) / before))))
            for bins, answered, _ in steps
        ]
        broken = next((at for at, (_, _, wrong) in enumerate(steps) if wrong > LEVEL), None)
        told = [f"{count:,.0f}" if count < 1e6 else "never" for count in needed]
        there = [f"{broken} %", told[broken]] if broken is not None else ["never", "–"]
        print(row([name, f"{steps[-1][2]:.3f}", told[-1], *there]))


def main() -> None:
    options = parser(__doc__)
    options.add_argument("shared", type=Path, nargs="?", help="folder of the data sets")
    options.add_argument("--years", type=int, default=200, help="years with a promise for each kind of drift")
    options.add_argument("--only", default="", help="beginnings of kinds of drift, with commas")
    options.add_argument("--limits", action="store_true")
    options.add_argument("--possible", action="store_true")
    add_keep(options)
    given = options.parse_args()
    if given.limits:
        limits(given.years)
    if given.possible:
        possible()
    if given.shared is None:
        return
    wanted = tuple(given.only.split(","))
    with data_folder(given.keep) as folder:
        found = Calibrations(pools(given.shared, folder))
    if given.possible:
        visible(found)
        return
    told: dict[str, dict[str, list[Outcome]]] = {}
    print(head(["drift", "years", "broken at once", "draws of labels", "margin", "wrong before", "wrong at worst"]))
    for name in DRIFTS:
        if name.startswith(wanted):
            told[name], facts = measure(found, DRIFTS[name], given.years)
            print(row([name, *facts]), flush=True)
    for what, title in TABLES.items():
        print(f"\n{title}\n\n{head(['drift', *RULES, 'margin'])}")
        for name, outcomes in told.items():
            print(row([name, *(cell(of_rule, what) for of_rule in outcomes.values())]))
