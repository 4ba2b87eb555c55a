"""Simulated tunes over configurations of known gain, through the search and the confirmation that a tune uses.

Power: where the printed power says 95 %, the planted configuration must be found in 95 % of the searches or more.
Null: if no configuration is better than today's, at most 5 % of the searches may recommend one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chatbot_mvp.runs.rows import QueryRow
from chatbot_mvp.wings.tune.power import Power, power_of
from chatbot_mvp.wings.tune.space import Configuration
from chatbot_mvp.wings.tune.splitting import Split
from chatbot_mvp.wings.tune.trials import Cost, Trials
from chatbot_mvp.wings.tune.tuning import tune
from chatbot_mvp.wings.tune.types import TunePlan, TuneResult

Floats = npt.NDArray[np.float64]
METRIC = "recall@5"
MIN_EFFECT = 0.02
_ROW = QueryRow(
    query_id="",
    question="",
    answer="",
    answer_type="",
    question_type="",
    level="",
    metrics={},
    retrieved=(),
    gold=(),
)


@dataclass(frozen=True)
class Case:
    """A kind of scores."""

    name: str
    questions: int
    configurations: int
    changed: float
    """Share of the questions whose score changes between 0 and 1 if a configuration does not differ in truth."""
    steps: int = 1
    """Number of equal steps between 0 and 1 that a score can have: 1 for hit@3, 2 for recall of two documents."""
    alike: float = 0.0
    """Share of the questions on which all configurations without a gain have the same score."""

    @property
    def variance(self) -> float:
        """Variance of a gain of a configuration without a true gain."""
        return self.changed / self.steps**2


CASES = (
    Case("hit, 120 questions, 60 configurations, 15 % change", 120, 60, 0.15),
    Case("hit, 120 questions, 200 configurations, 5 % change", 120, 200, 0.05),
    Case("hit, 300 questions, 200 configurations, 15 % change", 300, 200, 0.15),
    Case("recall of two documents, 200 questions, 100 configurations", 200, 100, 0.2, steps=2),
    Case("configurations that score alike on half of the changes", 200, 100, 0.15, alike=0.5),
)


@dataclass(frozen=True)
class Row:
    """The outcome of one case."""

    case: str
    effect: float | None
    """Planted gain that the printed power finds in 95 % of searches; None if no gain that was computed suffices."""
    printed: float | None
    """Printed probability for it."""
    found: float | None
    """Share of the searches that recommended the planted configuration."""
    false_winners: float
    """Share of the searches without a better configuration that recommended one."""
    searches: int
    """Number of searches without a better configuration."""
    planted: int
    """Number of searches with one."""


def measure(searches: int, planted: int, cases: Iterable[Case] = CASES, seed: int = 20_261_122) -> Iterator[Row]:
    """Yield the outcome of each case.

    Args:
        searches: number of searches without a better configuration.
        planted: number of searches with one.
    """
    for case in cases:
        rng = np.random.default_rng(seed)
        half = case.questions // 2
        power = power_of(half, case.questions - half, case.configurations, MIN_EFFECT, case.variance)
        false = sum(search(case, 0.0, rng, power).recommended for _ in range(searches))
        effect, found = power.from_95, 0
        if effect is not None:
            for _ in range(planted):
                result = search(case, effect, rng, power)
                found += result.recommended and result.winner is not None and result.winner.config_id == "planted"
        yield Row(
            case=case.name,
            effect=effect,
            printed=None if effect is None else power.found[power.effects.index(effect)],
            found=None if effect is None else found / planted,
            false_winners=false / searches,
            searches=searches,
            planted=planted,
        )


def search(case: Case, effect: float, rng: np.random.Generator, power: Power) -> TuneResult:
    """Draw scores and carry out one tune over them. With an effect, one configuration at a random place has it."""
    today = rng.integers(0, case.steps + 1, case.questions) / case.steps
    common = _gains(case, today, 0.0, rng)
    table = np.array([_gains(case, today, 0.0, rng) for _ in range(case.configurations)])
    same = rng.random(case.questions) < case.alike
    table[:, same] = common[same]
    names = [f"c{row}" for row in range(case.configurations)]
    if effect:
        at = int(rng.integers(case.configurations))
        names[at], table[at] = "planted", _gains(case, today, effect, rng)
    scores = dict(zip(names, today + table, strict=True))
    return tune("simulated", _plan(case, names, power), _Planted({"today": today, **scores}))


def _gains(case: Case, today: Floats, effect: float, rng: np.random.Generator) -> Floats:
    """Return gains with the mean ``effect`` that keep every score within 0 and 1."""
    step = 1 / case.steps
    changed = max(case.changed + (effect / step) ** 2, effect / step)
    up, down = (changed + effect / step) / 2, (changed - effect / step) / 2
    # A score of 1 cannot rise and one of 0 cannot fall: the others change more often in return.
    may_rise, may_fall = today < 1 - 1e-9, today > 1e-9
    share = case.steps / (case.steps + 1)
    uniform = rng.random(case.questions)
    middle = may_rise & may_fall
    rise = np.where(may_rise, up / share, 0.0)
    fall = np.where(may_fall, down / share, 0.0)
    both: Floats = np.where(uniform < rise, step, np.where(uniform > 1 - fall, -step, 0.0))
    assert not middle.any() or (rise + fall)[middle].max() <= 1
    return both


def _plan(case: Case, names: Sequence[str], power: Power) -> TunePlan:
    ids = [f"q{number}" for number in range(case.questions)]
    half = case.questions // 2
    tried = tuple(Configuration(name, "LEXICAL", {"retrieval_k": row}, False) for row, name in enumerate(names))
    return TunePlan(
        target="simulated",
        reference="",
        kb_id="",
        dataset_sha256="",
        code_version="",
        metric=METRIC,
        higher_is_better=True,
        min_effect=MIN_EFFECT,
        today=Configuration("today", "LEXICAL", {}, False),
        settings={},
        configurations=tried,
        with_model=(),
        knobs_with_model=(),
        budget_usd=None,
        questions=case.questions,
        split=Split(tuple(ids[:half]), tuple(ids[half:]), "questions", case.questions),
        unscored=(),
        rounds=(),
        retrievals=0,
        power=power,
        seconds=None,
        seconds_each=None,
        calls=0,
        cost_usd=0.0,
        seed=0,
        created_at="",
    )


class _Planted(Trials):
    """Trials whose scores are drawn and not measured."""

    def __init__(self, scores: dict[str, Floats]) -> None:
        self._scores = scores
        self._asked: dict[str, dict[str, QueryRow]] = {}
        self._spent = {}

    def measure(self, configuration: Configuration, query_ids: Sequence[str], phase: str) -> dict[str, QueryRow]:
        known = self._asked.setdefault(configuration.config_id, {})
        known.update(dict.fromkeys(query_ids, _ROW))
        return known

    def scores(self, configuration: Configuration, query_ids: Sequence[str], metric: str, phase: str) -> Floats:
        self.measure(configuration, query_ids, phase)
        drawn = self._scores[configuration.config_id]
        first = int(query_ids[0][1:]) if query_ids else 0  # each part of the questions is a run of numbers
        part: Floats = drawn[first : first + len(query_ids)]
        return part

    def cost(self, configuration: Configuration) -> Cost:
        return Cost(0.01, None, 0.0)
