"""The registry of metrics for data sets of answers, and the function that scores a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.errors import NeedsLanguageModel, UnknownChoice
from chatbot_mvp.judges.asking import total_usage
from chatbot_mvp.llm.base import ChatModel
from chatbot_mvp.wings.ragas.judging import scoring
from chatbot_mvp.wings.ragas.judging.model import JudgeOptions, NotScored, Reason, Row, Scored
from chatbot_mvp.wings.ragas.judging.prompts import Prompts
from chatbot_mvp.wings.ragas.judging.session import Session

Column = Literal[
    "user_input", "response", "retrieved_contexts", "reference", "retrieved_context_ids", "reference_context_ids"
]


_ANSWERED: tuple[Column, ...] = ("user_input", "response", "retrieved_contexts")
_IDS: tuple[Column, ...] = ("retrieved_context_ids", "reference_context_ids")


@dataclass(frozen=True, slots=True)
class RagasMetric:
    """One metric. All have the range 0-1, and higher is better."""

    name: str
    """"ragas_" and the package's name, or this project's own name. ``ragas.metrics`` tells lists about it."""
    title: str
    """Class name in the ragas package; "" for this project's own metrics."""
    columns: tuple[Column, ...]
    """Columns that a row must have; lists may be empty."""
    function: Callable[[Session], float | None]
    """Scores a row. Returns None if there is nothing to judge; raises NotScored."""
    prompts: tuple[tuple[str, str], ...] = ()
    """Keys of the prompts that a judge is asked with; empty for a metric without a judge."""
    needs_embedder: bool = False

    @property
    def needs_judge(self) -> bool:
        return bool(self.prompts)


RAGAS_METRICS: dict[str, RagasMetric] = {
    metric.name: metric
    for metric in (
        RagasMetric(
            "ragas_llm_context_precision_without_reference",
            "LLMContextPrecisionWithoutReference",
            _ANSWERED,
            scoring.precision_without_reference,
            (("context_precision", "without_reference"),),
        ),
        RagasMetric(
            "ragas_llm_context_precision_with_reference",
            "LLMContextPrecisionWithReference",
            ("user_input", "reference", "retrieved_contexts"),
            scoring.precision_with_reference,
            (("context_precision", "with_reference"),),
        ),
        RagasMetric(
            "ragas_context_recall",
            "LLMContextRecall",
            ("user_input", "retrieved_contexts", "reference"),
            scoring.recall,
            (("context_recall", "classification"),),
        ),
        RagasMetric(
            "ragas_faithfulness",
            "Faithfulness",
            _ANSWERED,
            scoring.faithful,
            (("faithfulness", "statements"), ("faithfulness", "verdicts")),
        ),
        RagasMetric(
            "ragas_answer_relevancy",
            "ResponseRelevancy",
            ("user_input", "response"),
            scoring.relevancy,
            (("answer_relevancy", "question"),),
            needs_embedder=True,
        ),
        RagasMetric(
            "ragas_nv_context_relevance",
            "ContextRelevance",
            ("user_input", "retrieved_contexts"),
            scoring.relevance,
            (("context_relevance", "first"), ("context_relevance", "second")),
        ),
        RagasMetric("ragas_id_based_context_precision", "IDBasedContextPrecision", _IDS, scoring.precision_by_ids),
        RagasMetric("ragas_id_based_context_recall", "IDBasedContextRecall", _IDS, scoring.recall_by_ids),
        RagasMetric("lexical_context_recall", "", ("retrieved_contexts", "reference"), scoring.lexical_context_recall),
        RagasMetric("lexical_faithfulness", "", ("response", "retrieved_contexts"), scoring.lexical_faithfulness),
        RagasMetric(
            "embedding_answer_similarity",
            "",
            ("response", "reference"),
            scoring.answer_similarity,
            needs_embedder=True,
        ),
        RagasMetric(
            "embedding_answer_relevancy",
            "",
            ("user_input", "response"),
            scoring.answer_relevancy,
            needs_embedder=True,
        ),
    )
}
"""Name -> metric."""

JUDGED = tuple(name for name, metric in RAGAS_METRICS.items() if metric.needs_judge)
"""The six metrics with a judge, the default of an evaluation that has one."""
UNJUDGED = tuple(name for name, metric in RAGAS_METRICS.items() if not metric.needs_judge)
"""The metrics that need no judge."""

_DEFAULTS = JudgeOptions()


def prompts_of(metrics: Iterable[str]) -> set[tuple[str, str]]:
    """Return the keys of the prompts that metrics use."""
    return {key for metric in metrics for key in RAGAS_METRICS[metric].prompts}


def column_of(metric: str) -> str:
    """Return the name of a metric's column in results: the package's own, without the prefix "ragas_"."""
    return metric.removeprefix("ragas_")


def missing_columns(metric: RagasMetric, row: Row) -> list[Column]:
    """List the required columns that a row lacks or has blank. An empty list of passages or ids counts as present."""
    values = {name: getattr(row, name) for name in metric.columns}
    return [name for name, value in values.items() if value is None or (isinstance(value, str) and not value.strip())]


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
        return Scored(metric, None, "missing_input", ", ".join(missing))
    session = Session(row, judge, embedder, prompts, options)

    def scored(value: float | None, reason: Reason = "", problem: str = "", raw: str = "") -> Scored:
        usage = total_usage(session.completions)
        return Scored(metric, value, reason, problem, session.detail, raw, usage, session.requests)

    try:
        value = spec.function(session)
    except NotScored as error:
        return scored(None, error.reason, error.problem, error.raw)
    if value is None:
        return scored(None, "nothing_to_judge", "there is nothing in the row that the metric could score")
    return scored(value)
