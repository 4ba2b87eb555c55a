"""The base class of stages, and the stages that all corpora share. A stage maps a trace to the next trace."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar

from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.stages.context import ContextChars, context_budget
from chatbot_mvp.retrieval.stages.evidence import judge
from chatbot_mvp.retrieval.stages.fusion import adaptive_alpha, weighted_parts
from chatbot_mvp.retrieval.trace import PART, Hit, RetrievalTrace, StageRecord
from chatbot_mvp.settings.model import Settings


class Stage(ABC):
    """One step of a pipeline. Subclasses implement ``apply``; those that are faster on many, see ``BatchStage``."""

    name = ""
    needs_vectors: ClassVar[bool] = False
    """True if the stage compares embeddings: the corpus is embedded for it."""
    needs_links: ClassVar[bool] = False
    """True if the stage follows links between documents: they are looked for when the corpus is indexed."""
    finds_by_words: ClassVar[bool] = False
    """True if the stage finds passages by the words of the question."""
    knobs: ClassVar[frozenset[str]] = frozenset()
    """Settings that have no effect in a run whose strategy has no such stage; a run's form greys them out there."""

    def __init__(self, index: CorpusIndex, config: Settings) -> None:
        self.index = index
        self.config = config

    @classmethod
    def serves(cls, index: CorpusIndex) -> bool:
        """Return False if the stage never has anything to do on this index. The pipeline then omits it."""
        return True

    @classmethod
    def wanted(cls, config: Settings) -> bool:
        """Return False if the settings leave the stage out."""
        return True

    @abstractmethod
    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        """Return the next trace and the notes for its stage record."""

    def run(self, trace: RetrievalTrace) -> RetrievalTrace:
        """Apply the stage to one trace and append its record, timed in seconds."""
        started = time.perf_counter()
        following, notes = self.apply(trace)
        return following.with_record(StageRecord(self.name, time.perf_counter() - started, notes))

    def run_batch(self, traces: Sequence[RetrievalTrace]) -> list[RetrievalTrace]:
        """Apply the stage to many traces. The results equal those of ``run`` on each."""
        return [self.run(trace) for trace in traces]

    def _candidates(self, trace: RetrievalTrace, found: list[tuple[int, float]], signal: str) -> RetrievalTrace:
        hits = tuple(
            Hit(self.index.chunks[row], score, {signal: score, f"{signal}_rank": float(rank)})
            for rank, (row, score) in enumerate(found, 1)
        )
        return replace(trace, candidates={**trace.candidates, signal: hits}, hits=hits)


class BatchStage(Stage):
    """A stage that works on all traces together. Subclasses implement ``apply_batch``."""

    @abstractmethod
    def apply_batch(self, traces: Sequence[RetrievalTrace]) -> list[tuple[RetrievalTrace, dict[str, Any]]]:
        """Return what ``apply`` returns, for each trace."""

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        return self.apply_batch([trace])[0]

    def run_batch(self, traces: Sequence[RetrievalTrace]) -> list[RetrievalTrace]:
        """Apply the stage to all traces. Each record gets an equal share of the time."""
        started = time.perf_counter()
        results = self.apply_batch(traces)
        share = (time.perf_counter() - started) / max(1, len(traces))
        return [trace.with_record(StageRecord(self.name, share, notes)) for trace, notes in results]


class Lexical(Stage):
    """Finds the best ``retrieval_pre_fusion_k`` chunks by BM25, under the signal ``bm25``."""

    name = "lexical"
    finds_by_words = True
    # Of a corpus, this stage alone reads ``query_expanded``.
    knobs = frozenset({"retrieval_pre_fusion_k", "query_expansion_llm"})

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        query = trace.query_expanded or trace.query
        found = self.index.lexical.search(query, self.config.retrieval_pre_fusion_k)
        return self._candidates(trace, found, "bm25"), {"found": len(found)}


class Dense(BatchStage):
    """Finds the ``retrieval_pre_fusion_k`` chunks nearest to the question, under the signal ``vector`` (cosine).

    For a knowledge base without links it only embeds the question: ``KbScore`` compares it with every window itself.
    """

    name = "dense"
    needs_vectors = True
    searches_kb: ClassVar[bool] = False
    knobs = frozenset({"retrieval_pre_fusion_k"})

    @classmethod
    def serves(cls, index: CorpusIndex) -> bool:
        return index.dense is not None  # not yet, while a knowledge base's vectors are being computed

    def searched(self, trace: RetrievalTrace) -> str:
        """Return the text whose vector is compared with the chunks."""
        return trace.query

    def apply_batch(self, traces: Sequence[RetrievalTrace]) -> list[tuple[RetrievalTrace, dict[str, Any]]]:
        side = self.index.dense
        assert side is not None, "a strategy with vectors is built with an embedder"
        vectors = side.cache.embed(side.embedder, [self.searched(trace) for trace in traces], "query")
        if self.index.kb is not None and self.index.graph is None and not self.searches_kb:
            return [(replace(trace, query_vector=vector), {}) for trace, vector in zip(traces, vectors, strict=True)]
        found = side.vectors.search(vectors, self.config.retrieval_pre_fusion_k)
        return [
            (replace(self._candidates(trace, rows, "vector"), query_vector=vector), {"found": len(rows)})
            for trace, rows, vector in zip(traces, found, vectors, strict=True)
        ]


