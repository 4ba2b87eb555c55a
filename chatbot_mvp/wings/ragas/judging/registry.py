"""The registry of metrics for data sets of answers, and the function that scores a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.errors import NeedsLanguageModel, UnknownChoice
from chatbot_mvp.judges.asking import total_usage
from chatbot_mvp.llm.base import ChatModel
from chatbot_mvp.metrics.spec import MetricSpec
from chatbot_mvp.wings.ragas import metrics
from chatbot_mvp.wings.ragas.judging import (
    answer_relevancy,
    context_precision,
    context_recall,
    context_relevance,
    faithfulness,
    without_judge,
)
from chatbot_mvp.wings.ragas.judging.model import JudgeOptions, NotScored, Row, Scored
from chatbot_mvp.wings.ragas.judging.prompts import Prompts
from chatbot_mvp.wings.ragas.judging.session import Session

Column = Literal[
    "user_input", "response", "retrieved_contexts", "reference", "retrieved_context_ids", "reference_context_ids"
]


@dataclass(frozen=True, slots=True)
class RagasMetric:
    """One metric. All have the range 0-1, and higher is better."""

    spec: MetricSpec
    """The metric as lists know it. Its name is "ragas_" and the package's name, or this project's own name."""
    title: str
    """Class name in the ragas package; "" for this project's own metrics."""
    columns: tuple[Column, ...]
    """Columns that a row must have; lists may be empty."""
    function: Callable[[Session], float | None]
    """Scores a row. Returns None if there is nothing to judge; raises NotScored."""
    needs_judge: bool = True
    needs_embedder: bool = False

    @property
    def name(self) -> str:
        return self.spec.name


RAGAS_METRICS: dict[str, RagasMetric] = {
    metric.name: metric
    for metric in (
        RagasMetric(
            metrics.LLM_CONTEXT_PRECISION_WITHOUT_REFERENCE,
            "LLMContextPrecisionWithoutReference",
            ("user_input", "response", "retrieved_contexts"),
            context_precision.without_reference,
        ),
        RagasMetric(
            metrics.LLM_CONTEXT_PRECISION_WITH_REFERENCE,
            "LLMContextPrecisionWithReference",
            ("user_input", "reference", "retrieved_contexts"),
            context_precision.with_reference,
        ),
        RagasMetric(
            metrics.CONTEXT_RECALL,
            "LLMContextRecall",
            ("user_input", "retrieved_contexts", "reference"),
            context_recall.recall,
        ),
        RagasMetric(
            metrics.FAITHFULNESS,
            "Faithfulness",
            ("user_input", "response", "retrieved_contexts"),
            faithfulness.faithful,
        ),
        RagasMetric(
            metrics.ANSWER_RELEVANCY,
            "ResponseRelevancy",
            ("user_input", "response"),
            answer_relevancy.relevancy,
            needs_embedder=True,
        ),
        RagasMetric(
            metrics.NV_CONTEXT_RELEVANCE,
            "ContextRelevance",
            ("user_input", "retrieved_contexts"),
            context_relevance.relevance,
        ),
        RagasMetric(
            metrics.ID_BASED_CONTEXT_PRECISION,
            "IDBasedContextPrecision",
            ("retrieved_context_ids", "reference_context_ids"),
            without_judge.precision_by_ids,
            needs_judge=False,
        ),
        RagasMetric(
            metrics.ID_BASED_CONTEXT_RECALL,
            "IDBasedContextRecall",
            ("retrieved_context_ids", "reference_context_ids"),
            without_judge.recall_by_ids,
            needs_judge=False,
        ),
        RagasMetric(
            metrics.LEXICAL_CONTEXT_RECALL,
            "",
            ("retrieved_contexts", "reference"),
            without_judge.lexical_context_recall,
            needs_judge=False,
        ),
        RagasMetric(
            metrics.LEXICAL_FAITHFULNESS,
            "",
            ("response", "retrieved_contexts"),
            without_judge.lexical_faithfulness,
            needs_judge=False,
        ),
        RagasMetric(
            metrics.EMBEDDING_ANSWER_SIMILARITY,
            "",
            ("response", "reference"),
            without_judge.answer_similarity,
            needs_judge=False,
            needs_embedder=True,
        ),
        RagasMetric(
            metrics.EMBEDDING_ANSWER_RELEVANCY,
            "",
            ("user_input", "response"),
            without_judge.answer_relevancy,
            needs_judge=False,
            needs_embedder=True,
        ),
    )
}
"""Name -> metric."""

