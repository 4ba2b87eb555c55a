"""What a tune takes and gives: options, plan, result and state. Plans and results are kept as JSON files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict

from chatbot_mvp.jobs.manager import JobStatus
from chatbot_mvp.runs.rows import STORED
from chatbot_mvp.wings.tune.confirming import Difference, Verdict
from chatbot_mvp.wings.tune.power import Power
from chatbot_mvp.wings.tune.space import MOST, Configuration
from chatbot_mvp.wings.tune.splitting import Split

MIN_EFFECT = 0.02
"""Default of the smallest effect worth having."""
SEED = 42

TuneProgress = Literal["finished", "running", "unfinished"]
"""unfinished: stopped, killed or not begun; it can be resumed."""


@dataclass(frozen=True, slots=True)
class TuneOptions:
    """How to tune."""

    metric: str = ""
    """Metric of rankings to improve; "" for the main one: hit@3 of a knowledge base, recall@5 of a data set."""
    min_effect: float = MIN_EFFECT
    """Smallest gain worth having, in units of the metric, above 0 and below 1."""
    most: int = MOST
    """Maximum number of configurations that send no request, 1 or more."""
    seed: int = SEED
    """Decides the split of the questions and the drawn combinations."""
    with_model: bool = False
    """Whether to try configurations that send requests."""
    budget_usd: float | None = None
    """Maximum cost of these requests in US dollars; needed with ``with_model``."""
    space: Path | None = None
    """TOML or JSON file with values to try in place of the built-in space."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TunePlan:
    """What a tune does, decided before it begins."""

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    target: str
    """Name of the data set, or of the knowledge base with its questions."""
    reference: str
    """Reference of the same for ``RunSources.find``."""
    kb_id: str
    """"" for a data set."""
    dataset_sha256: str
    code_version: str
    metric: str
    higher_is_better: bool
    min_effect: float
    today: Configuration
    """The configuration in effect."""
    settings: dict[str, Any]
    """The settings in effect, secrets masked."""
    configurations: tuple[Configuration, ...]
    """Those that send no request."""
    with_model: tuple[Configuration, ...]
    """Those that do, on top of today's; as many again are tried on top of the best one without a model."""
    knobs_with_model: tuple[tuple[str, tuple[dict[str, Any], ...]], ...]
    """(name, options) of what a model adds."""
    budget_usd: float | None
    questions: int
    """Number of all questions."""
    split: Split
    """The scored questions in two halves."""
    unscored: tuple[str, ...]
    """Ids of the questions without an expected passage, which only the other metrics use."""
    rounds: tuple[tuple[int, int], ...]
    """(configurations, questions) of each round of the search without a model."""
    retrievals: int
    """Number of questions searched in all, at most; what is cached is fast."""
    power: Power
    """What these questions can show."""
    seconds: float | None
    """Expected duration, from a pilot; None without one."""
    seconds_each: float | None
    """Seconds of one retrieval in the pilot."""
    calls: int | None
    """Expected requests to a model, from the lengths of texts; 0 if none is sent, None if they cannot be estimated."""
    cost_usd: float | None
    """Expected cost of these; 0 if none is sent, None if no price is known."""
    seed: int
    created_at: str
    """ISO 8601, UTC."""

    @property
    def untouched(self) -> tuple[str, ...]:
        """Ids of all questions that the search does not use."""
        return (*self.split.confirming, *self.unscored)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One measured configuration, on questions of the search."""

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    configuration: Configuration
    questions: int
    """Number of questions of the search that it answered."""
    rounds: int
    """Number of rounds that it took part in."""
    score: float
    """Mean of the metric on these questions."""
    gain: float
    """Mean difference from today's configuration on the same questions, above 0 if better."""
    seconds_p50: float | None
    """Median seconds of a retrieval."""
    context_chars: float | None
    """Mean number of characters that a model would read per answer; None for a data set."""
    cost_usd: float
    """Cost of its requests, US dollars per 1,000 questions; 0 if it sends none."""
    on_front: bool
    """Whether no other configuration of the last round is as good, as cheap and as fast, and better in one of these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricChange:
    """Another metric of the winner and of today's configuration, on questions that the search has not seen."""

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    metric: str
    today: float
    winner: float
    low: float
    """Bounds of the 95 % interval of winner minus today; not corrected for the number of metrics."""
    high: float
    questions: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TuneResult:
    """The result of a tune."""

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    tune_id: str
    target: str
    kb_id: str
    metric: str
    min_effect: float
    verdict: Verdict
    recommended: bool
    """Whether to take the winner: only if the confirmation shows it (verdict "better")."""
    today: Configuration
    winner: Configuration | None
    """The best configuration of the search; None if none was better than today's."""
    runner_up: Configuration | None
    today_score: float | None
    """Mean of the metric on the untouched questions; None without a winner, as is ``winner_score``."""
    winner_score: float | None
    against_today: Difference | None
    """On the untouched questions; None without a winner."""
    against_runner_up: Difference | None
    """None without a runner-up that differs from today's configuration."""
    others: tuple[MetricChange, ...]
    trials: tuple[Trial, ...]
    """Today's configuration first, then the others, the best first."""
    rounds: tuple[tuple[int, int], ...]
    """(configurations, questions) of each round as carried out."""
    ended: str
    """"min_effect" if the search ended early because no configuration could gain that much; else ""."""
    searching: int
    confirming: int
    split_by: str
    power: Power
    seconds: float
    """Duration over all attempts."""
    cost_usd: float
    finished_at: str
    """ISO 8601, UTC."""

    @property
    def front(self) -> tuple[Trial, ...]:
        """The Pareto front of quality, cost and latency, the best first."""
        return tuple(trial for trial in self.trials if trial.on_front)


@dataclass(frozen=True, slots=True)
class TuneState:
    """A tune in the list."""

    tune_id: str
    plan: TunePlan
    state: TuneProgress
    job: JobStatus | None
    """State and progress of its background job; None for a tune of the command line."""
    result: TuneResult | None
    """None until it is finished."""
    applied: bool
    """Whether its configuration was applied and not undone since."""


@dataclass(frozen=True, slots=True)
class Application:
    """The effect of applying a configuration to the settings of all chats and runs."""

    tune_id: str
    configuration: Configuration
    changes: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    """Setting -> (value before, value after)."""
    reason: str = ""
    """Why it cannot be applied; "" if it can."""


@dataclass(frozen=True, slots=True)
class Undone:
    """The effect of undoing the latest application."""

    tune_id: str
    restored: dict[str, Any]
    """Setting -> its value again."""
    kept: tuple[str, ...]
    """Settings that were changed since they were applied; they stay as they are."""
