"""Types of a run's result: the row of one query, and the figures that rows and results contain."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, JsonValue

from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.storage.limits import Count, Figure, Name, Text
from chatbot_mvp.types import PastTurn

STORED = ConfigDict(strict=True, allow_inf_nan=False, extra="ignore", cache_strings="all")
"""Pydantic configuration for reading files: values are not converted to other types; NaN and infinity are errors."""

Metrics = dict[Name, Figure | None]
"""Metric -> score or mean; None means not scored. A metric that does not apply is absent."""
Interval = tuple[Figure, Figure]
"""(low, high) of the 95 % bootstrap interval."""


def _usable(value: JsonValue) -> JsonValue:
    """Return the value unchanged. Raises ValueError for a number at any depth that JSON or a table cannot hold."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("Input should be a finite number")
    if isinstance(value, int) and abs(value) > _LARGEST:
        raise ValueError(f"Input should be at most {_LARGEST}")
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _usable(part)
    return value


_LARGEST = 2**63 - 1
Recorded = dict[str, Annotated[Any, AfterValidator(_usable)]]
"""Values of settings, and what a run over a knowledge base or an evaluation of answers was made of."""
Detail = dict[str, Annotated[JsonValue, AfterValidator(_usable)]]
"""How a score was obtained, such as statements and verdicts. Each metric defines its own keys."""


@dataclass(frozen=True, slots=True)
class SplitFigure:
    """Figures of one metric over a group of queries with the same value of a field."""

    mean: Figure | None
    scored: Count
    total: Count
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class RowSpread:
    """Spread of one row's scores of a metric over repeats. Fields are None if too few repeats were scored."""

    deviation: Figure | None
    """Sample standard deviation (divided by n - 1)."""
    low: Figure | None
    high: Figure | None


@dataclass(frozen=True, slots=True)
class MetricSpread:
    """How much the scores of one metric differ between repeats, over all rows."""

    deviation: Figure
    """Mean over ``rows`` of the standard deviation."""
    rows: Count


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its 95 % bootstrap interval over the rows; None if the rows do not determine it."""

    value: Figure | None
    low: Figure | None
    high: Figure | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of a judge with human labels. All figures are over the rows that the judge scored."""

    rows: Count
    scored: Count
    threshold: Figure
    """Score (0-1) from which the judge's verdict counts as "faithful"."""
    accuracy: Estimate
    """Share of the rows with equal verdict and label, 0-1."""
    kappa: Estimate
    """Cohen's κ (1960), agreement beyond chance, -1 to 1: 1 is perfect, 0 is chance."""
    precision: Estimate
    """Share of the rows that the judge calls faithful that people also do, 0-1."""
    recall: Estimate
    """Share of the rows that people call faithful that the judge also does, 0-1."""
    found: Mapping[Name, tuple[Count, Count]]
    """Kind of error -> (unfaithful rows that the judge detected, unfaithful rows that it scored)."""

    @property
    def not_scored(self) -> int:
        return self.rows - self.scored


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRow:
    """One query of ``RunResult.per_query``.

    A field with a default is written only for the queries that have it, because a run has thousands of rows.
    """

    query_id: Name
    question: Text
    answer: Text
    """The reference answer; "" if there is none."""
    answer_type: Name
    """Kind of question: "label" for yes/no, "extractive", or "" if the data set does not say. ``question_type``
    and ``level`` are "" in that case, too."""
    question_type: Name
    level: Name
    metrics: Metrics
    retrieved: tuple[Name, ...]
    """Document ids, best first. Empty in an evaluation of answers, as is ``gold``."""
    gold: tuple[Name, ...]
    """Ids of the relevant documents."""
    generation_doc_ids: tuple[Name, ...] | None = None
    """Ids of the documents in the context; None if the run has neither a reranker nor answers."""
    reranked: bool | None = None
    """Whether the reranker succeeded; None if the run has no reranker."""
    pre_rerank_candidate_ids: tuple[Name, ...] = ()
    """Ids of the documents that were sent to the reranker, in their order before it; empty if nothing was sent."""
    history: tuple[PastTurn, ...] = ()
    """The conversation before the question, oldest turn first."""
    failed: bool = False
    """True if a phase failed, so that scores are missing."""
    error: Text | None = None
    """Reason why ``failed`` or ``judge_failed`` is set."""
    response: Text | None = None
    """The generated answer; None if there is none, or in a run with retrieval only."""
    abstained: bool = False
    """True if the answer is "I don't know"."""
    judge_reasons: dict[Name, Text] | None = None
    """Judged metric -> the judge's reason; None if the answer was not judged."""
    judge_failed: bool = False
    evidence: Figure | None = None
    """Evidence score of the retrieval, 0-1, in a KB run; None in other runs or if the retrieval failed."""
    cause: Name = ""
    """A value of ``causes.Cause``; "" in evaluations of answers."""
    status: dict[Name, Name] = field(default_factory=dict)
    """Metric -> "ok" or "not_scored: <reason>". This and the following fields are used in evaluations of answers."""
    details: dict[Name, Detail] = field(default_factory=dict)
    """Metric -> how its score was obtained; for an unusable reply the keys ``problem`` and ``raw``."""
    failed_metrics: tuple[Name, ...] = ()
    """Names of the metrics whose last attempt failed."""
    spread: dict[Name, RowSpread] = field(default_factory=dict)
    """Metric -> spread of its scores over repeats; empty for a single repeat."""

    @property
    def has_failed(self) -> bool:
        """Whether any part of the question failed."""
        return self.failed or self.judge_failed or bool(self.failed_metrics)

    def score(self, metric: str) -> float | None:
        """Return the score; the metric's worst score if the question failed, None if it is not scored."""
        value = self.metrics.get(metric)
        if value is None and metric in self.metrics and self.has_failed:
            return METRICS[metric].worst
        return value


OF_RAG_P = "retrieved_doc_ids"
"""RAG_P's name of ``QueryRow.retrieved``: written beside it for scripts that know it, and not read."""


def row_json(row: QueryRow, besides: Collection[str]) -> dict[str, Any]:
    """Return the row as the JSON object that is written to the file.

    Args:
        besides: fields to write even if they have their default value.
    """
    values = {name: value for name, default in _DEFAULTS if (value := getattr(row, name)) != default or name in besides}
    if row.retrieved:
        values[OF_RAG_P] = row.retrieved
    if row.history:
        values["history"] = [asdict(turn) for turn in row.history]
    if row.spread:
        values["spread"] = {name: asdict(found) for name, found in row.spread.items()}
    return values


_DEFAULTS = tuple(
    (item.name, item.default if item.default_factory is MISSING else item.default_factory())
    for item in fields(QueryRow)
)
"""(field, default) of every field of a row. The default of a required field is unequal to any value."""