JUDGED = tuple(name for name, metric in RAGAS_METRICS.items() if metric.needs_judge)
"""The six metrics with a judge, the default of an evaluation that has one."""
UNJUDGED = tuple(name for name, metric in RAGAS_METRICS.items() if not metric.needs_judge)
"""The metrics that need no judge."""

PROMPTS_OF: dict[str, tuple[tuple[str, str], ...]] = {
    "ragas_llm_context_precision_without_reference": (("context_precision", "without_reference"),),
    "ragas_llm_context_precision_with_reference": (("context_precision", "with_reference"),),
    "ragas_context_recall": (("context_recall", "classification"),),
    "ragas_faithfulness": (("faithfulness", "statements"), ("faithfulness", "verdicts")),
    "ragas_answer_relevancy": (("answer_relevancy", "question"),),
    "ragas_nv_context_relevance": (("context_relevance", "first"), ("context_relevance", "second")),
}
"""Judged metric -> keys of its prompts."""

_DEFAULTS = JudgeOptions()


def prompts_of(metrics: Iterable[str]) -> set[tuple[str, str]]:
    """Return the keys of the prompts that metrics use."""
    return {key for metric in metrics for key in PROMPTS_OF.get(metric, ())}


def column_of(metric: str) -> str:
    """Return the name of a metric's column in results: the package's own, without the prefix "ragas_"."""
    return metric.removeprefix("ragas_")


def missing_columns(metric: RagasMetric, row: Row) -> list[Column]:
    """List the required columns that a row lacks or has blank. An empty list of passages or ids counts as present."""
    return [
        name for name in metric.columns
        if (value := getattr(row, name)) is None or (isinstance(value, str) and not value.strip())
    ]  # fmt: skip


def score_row(
    metric: str,
    row: Row,
    judge: ChatModel | None,
    embedder: Embedder | None,
    prompts: Prompts,
    options: JudgeOptions = _DEFAULTS,
) -> Scored:
    """Score a row with a metric. Safe to call from several threads.

    Args:
        metric: a name in ``RAGAS_METRICS``.
        judge, embedder: None if the metric does not need it.
        prompts: prompts in the rows' language, which is also used for word analysis.

    Raises:
        UnknownChoice: there is no such metric.
        NeedsLanguageModel: the metric needs a judge, and there is none or one that can only quote.
        ProviderError: every request would fail. Other provider errors make the row not scored.
        ValueError: the metric needs an embedder and there is none.
    """
    if metric not in RAGAS_METRICS:
        raise UnknownChoice(kind="metric", found=metric, legal=", ".join(RAGAS_METRICS))
    spec = RAGAS_METRICS[metric]
    if spec.needs_judge and (judge is None or judge.needs_evidence):
        raise NeedsLanguageModel(feature=metric, provider=judge.name if judge else "")
    if spec.needs_embedder and embedder is None:
        raise ValueError(f"{metric} needs an embedder")
    if missing := missing_columns(spec, row):
        return Scored(metric, None, "not_scored", "missing_input", ", ".join(missing))
    session = Session(row, judge, embedder, prompts, options)
    try:
        value = spec.function(session)
        if value is None:
            raise NotScored("nothing_to_judge", "there is nothing in the row that the metric could score")
    except NotScored as error:
        return Scored(
            *(metric, None, "not_scored", error.reason, error.problem, session.detail, error.raw),
            *(total_usage(session.completions), session.requests, session.cut),
        )
    usage = total_usage(session.completions)
    return Scored(metric, value, "ok", "", "", session.detail, "", usage, session.requests, session.cut)
