"""Rank short documents anew by what was said before the question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from chatbot_mvp.retrieval.arrays import Doubles
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.stages.base import Stage
from chatbot_mvp.retrieval.stages.kb_score import scaled
from chatbot_mvp.retrieval.stages.late_interaction import compared, token_states
from chatbot_mvp.retrieval.trace import PART, Earlier, Hit, RetrievalTrace

CANDIDATES = 30
"""How many of the best hits of the question, and of BM25 for all that was said, are ranked anew."""
WEIGHTS = {"score": 0.5, "said": 1.0, "said_late": 1.0}
"""Signal -> weight; ``score`` is that of the question alone. Each is first scaled to 0-1 over the candidates."""
CHANGED, SAME = 0.3, 0.6
"""Agreement (0-1) up to which the subject has changed, and from which it is the same. Between both, what was said
counts in part. Weights and limits: docs/research/conversations.md."""
_OWN = 3
"""Best hits of the question that have to agree with what was said."""
_SHOWN = 5
_FOUND = 200
"""Hits of BM25 that are read for each text."""


class Conversation(Stage):
    """Ranks the best hits by the question together with earlier questions and answers, each with its weight.

    Signals: ``said`` is the sum of the BM25 scores of all texts, times their weights; ``said_late`` that of their
    MaxSim, with an embedding model that gives its tokens. They count as far as the best hits of the question alone
    agree with what was said: after a change of subject these are elsewhere. Hits that are no candidates follow in their
    old order, and a question that is asked alone stays as it is.

    Only documents of a data set, and of a knowledge base of short documents, are ranked anew. The score of long
    documents' paragraphs is better than these signals: hit@1 fell with every weight of them.
    """

    name = "conversation"

    @classmethod
    def serves(cls, index: CorpusIndex) -> bool:
        return index.graph is not None or index.kb is None

    def run(self, trace: RetrievalTrace) -> RetrievalTrace:
        return super().run(trace) if trace.earlier and trace.hits else trace

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        asked, before = [Earlier(trace.query, 1.0)], self._words(trace.earlier)
        words = _sum(self._words(asked), before)
        hits = self._compared(trace.hits, words)
        rows = [self.index.row_of[hit.chunk.chunk_id] for hit in hits]
        own = np.array([hit.score for hit in hits])
        signals = {"score": own, "said": np.array([words.get(row, 0.0) for row in rows])}
        said_before = [np.array([before.get(row, 0.0) for row in rows])]
        if self.index.dense is not None and self.index.dense.tokens is not None:
            said_before.append(self._late(trace.earlier, hits))
            signals["said_late"] = self._late(asked, hits) + said_before[-1]
        agreement = _agreement(own, said_before)
        share = min(1.0, max(0.0, (agreement - CHANGED) / (SAME - CHANGED)))
        notes = {"texts": len(trace.earlier), "agreement": round(agreement, 3), "share": round(share, 3)}
        if not share:
            return trace, {**notes, "moved": False}
        weights = {name: WEIGHTS[name] * (1.0 if name == "score" else share) for name in signals}
        parts = {name: weight / sum(weights.values()) * scaled(signals[name]) for name, weight in weights.items()}
        following = _ranked(trace, hits, signals, parts)
        moved = [hit.chunk for hit in following.hits[:_SHOWN]] != [hit.chunk for hit in trace.hits[:_SHOWN]]
        return following, {**notes, "candidates": len(hits), "moved": moved}

    def _words(self, said: Sequence[Earlier]) -> dict[int, float]:
        """Return row -> weighted sum of BM25 scores, for the rows that a text finds."""
        found: dict[int, float] = {}
        for text in said:
            for row, score in self.index.lexical.search(text.text, _FOUND):
                found[row] = found.get(row, 0.0) + text.weight * score
        return found

    def _compared(self, hits: Sequence[Hit], words: Mapping[int, float]) -> list[Hit]:
        known = {hit.chunk.chunk_id: hit for hit in hits}
        chosen = {hit.chunk.chunk_id: hit for hit in hits[:CANDIDATES]}
        for row in sorted(words, key=lambda row: (-words[row], row))[:CANDIDATES]:
            chunk = self.index.chunks[row]
            chosen.setdefault(chunk.chunk_id, known.get(chunk.chunk_id) or Hit(chunk, 0.0))
        return list(chosen.values())

    def _late(self, said: Sequence[Earlier], hits: Sequence[Hit]) -> Doubles:
        """Return the weighted sum of the MaxSim of all texts, shape (hits,)."""
        late = np.zeros(len(hits))
        for text in said:
            signals, _ = compared(self.index, token_states(self.index, text.text), hits)
            late += text.weight * signals["late"]
        return late


def said_before(trace: RetrievalTrace) -> tuple[Earlier, ...]:
    """Return what was said before and has counted in the ranking; empty if nothing has."""
    counted = any(record.stage == Conversation.name and record.notes["share"] for record in trace.records)
    return trace.earlier if counted else ()


def _agreement(own: Doubles, said_before: Sequence[Doubles]) -> float:
    """Return the mean share of the candidates that what was said before ranks no higher than the best own hits, 0-1."""
    best = np.argsort(-own, kind="stable")[:_OWN]
    return float(np.mean([(signal <= signal[at]).mean() for signal in said_before for at in best]))


def _sum(one: Mapping[int, float], other: Mapping[int, float]) -> dict[int, float]:
    return {row: one.get(row, 0.0) + other.get(row, 0.0) for row in one.keys() | other.keys()}


def _ranked(
    trace: RetrievalTrace, hits: Sequence[Hit], signals: Mapping[str, Doubles], parts: Mapping[str, Doubles]
) -> RetrievalTrace:
    """Return the trace with the candidates in the order of the sum of their parts, before its other hits."""
    scores = sum(parts.values(), np.zeros(1))
    best = []
    for at in sorted(range(len(hits)), key=lambda at: (-scores[at], hits[at].chunk.chunk_id)):
        kept = {name: value for name, value in hits[at].signals.items() if not name.startswith(PART)}
        said = {name: round(float(value[at]), 6) for name, value in signals.items() if name != "score"}
        shares = {f"{PART}{name}": round(float(value[at]), 6) for name, value in parts.items()}
        best.append(replace(hits[at], score=float(scores[at]), signals={**kept, **said, **shares}))
    taken, lowest = {hit.chunk.chunk_id for hit in hits}, best[-1].score
    rest = [replace(hit, score=lowest * hit.score) for hit in trace.hits if hit.chunk.chunk_id not in taken]
    return replace(trace, hits=(*best, *rest))
