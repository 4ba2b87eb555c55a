"""Optional stage: rerank the candidates with a model that reads question and text together."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from chatbot_mvp.errors import ProviderQuotaExhausted
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.reranker import Reranker, RerankFailed
from chatbot_mvp.retrieval.stages.base import Stage
from chatbot_mvp.retrieval.trace import PART, Hit, RetrievalTrace
from chatbot_mvp.settings.model import Settings


class Rerank(Stage):
    """Reorders the first ``Settings.reranked`` hits by the reranker's scores and keeps ``reranker_top_n``.

    Final score: w * original + (1 - w) * score, where w is the reranker's ``original_weight`` and ``original`` is the
    retrieval score divided by the best one (0-1). A hit without a reranker score keeps its original score; if w is 0,
    it is placed behind all scored hits. Ties break by chunk id. If the reranker fails, the order is kept, the note
    ``reranked`` is False and ``failures`` is incremented. Empty texts are not sent: NIM refuses a request with one.
    """

    name = "rerank"

    def __init__(self, index: CorpusIndex, config: Settings, reranker: Reranker) -> None:
        super().__init__(index, config)
        self._reranker = reranker
        self._lock = threading.Lock()
        self.failures = 0
        """Number of queries whose reranking failed since the pipeline was built."""

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        candidates = trace.hits[: self.config.reranked]
        kept = self.config.reranker_top_n
        unchanged = replace(trace, hits=candidates[:kept], hits_before_rerank=trace.hits)
        if not candidates or not trace.query.strip():
            return unchanged, {"reranked": False, "candidates": len(candidates)}
        sent = [hit for hit in candidates if hit.chunk.index_text.strip()]
        unchanged = replace(unchanged, pre_rerank_candidate_ids=tuple(hit.chunk.chunk_id for hit in sent))
        try:
            scores = self._scores(trace.query, candidates, sent)
        except RerankFailed as error:
            with self._lock:
                self.failures += 1
            notes = {"reranked": False, "candidates": len(candidates), "error": str(error)}
            # Chat continues without reranking; a benchmark run reads this note and stops.
            notes["quota_exhausted"] = isinstance(error.__cause__, ProviderQuotaExhausted)
            return unchanged, notes
        ranked = self._ranked(candidates, scores)
        notes = {"reranked": True, "candidates": len(candidates), "not_scored": scores.count(None)}
        return replace(unchanged, hits=tuple(ranked[:kept])), notes

    def _scores(self, query: str, candidates: Sequence[Hit], sent: Sequence[Hit]) -> list[float | None]:
        if not sent:
            raise RerankFailed("all candidates are empty texts")
        given = iter(self._reranker.rerank(query, sent))
        return [next(given) if hit.chunk.index_text.strip() else None for hit in candidates]

    def _ranked(self, candidates: Sequence[Hit], scores: Sequence[float | None]) -> list[Hit]:
        weight = self._reranker.original_weight
        best = max(hit.score for hit in candidates)
        lowest = min((score for score in scores if score is not None), default=0.0)
        ranked = []
        for hit, score in zip(candidates, scores, strict=True):
            original = hit.score / best if best > 0 else 0.0
            if score is not None:
                final = weight * original + (1 - weight) * score
            else:
                # ``original`` is at most 1, so this is below every reranker score and keeps the original order.
                final = original if weight > 0 else lowest - 2.0 + original
            signals = {**hit.signals, "before_rerank": hit.score}
            if score is not None:
                signals |= {"rerank": score, f"{PART}rerank": (1 - weight) * score}
            ranked.append(Hit(hit.chunk, final, signals))
        return sorted(ranked, key=lambda hit: (-hit.score, hit.chunk.chunk_id))
