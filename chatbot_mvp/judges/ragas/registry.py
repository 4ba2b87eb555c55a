"""The metrics of a data set of answers: what each needs, and how a row is scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.errors import NeedsLanguageModel, UnknownChoice
from chatbot_mvp.judges.asking import total_usage
from chatbot_mvp.judges.ragas import (
    answer_relevancy,
    context_precision,
    context_recall,
    context_relevance,
    faithfulness,
    without_judge,
)
from chatbot_mvp.judges.ragas.model import JudgeOptions, NotScored, Row, Scored
from chatbot_mvp.judges.ragas.prompts import Prompts
from chatbot_mvp.judges.ragas.session import Session
from chatbot_mvp.llm.base import ChatModel
from chatbot_mvp.metrics.spec import MetricSpec, Shown

Column = Literal[
    "user_input", "response", "retrieved_contexts", "reference", "retrieved_context_ids", "reference_context_ids"
]

_SHOWN = Shown(0, ("compared",))


@dataclass(frozen=True, slots=True)
class RagasMetric:
    """One metric. All are better the higher they are, and of the range 0-1."""

    name: str
    """The column's: what the package calls it behind "ragas_", or a name of our own."""
    title: str
    """The package's class; "" for one of our own."""
    columns: tuple[Column, ...]
    """Of a row, those that it needs; lists may be empty."""
    function: Callable[[Session], float | None]
    """Raises NotScored; None: nothing to judge."""
    needs_judge: bool = True
    needs_embedder: bool = False

    @property
    def spec(self) -> MetricSpec:
        """The metric as lists, comparisons and catalogues know it."""
        return MetricSpec(self.name, "row", shown=_SHOWN)


RAGAS_METRICS: dict[str, RagasMetric] = {
    metric.name: metric
    for metric in (
        RagasMetric(
            "ragas_llm_context_precision_without_reference",
            "LLMContextPrecisionWithoutReference",
            ("user_input", "response", "retrieved_contexts"),
            context_precision.without_reference,
        ),
        RagasMetric(
            "ragas_llm_context_precision_with_reference",
            "LLMContextPrecisionWithReference",
            ("user_input", "reference", "retrieved_contexts"),
            context_precision.with_reference,
        ),
        RagasMetric(
            "ragas_context_recall",
            "LLMContextRecall",
            ("user_input", "retrieved_contexts", "reference"),
            context_recall.recall,
        ),
        RagasMetric(
            "ragas_faithfulness",
            "Faithfulness",
            ("user_input", "response", "retrieved_contexts"),
            faithfulness.faithful,
        ),
        RagasMetric(
            "ragas_answer_relevancy",
            "ResponseRelevancy",
            ("user_input", "response"),
            answer_relevancy.relevancy,
            needs_embedder=True,
        ),
        RagasMetric(
            "ragas_nv_context_relevance",
            "ContextRelevance",
            ("user_input", "retrieved_contexts"),
            context_relevance.relevance,
        ),
        RagasMetric(
            "ragas_id_based_context_precision",
            "IDBasedContextPrecision",
            ("retrieved_context_ids", "reference_context_ids"),
            without_judge.precision_by_ids,
            needs_judge=False,
        ),
        RagasMetric(
            "ragas_id_based_context_recall",
            "IDBasedContextRecall",
            ("retrieved_context_ids", "reference_context_ids"),
            without_judge.recall_by_ids,
            needs_judge=False,
        ),
        RagasMetric(
            "lexical_context_recall",
            "",
            ("retrieved_contexts", "reference"),
            without_judge.lexical_context_recall,
            needs_judge=False,
        ),
        RagasMetric(
            "lexical_faithfulness",
            "",
            ("response", "retrieved_contexts"),
            without_judge.lexical_faithfulness,
            needs_judge=False,
        ),
        RagasMetric(
            "embedding_answer_similarity",
            "",
            ("response", "reference"),
            without_judge.answer_similarity,
            needs_judge=False,
            needs_embedder=True,
        ),
        RagasMetric(
            "embedding_answer_relevancy",
            "",
            ("user_input", "response"),
            without_judge.answer_relevancy,
            needs_judge=False,
            needs_embedder=True,
        ),
    )
}
"""Name -> what it is."""

JUDGED = tuple(name for name, metric in RAGAS_METRICS.items() if metric.needs_judge)
"""The six that an evaluation with a judge has unless asked otherwise."""
UNJUDGED = tuple(name for name, metric in RAGAS_METRICS.items() if not metric.needs_judge)
"""Those that need none."""

_DEFAULTS = JudgeOptions()


def missing_columns(metric: RagasMetric, row: Row) -> list[Column]:
    """What the metric needs and the row has not, or has only blank; an empty list of passages or ids is there."""
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
    """A metric's score of a row. Safe to call from threads.

    Args:
        metric: a name of ``RAGAS_METRICS``.
        judge, embedder: None where no metric that is asked for needs one.
        prompts: of the rows' language, which words are analysed in as well.

    Raises:
        UnknownChoice: no such metric.
        NeedsLanguageModel: the metric needs a judge and there is none, or one that can only quote.
        ProviderError: one that no request would survive; any other is a row not scored.
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
