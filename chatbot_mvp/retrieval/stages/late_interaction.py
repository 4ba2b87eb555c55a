"""Rank the best chunks of a knowledge base anew, by late interaction together with words and vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from chatbot_mvp.embedding.base import TokenStates
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.indexes.dense_side import passage_texts
from chatbot_mvp.retrieval.kb.postings import Scores
from chatbot_mvp.retrieval.late.matching import closest_tokens, grouped, max_sim
from chatbot_mvp.retrieval.stages.base import Stage
from chatbot_mvp.retrieval.stages.kb_score import KbScore, scaled
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace

CANDIDATES = {"score": 30, "vector_norm": 20, "words": 20}
"""How many of the best hits by each signal are compared with the question."""
WEIGHTS = {"late": 1.0, "late_chunk": 1.0, "words": 0.25, "vector_norm": 0.5}
"""Signal -> weight. Each signal is first scaled to 0-1 over the candidates. Chosen on two manuals, where weights of
words and vectors from 0 to 0.5 do about as well (docs/research/evidence.md)."""
PART = "part_"
"""Prefix of the signals that add up to a hit's score."""


class LateInteraction(Stage):
    """Reorders the best hits of a knowledge base by the MaxSim of their tokens with the question's.

    Signals: ``late`` is the ``max_sim`` of the chunk's best paragraph; ``late_chunk`` lets each token of the question
    choose its closest token from all paragraphs of the chunk. The score is the weighted mean of WEIGHTS, in 0-1. Hits
    that are no candidates follow in their old order.
    """

    name = "late_interaction"

    @classmethod
    def serves(cls, index: CorpusIndex) -> bool:
        return KbScore.serves(index) and index.dense is not None and index.dense.tokens is not None

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        kb, side = self.index.kb, self.index.dense
        assert kb is not None and side is not None and side.tokens is not None, "see serves"
        rows = _candidates(trace.hits)
        [question] = side.tokens.embedder.text_tokens([trace.query], "query")
        if not rows:
            return trace, {}
        hits = [trace.hits[row] for row in rows]
        signals = self._signals(question, hits)
        parts = {name: weight / sum(WEIGHTS.values()) * scaled(signals[name]) for name, weight in WEIGHTS.items()}
        scores = sum(parts.values(), np.zeros(1))
        order = sorted(range(len(rows)), key=lambda at: (-scores[at], hits[at].chunk.chunk_id))
        best = []
        for at in order:
            own = {name: round(float(value[at]), 6) for name, value in signals.items()}
            shares = {f"{PART}{name}": round(float(value[at]), 6) for name, value in parts.items()}
            best.append(replace(hits[at], score=float(scores[at]), signals={**hits[at].signals, **own, **shares}))
        # Scores of the other hits are at most 1, so they stay below the candidates and in their order.
        taken, lowest = set(rows), best[-1].score
        rest = [replace(hit, score=lowest * hit.score) for row, hit in enumerate(trace.hits) if row not in taken]
        return replace(trace, hits=(*best, *rest), query_tokens=question), {"candidates": len(rows)}

    def _signals(self, question: TokenStates, hits: Sequence[Hit]) -> dict[str, Scores]:
        """Return the signals of WEIGHTS, shape (hits,) each."""
        kb, side = self.index.kb, self.index.dense
        assert kb is not None and side is not None and side.tokens is not None, "see serves"
        weights = side.tokens.weights
        of_hits = [kb.paragraphs.of(self.index.row_of[hit.chunk.chunk_id]) for hit in hits]
        paragraphs = np.unique(np.concatenate(of_hits))
        texts = passage_texts(kb, paragraphs.tolist())
        tokens = side.tokens.of(texts)
        closest, shares = closest_tokens(weights.project(question), tokens), weights.shares(question)
        lengths = np.array([len(found) for found in tokens])
        columns = [np.searchsorted(paragraphs, rows) for rows in of_hits]
        by_paragraph = max_sim(closest, shares, lengths)
        by_chunk = max_sim(grouped(closest, columns), shares, np.array([lengths[found].sum() for found in columns]))
        return {
            "late": np.array([by_paragraph[found].max() for found in columns], dtype=float),
            "late_chunk": by_chunk.astype(float),
            "words": np.array([hit.signals["words"] for hit in hits]),
            "vector_norm": np.array([hit.signals["vector_norm"] for hit in hits]),
        }


def _candidates(hits: Sequence[Hit]) -> list[int]:
    """Return the rows of the hits that are compared, in rising order."""
    rows = set(range(min(CANDIDATES["score"], len(hits))))
    for name in ("vector_norm", "words"):
        values = np.array([hit.signals.get(name, 0.0) for hit in hits])
        rows.update(np.argsort(-values, kind="stable")[: CANDIDATES[name]].tolist())
    return sorted(rows)
