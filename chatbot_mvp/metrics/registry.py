"""The registry of all metrics: input, range, direction, and the keys of their texts in the translations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from chatbot_mvp.metrics.answers.accuracy import answer_contains, generation_score, label_accuracy
from chatbot_mvp.metrics.answers.exact_match import exact_match
from chatbot_mvp.metrics.answers.f1 import answer_f1
from chatbot_mvp.metrics.answers.semantic_similarity import semantic_similarity
from chatbot_mvp.metrics.answers.text import AnswerCase
from chatbot_mvp.metrics.ranking.family import CONTEXT_METRICS, RANKING_METRICS
from chatbot_mvp.metrics.ranking.generation_context import reranker_rescue_count

Input = Literal["ranking", "context", "answer", "judged", "vectors", "run"]

RAGAS_NAMES = (
    "ragas_llm_context_precision_without_reference",
    "ragas_llm_context_precision_with_reference",
    *("ragas_context_recall", "ragas_faithfulness", "ragas_answer_relevancy", "ragas_nv_context_relevance"),
    *("ragas_id_based_context_precision", "ragas_id_based_context_recall"),
    *("lexical_context_recall", "lexical_faithfulness", "embedding_answer_similarity", "embedding_answer_relevancy"),
)
"""The metrics of data sets of answers; ``judges.ragas`` scores them."""

ANSWER_METRICS: dict[str, Callable[[AnswerCase], float | None]] = {
    "generation_score": generation_score,
    "f1": answer_f1,
    "exact_match": exact_match,
    "accuracy": label_accuracy,
    "answer_contains": answer_contains,
}
"""Name -> function that scores one answered question."""


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One metric."""

    name: str
    """Name in run records and exports ("recall@5")."""
    takes: Input
    """ranking: (ranking before reranking, qrels); context: (documents in the context, qrels); answer: an AnswerCase;
    judged: a judge's reply, without a function; vectors: (answer, reference) embedded; run: all queries of a run
    together, without values per query."""
    function: Callable[..., float | int | None] | None
    k: int | None = None
    """Cutoff; None if it has none."""
    low: float = 0.0
    """Smallest value."""
    high: float | None = 1.0
    """Largest value; None if unbounded."""
    higher_is_better: bool = True

    @property
    def family(self) -> str:
        """The name without its cutoff, as in the text keys ``metric_label.<family>`` and ``metric_help.<family>``."""
        return self.name.partition("@")[0]

    @property
    def label_key(self) -> str:
        return f"metric_label.{self.family}"

    @property
    def help_key(self) -> str:
        return f"metric_help.{self.family}"

    @property
    def worst(self) -> float:
        """The value that a failed query gets in the mean that includes failures."""
        return self.low if self.higher_is_better or self.high is None else self.high


def _k(name: str) -> int | None:
    _, _, k = name.partition("@")
    return int(k) if k else None


METRICS: dict[str, MetricSpec] = {
    spec.name: spec
    for spec in (
        *(
            MetricSpec(name, "ranking", function, _k(name), higher_is_better=not name.startswith("complement_"))
            for name, function in RANKING_METRICS.items()
        ),
        *(MetricSpec(name, "context", function) for name, function in CONTEXT_METRICS.items()),
        MetricSpec("reranker_rescue_count", "run", reranker_rescue_count, high=None),
        *(MetricSpec(name, "answer", function) for name, function in ANSWER_METRICS.items()),
        *(MetricSpec(name, "judged", None) for name in ("faithfulness", "context_utilization")),
        MetricSpec("semantic_similarity", "vectors", semantic_similarity),
        *(MetricSpec(name, "judged", None) for name in RAGAS_NAMES),
    )
}
"""Name -> metric."""

COMPARED = (
    *RAGAS_NAMES,
    *("hit@1", "recall@5", "recall@10", "all_gold@5", "ndcg@10", "mrr", "map"),
    *("generation_recall", "generation_score", "f1", "exact_match", "accuracy", "faithfulness", "semantic_similarity"),
)
"""The default metrics of a comparison of runs.

The list is short because Holm's correction makes each further metric costly. Redundant metrics are left out: for binary
judgements hit@1, precision@1 and ndcg@1 are equal, and a complement has the p of its metric.
"""
