"""What a run searches, and how the metrics score what it finds.

``RunCorpus`` is a data set of passages. ``evaluation.kb.corpus.KbCorpus`` is a knowledge base with its questions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from chatbot_mvp.chat.followup import Search
from chatbot_mvp.datasets import Dataset, Query
from chatbot_mvp.datasets.sampling import Sample, sample
from chatbot_mvp.documents.chunking import Passages, passage_chunk
from chatbot_mvp.llm.base import ChatModel, Completion
from chatbot_mvp.metrics.registry import ranking_metrics
from chatbot_mvp.retrieval.factory import PipelineFactory
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.runs.figures import context_metrics
from chatbot_mvp.runs.kinds import BENCHMARK
from chatbot_mvp.runs.payloads import Retrieved
from chatbot_mvp.runs.records import QueryRecord, RunFolder
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.rows import Metrics
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk, ProgressCallback, last

_TOGETHER = 32


@dataclass(frozen=True, slots=True)
class Scored:
    """The ranking of one query as the metrics score it."""

    ranking: tuple[str, ...]
    """Ids of documents, best first."""
    gold: tuple[str, ...]
    """Ids of the relevant documents."""
    metrics: Metrics
    evidence: float | None = None
    """Evidence score (0-1) on which the decisions of a KB run are based."""


@dataclass(frozen=True)
class RunCorpus:
    """A data set of passages. Each passage is one chunk with the id of its document."""

    dataset: Dataset

    kind: ClassVar[str] = BENCHMARK
    """Kind of the runs over this corpus."""
    judged_only: ClassVar[bool] = True
    """True to measure only the queries with a judgement."""
    keeps_context: ClassVar[bool] = False
    """True to record the context of every query, even in a run without reranker and answers."""

    @property
    def batch(self) -> int:
        """Number of queries searched together between two fsyncs, which is the most that a crash can lose."""
        return _TOGETHER

    def sampled(self, settings: Settings) -> tuple[RunCorpus, Sample]:
        """Return the part that a run with ``settings`` measures, and how it was sampled.

        Raises:
            InvalidSetting, NothingScored (nothing_to_score)
        """
        cut = sample(self.dataset, settings, self.judged_only)
        return replace(self, dataset=cut.dataset), cut

    def language(self, settings: Settings) -> str:
        """Return RETRIEVAL_BM25_LANGUAGE, or the language detected in the corpus."""
        return settings.retrieval_bm25_language or self.dataset.language

    def lock_path(self, settings: Settings) -> Path:
        """Return the lock that is shared by all runs of which only one may work at a time."""
        return settings.run_lock_path

    def chunks(self) -> Sequence[Chunk]:
        """Return what the pipeline indexes, in the order of the corpus."""
        passages = Passages(self.dataset.documents, self.dataset.rows, self.dataset.chars)
        # Making the 150 candidates of a question anew takes about as long as finding them.
        return list(passages) if self.dataset.in_memory else passages

    def passages(self, doc_ids: Iterable[str]) -> list[Chunk]:
        """Return the chunks of a context by the ids that records store."""
        return [passage_chunk(self.dataset.documents[self.dataset.rows[doc_id]]) for doc_id in doc_ids]

    def pipeline(
        self,
        factory: PipelineFactory,
        settings: Settings,
        progress: ProgressCallback,
        on_reply: Callable[[Completion], None],
    ) -> Pipeline:
        """Build the pipeline that the run measures, or load it. Arguments and errors are those of ``factory.grow``."""
        return last(factory.grow(self.chunks(), self.language(settings), settings, progress, on_reply=on_reply))

    def notes(
        self, query: Query, found: Search, pipeline: Pipeline, settings: Settings, model: Callable[[], ChatModel]
    ) -> Mapping[str, Any]:
        """Return further keys for a query's record of the retrieval phase.

        Args:
            model: gives the one that answers in the chat. Raises as ``ModelSource.model``.

        Raises:
            ProviderError, ConfigurationError: that model was asked, and failed.
        """
        return {}

    def scored(self, query: Query, retrieved: Retrieved | None, settings: Settings) -> Scored:
        """Score the ranking of a query; ``retrieved`` is None if its retrieval failed, which leaves it not scored."""
        specs = ranking_metrics(settings.retrieval_k)
        qrels = self.dataset.qrels.get(query.query_id, {})
        gold = tuple(doc_id for doc_id, score in qrels.items() if score > 0)
        # Without a reranker, the context holds what the ranking metrics have scored already.
        reranks = settings.reranker_enabled
        if retrieved is None:
            return Scored((), gold, dict.fromkeys([*specs, *(context_metrics([], {}) if reranks else ())]))
        metrics: Metrics = {name: spec.score(retrieved.doc_ids, qrels) for name, spec in specs.items()}
        context = retrieved.generation_doc_ids if reranks else None
        return Scored(retrieved.doc_ids, gold, metrics | context_metrics(context, qrels))

    def completed(self, result: RunResult, retrieved: Mapping[str, QueryRecord], settings: Settings) -> RunResult:
        """Add the figures that only this kind of run has, from its rows and its records of the retrieval phase."""
        return result

    def facts(self) -> dict[str, Any]:
        """Return what the manifest records about the corpus beside the data set."""
        return {}

    def keep(self, folder: RunFolder) -> None:
        """Copy into the folder of a new run what a resume could not find again."""
