"""Specification of a metric: its input, range and direction, and where it is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from chatbot_mvp.metrics.relevance import CUTOFFS, Qrels, Ranking

Input = Literal["ranking", "context", "decision", "run", "answer", "judge", "vectors", "row"]
"""The input of a metric.

ranking: the ranked documents of a query before reranking, and its qrels.
context: the documents that reached the generator, and the qrels; only runs with a reranker or with answers have them.
decision: the kind of a question about a knowledge base, its evidence and the threshold; only KB runs have them.
run: all queries of a run at once, so that there is no value per query.
answer: an ``AnswerCase``.
judge: an answer and its passages; a language model gives the score.
vectors: the unit vectors of an answer and of its reference.
row: a row of given answers; whoever adds the kind of run scores it.
"""

Section = Literal["retrieval", "context", "decision", "run", "answers", "judge", "rows"]
_SECTIONS: Mapping[Input, Section] = {
    "ranking": "retrieval",
    "context": "context",
    "decision": "decision",
    "run": "run",
    "answer": "answers",
    "vectors": "answers",
    "judge": "judge",
    "row": "rows",
}

ShownIn = Literal["compared", "tile", "column", "answer_column"]
"""Where a metric can be shown by default.

compared: in comparisons of runs. tile: as a tile at the top of a run's page. column: in the table of queries of a run
without answers. answer_column: in the table of queries of a run with answers.
"""


@dataclass(frozen=True, slots=True)
class Shown:
    """Where a metric is shown by default. Files and complete lists always contain all metrics of a run."""

    order: int
    """Sort key of metrics that are shown together, ascending; ties keep the order of the registry."""
    places: tuple[ShownIn, ...]


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One metric. Columns, sections, legal values of settings and texts are derived from this object."""

    name: str
    """Name in run records and exports ("recall@5")."""
    takes: Input
    function: Callable[..., float | int | None] | None = None
    """Computes the score from the metric's input; None for "judge" and "row", which are scored elsewhere."""
    k: int | None = None
    """Cutoff; None for a metric without a cutoff."""
    low: float = 0.0
    high: float | None = 1.0
    """Largest value; None for no upper bound."""
    higher_is_better: bool = True
    answer_type: Literal["", "label", "extractive"] = ""
    """For an "answer" metric, the kind of question to which the metric applies; "" for all."""
    judged_by_default: bool = False
    """For a "judge" metric, whether to score it if JUDGE_METRICS is not set. Each costs one request per answer."""
    shown: Shown | None = None
    instructions: Mapping[str, str] = field(default_factory=dict, hash=False)
    """For an added "judge" metric, what the judge is asked to do: "es" and "en" -> text. ``{fence}`` in it is the name
    of the fence around the data. The instructions of the program's own metrics are among its prompts."""

    @property
    def family(self) -> str:
        """The name without the cutoff."""
        return self.name.partition("@")[0]

    @property
    def section(self) -> Section:
        """The group in which the metric is printed."""
        return _SECTIONS[self.takes]

    @property
    def worst(self) -> float:
        """The score that a failed query gets in the mean that includes failures."""
        return self.low if self.higher_is_better or self.high is None else self.high

    def score(self, *given: Any) -> float | None:
        """Compute the score from the metric's input; None means not scored.

        Raises:
            TypeError: the metric has no function, since a judge scores it.
        """
        if self.function is None:
            raise TypeError(f"{self.name!r} is scored by a judge and has no function")
        return self.function(*given)

    def applies_to(self, is_label: bool) -> bool:
        """Return whether the metric applies to yes/no questions (``is_label``) or to all others."""
        return self.answer_type in ("", "label" if is_label else "extractive")


def refusal(spec: MetricSpec) -> str:
    """Return why a metric that is added cannot be used; "" if it can."""
    if spec.takes == "judge":
        if missing := [language for language in ("es", "en") if not spec.instructions.get(language)]:
            return f"a metric of a judge needs instructions in {' and '.join(missing)}"
        if spec.judged_by_default:
            return "an added metric costs requests only where JUDGE_METRICS names it; leave out judged_by_default"
    elif spec.takes != "row" and spec.function is None:
        return f"a metric that takes {spec.takes!r} needs a function"
    return ""


def at_cutoffs(
    family: str,
    function: Callable[[int, Ranking, Qrels], float | None],
    cutoffs: tuple[int, ...] = CUTOFFS,
    *,
    higher_is_better: bool = True,
    shown: Mapping[int, Shown] | None = None,
) -> tuple[MetricSpec, ...]:
    """Return one ranking metric per cutoff ("recall@1", "recall@5", …).

    Args:
        function: called with the cutoff, the ranking and the qrels.
        shown: cutoff -> where that metric is shown.
    """
    return tuple(
        MetricSpec(
            f"{family}@{k}",
            "ranking",
            partial(function, k),
            k,
            higher_is_better=higher_is_better,
            shown=(shown or {}).get(k),
        )
        for k in cutoffs
    )


def shown_in(place: ShownIn, specs: Mapping[str, MetricSpec]) -> tuple[str, ...]:
    """Return the names of the metrics shown in a place, in display order."""
    found = [spec for spec in specs.values() if spec.shown and place in spec.shown.places]
    return tuple(spec.name for spec in sorted(found, key=lambda spec: spec.shown.order if spec.shown else 0))