class DenseInStore(Dense):
    """Finds the nearest chunks in the vector store, of a knowledge base too."""

    searches_kb = True


class NearestOnly(DenseInStore):
    """Ranks by vectors alone, also in a knowledge base."""


class Fusion(Stage):
    """Merges the candidates of several retrievers into one ranking. Ties break by chunk id.

    ``retrieval_fusion`` "rrf": score(d) = sum over retrievers of weight / (k + rank(d)) (Cormack et al. 2009), with
    k = ``retrieval_rrf_k``. "weighted": (1 - alpha) x keyword score + alpha x vector score, each scaled to 0-1; alpha
    grows with the length of the question (see ``fusion.adaptive_alpha``).
    """

    name = "fusion"
    knobs = frozenset({"retrieval_fusion", "retrieval_rrf_k", "retrieval_bm25_weight", "retrieval_vector_weight"})

    @property
    def _by_score(self) -> bool:
        return self.config.retrieval_fusion == "weighted"

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        notes: dict[str, Any] = {}
        if self._by_score:
            notes["alpha"] = round(adaptive_alpha(trace.query), 3)
        weights = {"bm25": self.config.retrieval_bm25_weight, "vector": self.config.retrieval_vector_weight}
        signals: dict[str, dict[str, float]] = defaultdict(dict)
        parts: dict[str, dict[str, float]] = defaultdict(dict)
        chunks = {}
        for source, hits in trace.candidates.items():
            for rank, hit in enumerate(hits, 1):
                parts[hit.chunk.chunk_id][source] = weights[source] / (self.config.retrieval_rrf_k + rank)
                signals[hit.chunk.chunk_id].update(hit.signals)
                chunks[hit.chunk.chunk_id] = hit.chunk
        if self._by_score:
            parts = weighted_parts(trace.candidates, adaptive_alpha(trace.query))
        scores = {chunk_id: sum(values.values()) for chunk_id, values in parts.items()}
        for chunk_id, values in parts.items():
            signals[chunk_id] |= {f"{PART}{source}": value for source, value in values.items()}
        ranked = sorted(scores, key=lambda chunk_id: (-scores[chunk_id], chunk_id))
        fused = tuple(Hit(chunks[chunk_id], scores[chunk_id], signals[chunk_id]) for chunk_id in ranked)
        return replace(trace, hits=fused), {"fused": len(fused), **notes}


class RankFusion(Fusion):
    """Merges by rank ("rrf" of ``Fusion``), whatever ``retrieval_fusion`` is."""

    knobs = Fusion.knobs - {"retrieval_fusion"}

    @property
    def _by_score(self) -> bool:
        return False


class Selection(Stage):
    """Selects ``chunks_final`` from the first ``kb_top_k`` hits, by score and context budget.

    A hit needs at least ``kb_min_score`` (0-1) of the best hit's score. Hits that would exceed the budget are skipped,
    except the first one.
    """

    name = "selection"

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        usual, large = self.config.kb_max_context_chars, self.config.kb_large_context_chars
        budget = context_budget(self.index.source_chars, usual, large)
        chosen: list[Hit] = []
        context = ContextChars()
        best = trace.hits[0].score if trace.hits else 0.0
        for hit in trace.hits[: self.config.kb_top_k]:
            # A reranker's logits may be negative; a negative ratio means nothing, so it counts as 0.
            relative = max(0.0, hit.score / best) if best > 0 else 0.0
            if relative < self.config.kb_min_score or (chosen and not context.fits(hit.chunk, budget)):
                continue
            chosen.append(hit)
            context.add(hit.chunk)
        following = replace(
            trace, chunks_final=tuple(chosen), context_chars_used=context.used, context_chars_budget=budget
        )
        return following, {"kept": len(chosen)}


class Evidence(Stage):
    """Judges how well the selected chunks can answer the question (see ``evidence.judge``)."""

    name = "evidence"

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        return judge(trace, self.index)
