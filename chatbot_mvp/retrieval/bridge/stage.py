"""The walk as a stage of a pipeline."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chatbot_mvp.retrieval.bridge.walk import LEXICAL_CANDIDATES, VECTOR_CANDIDATES, BridgeWalk, Cosine
from chatbot_mvp.retrieval.bridge.weights import load_weights
from chatbot_mvp.retrieval.index import CorpusIndex
from chatbot_mvp.retrieval.stages import RetrievalConfig, Stage
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace

_HITS = 50
"""Hits that are handed on at least; making one of every candidate would cost as much as ranking them."""
_SHOWN = 20
"""Of the first search, the hits that the trace shows."""


class Bridge(Stage):
    """Ranks what BM25 and the vectors find and what that mentions or is mentioned by.

    The first hits together cover the question. BM25 counts each term by the better of its scores in title and text.
    A knowledge base has no links: what BM25 finds there is handed on.
    """

    name = "bridge"

    def __init__(self, index: CorpusIndex, config: RetrievalConfig) -> None:
        super().__init__(index, config)
        self._walk = (
            BridgeWalk(index.graph, index.analyzer, load_weights(config.retrieval_strategy)) if index.graph else None
        )
        self._row_of = {chunk.chunk_id: row for row, chunk in enumerate(index.chunks)}

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        lexical = self.index.lexical.search_titled(trace.query, LEXICAL_CANDIDATES)
        if self._walk is None:
            return self._candidates(trace, lexical, "bm25"), {"found": len(lexical)}
        trace = self._candidates(trace, lexical[:_SHOWN], "bm25")
        nearest: list[int] = []
        cosine: Cosine | None = None
        if trace.query_vector is not None and self.index.dense is not None:
            vectors, query_vector = self.index.dense.vectors, trace.query_vector
            nearest = [self._row_of[h.chunk.chunk_id] for h in trace.candidates["vector"][:VECTOR_CANDIDATES]]
            cosine = lambda rows: vectors.similarities(query_vector, rows)  # noqa: E731
        ranking = self._walk.rank(trace.query, lexical, nearest, cosine)
        reranked = self.config.retrieval_pre_fusion_k if self.config.reranker else 0
        kept = max(_HITS, self.config.retrieval_k, self.config.kb_top_k, reranked)
        columns = [values[:kept].tolist() for values in ranking.signals.values()]
        signals = [dict(zip(ranking.signals, values, strict=True)) for values in zip(*columns, strict=True)]
        hits = tuple(
            Hit(self.index.chunks[row], score, signal)
            for row, score, signal in zip(
                ranking.rows[:kept].tolist(), ranking.relative[:kept].tolist(), signals, strict=True
            )
        )
        added = len(ranking.rows) - len({*(row for row, _ in lexical), *nearest})
        return replace(trace, hits=hits), {"candidates": len(ranking.rows), "added_by_names_and_links": added}
