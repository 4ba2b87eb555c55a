"""One query of a run's result, and the figures that rows and results contain."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import MISSING, asdict, dataclass, field, fields
from functools import cache
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, JsonValue

STORED = ConfigDict(strict=True, allow_inf_nan=False, extra="ignore", cache_strings="all")
"""How files are read: no value is converted to another type, and NaN and infinity are refused."""

Metrics = dict[str, float | None]
"""Metric -> score or mean; None: not scored. A metric that does not apply is absent."""
Interval = tuple[float, float]
"""(low, high) of the 95 % percentile bootstrap."""


def _finite(value: JsonValue) -> JsonValue:
    """The value itself. Raises ValueError for NaN or infinity at any depth, which JSON cannot represent."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("Input should be a finite number")
    for part in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _finite(part)
    return value


Detail = dict[str, Annotated[JsonValue, AfterValidator(_finite)]]
"""What a score was made of: statements, verdicts and so on, with keys of the metric's own."""


@dataclass(frozen=True, slots=True)
class SplitFigure:
    """One metric over the queries that share a value of a field."""

    mean: float | None
    scored: int
    total: int
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class RowSpread:
    """The scores of one row and metric over repetitions. None where too few were scored."""

    deviation: float | None
    """Standard deviation of the sample (n - 1)."""
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class MetricSpread:
    """How much a row's score of one metric differs between repetitions."""

    deviation: float
    """Mean over ``rows`` of the standard deviation."""
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRow:
    """One query of ``per_query``. What has a default may be absent from the file."""

    query_id: str
    question: str
    answer: str = ""
    """The reference; "" without one."""
    answer_type: str = ""
    """"label" for yes/no questions, "extractive", or "" if the data set does not say; so the two following."""
    question_type: str = ""
    level: str = ""
    metrics: Metrics
    retrieved: tuple[str, ...] = ()
    """Document ids, the best first; empty in an evaluation of answers, and so ``gold``."""
    gold: tuple[str, ...] = ()
    """Ids of the relevant documents."""
    generation_doc_ids: tuple[str, ...] | None = None
    """Documents that reached the context; None: the run has neither a reranker nor answers."""
    reranked: bool | None = None
    """Whether the reranker answered; None: the run has none."""
    failed: bool = False
    """A phase failed, so that scores are missing."""
    error: str | None = None
    """Why ``failed`` or ``judge_failed``."""
    response: str | None = None
    """None: not answered, or a run of retrieval only."""
    abstained: bool = False
    """The answer is "I don't know"."""
    judge_reasons: dict[str, str] | None = None
    """Judged metric -> the judge's reason; None: the answer was not given to a judge."""
    judge_failed: bool = False
    cause: str = ""
    """A value of ``causes.Cause``; "" in evaluations of answers and in runs of versions that did not write it."""
    status: dict[str, str] = field(default_factory=dict)
    """Of an evaluation of answers, as the following: metric -> "ok" or "not_scored: <reason>"."""
    details: dict[str, Detail] = field(default_factory=dict)
    """Metric -> what its score was made of, or ``problem`` and ``raw`` reply."""
    failed_metrics: tuple[str, ...] = ()
    """Metrics whose last attempt failed."""
    spread: dict[str, RowSpread] = field(default_factory=dict)
    """Metric -> its scores over repetitions; empty for a single one."""


_ALWAYS = frozenset(
    ("query_id", "question", "answer", "answer_type", "question_type", "level", "metrics", "retrieved", "gold")
)


def row_json(row: QueryRow, besides: Collection[str]) -> dict[str, Any]:
    """The row's keys in the file.

    Args:
        besides: fields to write although they are at their default.
    """
    values = stored(row, _ALWAYS.union(besides))
    if row.spread:
        values["spread"] = {name: asdict(found) for name, found in row.spread.items()}
    return values


def stored(item: Any, always: Collection[str]) -> dict[str, Any]:
    """Field -> value of the fields to write: those in ``always``, and all others that differ from their default."""
    kind: Any = type(item)
    return {
        name: value for name, default in _defaults(kind) if (value := getattr(item, name)) != default or name in always
    }


@cache
def _defaults(kind: type) -> tuple[tuple[str, Any], ...]:
    """(field, its default) for every field; the default of a required field equals no value."""
    return tuple(
        (item.name, item.default if item.default_factory is MISSING else item.default_factory())
        for item in fields(kind)
    )
