"""Every metric as data: what it takes, its range, its direction, and the keys of its texts in the catalogues."""

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
"""The metrics of data sets of answers; ``judging.ragas`` scores them."""

ANSWER_METRICS: dict[str, Callable[[AnswerCase], float | None]] = {
    "generation_score": generation_score,
    "f1": answer_f1,
    "exact_match": exact_match,
    "accuracy": label_accuracy,
    "answer_contains": answer_contains,
}
"""Name -> function over one answered question."""


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One metric."""

    name: str
    """As it stands in run records and exports ("recall@5")."""
    takes: Input
    """ranking: (ranking before reranking, qrels); context: (documents of the context, qrels); answer: an AnswerCase;
    judged: a judge's reply, so that there is no function; vectors: (answer, reference) embedded; run: all queries of a
    run at once, so that it has no value per query."""
    function: Callable[..., float | int | None] | None
    k: int | None = None
    """Cutoff, if it has one."""
    low: float = 0.0
    high: float | None = 1.0
    """Largest value; None: no bound."""
    higher_is_better: bool = True

    @property
    def family(self) -> str:
        """The name without its cutoff; ``metric_label.<family>`` and ``metric_help.<family>`` are its texts."""
        return self.name.partition("@")[0]

    @property
    def label_key(self) -> str:
        return f"metric_label.{self.family}"

    @property
    def help_key(self) -> str:
        return f"metric_help.{self.family}"

    @property
    def worst(self) -> float:
        """What a failed query counts as in the reading that does not leave it out."""
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
"""Name -> what it is."""

COMPARED = (
    *RAGAS_NAMES,
    *("hit@1", "recall@5", "recall@10", "all_gold@5", "ndcg@10", "mrr", "map"),
    *("generation_recall", "generation_score", "f1", "exact_match", "accuracy", "faithfulness", "semantic_similarity"),
)
"""What two runs are compared by unless asked otherwise.

Few, since Holm's correction charges for each: hit@1, precision@1 and ndcg@1 of binary judgements are one metric under
three names, and a complement has its metric's p.
"""
