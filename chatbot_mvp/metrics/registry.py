"""The metrics of runs, one row each. Everything else about a metric is derived from its row.

A row stands in ``OWN``, whose order results keep, or, behind those, in ``METRICS`` of a file of ``metrics.answers`` or
``metrics.ranking``: such a file is found, and a new metric needs no other one.

All ranking metrics are in 0-1 and None (*not scored*) for a query without relevant documents. A document is relevant
when its qrel is above 0. Tested against ir_measures on random runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pkgutil import iter_modules

from chatbot_mvp.metrics import answers, ranking
from chatbot_mvp.metrics.answers.accuracy import (
    answer_contains,
    answer_f1,
    exact_match,
    generation_score,
    label_accuracy,
)
from chatbot_mvp.metrics.answers.semantic_similarity import semantic_similarity
from chatbot_mvp.metrics.decisions import accepted, false_tick, refused, solved, useful
from chatbot_mvp.metrics.ranking.generation_context import generation_hit, generation_recall, reranker_rescue_count
from chatbot_mvp.metrics.ranking.measures import (
    all_gold_at,
    average_precision,
    complement_recall_at,
    hit_at,
    ndcg_at,
    precision_at,
    recall_at,
    reciprocal_rank,
)
from chatbot_mvp.metrics.relevance import CUTOFFS
from chatbot_mvp.metrics.spec import Input, MetricSpec, Shown, at_cutoffs, refusal, shown_in
from chatbot_mvp.plugins.registry import Names, Registry

# Few metrics are compared, because Holm's correction raises p for each added one. Redundant metrics are left out: with
# binary judgements hit@1, precision@1 and ndcg@1 are equal, and a complement has the same p as its metric.
OWN: tuple[MetricSpec, ...] = (
    *at_cutoffs("hit", hit_at, shown={1: Shown(10, ("compared", "tile"))}),
    *at_cutoffs(
        "recall",
        recall_at,
        (1, 2, *CUTOFFS[1:]),
        shown={5: Shown(20, ("compared", "tile", "column", "answer_column")), 10: Shown(30, ("compared",))},
    ),
    MetricSpec("mrr", "ranking", reciprocal_rank, shown=Shown(60, ("compared", "tile", "column"))),
    *at_cutoffs("ndcg", ndcg_at, shown={10: Shown(50, ("compared", "tile", "column"))}),
    *at_cutoffs("precision", precision_at),
    MetricSpec("map", "ranking", average_precision, shown=Shown(70, ("compared",))),
    *at_cutoffs("all_gold", all_gold_at, shown={5: Shown(40, ("compared",))}),
    *at_cutoffs("complement_recall", complement_recall_at, higher_is_better=False),
    MetricSpec("generation_recall", "context", generation_recall, shown=Shown(80, ("compared",))),
    MetricSpec("generation_hit", "context", generation_hit),
    MetricSpec("solved", "decision", solved, shown=Shown(81, ("compared", "tile", "column"))),
    MetricSpec("false_tick", "decision", false_tick, higher_is_better=False, shown=Shown(81, ("tile",))),
    MetricSpec("accepted", "decision", accepted, shown=Shown(82, ("compared", "tile", "column"))),
    MetricSpec("refused", "decision", refused, shown=Shown(84, ("compared", "tile", "column"))),
    MetricSpec("useful", "decision", useful, shown=Shown(86, ("compared", "tile", "column"))),
    MetricSpec("reranker_rescue_count", "run", reranker_rescue_count, high=None),
    MetricSpec("generation_score", "answer", generation_score, shown=Shown(90, ("compared", "tile", "answer_column"))),
    MetricSpec("f1", "answer", answer_f1, shown=Shown(100, ("compared",))),
    MetricSpec("exact_match", "answer", exact_match, shown=Shown(110, ("compared",))),
    MetricSpec("accuracy", "answer", label_accuracy, answer_type="label", shown=Shown(120, ("compared",))),
    MetricSpec("answer_contains", "answer", answer_contains, answer_type="extractive", shown=Shown(125, ("tile",))),
    MetricSpec(
        "faithfulness", "judge", judged_by_default=True, shown=Shown(130, ("compared", "tile", "answer_column"))
    ),
    MetricSpec("context_utilization", "judge", judged_by_default=True),
    MetricSpec("semantic_similarity", "vectors", semantic_similarity, shown=Shown(140, ("compared", "tile"))),
)


def _in_files() -> Iterator[MetricSpec]:
    for package in (answers, ranking):
        for found in iter_modules(package.__path__, f"{package.__name__}."):
            yield from getattr(import_module(found.name), "METRICS", ())


METRICS: Mapping[str, MetricSpec] = Registry("metric", MetricSpec, (*OWN, *_in_files()), refusal)
"""Name -> specification, in the order in which results list the metrics."""


COMPARED: Sequence[str] = Names(lambda: shown_in("compared", METRICS))
"""Names of the metrics by which runs are compared by default."""


def metrics_of(takes: Input) -> dict[str, MetricSpec]:
    """Return name -> specification of the metrics with this input, in the registry's order."""
    return {name: spec for name, spec in METRICS.items() if spec.takes == takes}


def ranking_metrics(depth: int) -> dict[str, MetricSpec]:
    """Return the metrics for a ranking of ``depth`` documents; metrics with a larger cutoff are left out."""
    return {name: spec for name, spec in metrics_of("ranking").items() if spec.k is None or spec.k <= depth}


JUDGE_METRICS: Sequence[str] = Names(lambda: metrics_of("judge"))
"""Names of the metrics by which a language model can score an answer in a run."""
