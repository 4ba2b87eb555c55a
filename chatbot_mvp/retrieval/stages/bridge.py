"""The pipeline stage that ranks with ``BridgeWalk``, the walk over mentions between documents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from chatbot_mvp.retrieval.bridge.second import SecondRound
from chatbot_mvp.retrieval.bridge.walk import (
    LEXICAL_CANDIDATES,
    VECTOR_CANDIDATES,
    BridgeWalk,
    Question,
    Ranking,
    load_weights,
)
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.stages.base import BatchStage
from chatbot_mvp.retrieval.trace import RetrievalTrace, hits_of
from chatbot_mvp.settings.model import Settings

_COMPARED = 60
"""Number of hits that are kept for ``LateInteraction``, which looks for its candidates among them."""
_SHOWN = 10
"""Number of hits of the first search that the trace keeps for display."""


class Bridge(BatchStage):
    """Ranks the documents that BM25 and vectors find, and the documents linked to those by mentions.

    With vectors there is a second round: the best documents give queries of their own. Vectors answer those of the
    first three, BM25 those of the first eight.
    The first hits are chosen to cover the question together. BM25 scores a term by the better of title and text.
    A knowledge base has no mention graph: there the stage returns the BM25 hits.
    """

    name = "bridge"
    needs_links = True
    finds_by_words = True

    def __init__(self, index: CorpusIndex, config: Settings) -> None:
        super().__init__(index, config)
        # The weights were fitted twice, with and without the features of vectors.
        fitted = load_weights("BRIDGE" if index.dense is None else "BRIDGE_HYBRID")
        self._walk = BridgeWalk(index.graph, index.analyzer, fitted) if index.graph else None
        self._second: SecondRound | None = None
        if index.graph and (dense := index.dense):
            self._second = SecondRound(
                index.graph,
                index.analyzer,
                index.documents,
                lambda texts: dense.cache.embed(dense.embedder, texts, "query"),
                dense.vectors,
            )
        # Creating a Hit for every candidate would take as long as the ranking itself.
        compared = _COMPARED if index.dense is not None and index.dense.tokens is not None else 0
        self._kept = max(compared, config.hits_read)

    def apply_batch(self, traces: Sequence[RetrievalTrace]) -> list[tuple[RetrievalTrace, dict[str, Any]]]:
        if self._walk is None:
            return [self._lexical(trace) for trace in traces]
        questions = [self._question(trace) for trace in traces]
        if self._second is not None:
            questions = self._second.asked(self._walk, questions)
        rankings = self._walk.rank(questions, self._kept)
        return [self._ranked(trace, ranking) for trace, ranking in zip(traces, rankings, strict=True)]

    def _lexical(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        found = self.index.lexical.search(trace.query_expanded or trace.query, LEXICAL_CANDIDATES)
        return self._candidates(trace, found, "bm25"), {"found": len(found)}

    def _question(self, trace: RetrievalTrace) -> Question:
        if trace.query_vector is None or self.index.dense is None:
            return Question(trace.query)
        vectors, query_vector = self.index.dense.vectors, trace.query_vector
        near = trace.candidates["vector"][:VECTOR_CANDIDATES]
        nearest = np.array([self.index.row_of[hit.chunk.chunk_id] for hit in near], np.int64)
        return Question(trace.query, nearest, lambda rows: vectors.similarities(query_vector, rows))

    def _ranked(self, trace: RetrievalTrace, ranking: Ranking) -> tuple[RetrievalTrace, dict[str, Any]]:
        rows, scores = ranking.found
        shown = list(zip(rows[:_SHOWN].tolist(), scores[:_SHOWN].tolist(), strict=True))
        signals = {name: values.tolist() for name, values in ranking.signals.items()}
        hits = hits_of(self.index.chunks, ranking.rows.tolist(), ranking.relative.tolist(), signals)
        following = replace(self._candidates(trace, shown, "bm25"), hits=hits)
        return following, {"candidates": ranking.candidates, "added_by_names_and_links": ranking.added}
