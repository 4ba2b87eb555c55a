"""The hybrid score of a knowledge base's chunks: one final list, each hit with what its score is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex, DenseSide
from chatbot_mvp.retrieval.kb.matching import Scores
from chatbot_mvp.retrieval.kb.vocabulary import KbIndex
from chatbot_mvp.retrieval.stages.base import Stage
from chatbot_mvp.retrieval.stages.expansion import CORRECTIONS, expansion_weights
from chatbot_mvp.retrieval.stages.fusion import adaptive_alpha
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace

SIGNAL_WEIGHTS = {
    "bm25_norm": 1.0,
    "overlap_norm": 0.5,
    "fuzzy_bonus": 0.5,
    "exact_bonus": 0.1,
    "heading_bonus": 0.1,
    "link_bonus": 0.5,
}
"""Of the keyword side; its sum is brought to 0-1 before the vectors join it."""

_LINKING = 3  # of the best paragraphs, those whose mentions of other sections count

_OTHER_PARAGRAPHS = 1e-3  # of two chunks with the same best paragraph, the one whose others match better


def keyword_signals(trace: RetrievalTrace, kb: KbIndex) -> dict[str, Scores]:
    """Signal -> (paragraphs,), each 0-1.

    ``bm25_norm``: BM25 over the best one's. ``overlap_norm``: idf-weighted share of the terms that one sentence window
    has, over the best one's. ``fuzzy_bonus``: the same of the question's letter 4-grams. ``exact_bonus``: share of its
    neighbouring terms that stand together. ``heading_bonus``: share of its terms that the heading has.
    ``link_bonus``: see ``_link_bonus``.
    """
    terms = kb.analyzer.terms(trace.query)
    weights = expansion_weights(trace, kb)
    spelling = [note.partition(": ") for note in trace.expansion_notes]
    # A corrected word in place of the misspelt one; the letters of both would only dilute each other.
    corrections = " ".join(word for source, _, word in spelling if source in CORRECTIONS)
    matcher = kb.matcher
    heading = np.array([sum(term in names for term in set(terms)) for names in matcher.headings], dtype=float)
    signals = {
        "bm25_norm": _over_best(matcher.bm25(weights)),
        "overlap_norm": _over_best(matcher.window_coverage(weights)),
        "fuzzy_bonus": _over_best(matcher.letters(f"{trace.query} {corrections}")),
        "exact_bonus": matcher.pair_share(terms),
        "heading_bonus": heading / max(1, len(set(terms))),
    }
    signals["link_bonus"] = _link_bonus(terms, weighted_sum(signals), kb)
    return signals


def weighted_sum(signals: Mapping[str, Scores]) -> Scores:
    """Sum of SIGNAL_WEIGHTS x signal."""
    return sum((SIGNAL_WEIGHTS[name] * value for name, value in signals.items()), np.zeros(1))


def _link_bonus(terms: Sequence[str], scores: Scores, kb: KbIndex) -> Scores:
    """For a paragraph of a section that one of the best paragraphs names: how much of the question it adds to that one.

    The idf-weighted share of the question's terms that it has and the naming paragraph lacks, times the naming
    paragraph's score over the best one's; its best over those that name it.
    """
    bonus = np.zeros(len(kb.matcher.passages))
    best = sorted(range(len(bonus)), key=lambda row: (-scores[row], row))[:_LINKING]
    if not any(kb.links[row] for row in best) or scores[best[0]] <= 0:
        return bonus
    postings = kb.matcher.terms
    idf = {term: postings.idf(term) for term in terms}
    for row in best:
        gained = np.zeros(len(bonus))
        for term, weight in idf.items():
            rows = postings.rows(term)
            if row not in rows:
                gained[rows] += weight / sum(idf.values())
        named = list(kb.links[row])
        bonus[named] = np.maximum(bonus[named], gained[named] * scores[row] / scores[best[0]])
    return bonus


def vector_norm(similarities: Scores) -> Scores:
    """Cosines brought to 0-1 within one question: cosines of a model live in a narrow band."""
    if not len(similarities):
        return similarities
    low, high = float(similarities.min()), float(similarities.max())
    return (similarities - low) / max(1e-9, high - low)


def passage_cosines(trace: RetrievalTrace, kb: KbIndex, side: DenseSide | None) -> Scores | None:
    """(paragraphs,): the question's cosine to the nearest window of each; None without vectors."""
    if side is None or side.windows is None or trace.query_vector is None:
        return None
    return kb.matcher.best_of_windows(side.windows.cosines(trace.query_vector).astype(float))


def score_parts(score: float, signals: Mapping[str, float], vector_share: float) -> dict[str, float]:
    """What each signal adds to a chunk's score, so that they sum to it; {} for a hit that was not scored here.

    Args:
        score: of the chunk, before any reranking.
        vector_share: of the vectors (0-1), as the stage's notes have it; 0 without vectors.
    """
    weighted = {name: weight * signals[name] for name, weight in SIGNAL_WEIGHTS.items() if name in signals}
    if not weighted:
        return {}
    vectors = vector_share * signals.get("vector_norm", 0.0)
    total = sum(weighted.values())
    # Keywords are brought to 0-1 by one divisor, which is therefore the same for all signals.
    scale = max(0.0, score - vectors) / total if total > 0 else 0.0
    parts = {name: value * scale for name, value in weighted.items()}
    return parts | ({"vector_norm": vectors} if "vector_norm" in signals else {})


class KbScore(Stage):
    """Ranks the chunks of a knowledge base by their best paragraph.

    Keywords: K = sum of SIGNAL_WEIGHTS x signal, over the best one's. With vectors: (1 - a) K + a vector_norm, a being
    ``adaptive_alpha`` of the question. Ties break by chunk id.
    """

    name = "kb_score"

    @classmethod
    def serves(cls, index: CorpusIndex) -> bool:
        return index.kb is not None

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        kb = self.index.kb
        assert kb is not None, "the stage serves knowledge bases"
        if not trace.hits:
            return trace, {}
        signals = keyword_signals(trace, kb)
        scores = _over_best(weighted_sum(signals))
        notes: dict[str, Any] = {}
        cosines = passage_cosines(trace, kb, self.index.dense)
        if cosines is not None:
            share = adaptive_alpha(trace.query)
            signals["vector_norm"] = vector_norm(cosines)
            scores = (1 - share) * scores + share * signals["vector_norm"]
            notes["vector_share"] = round(share, 3)
        best: dict[int, int] = {}
        others = np.zeros(len(kb.chunks))
        for row, passage in enumerate(kb.matcher.passages):
            for position in passage.hits:
                others[position] += scores[row]
                if position not in best or scores[row] > scores[best[position]]:
                    best[position] = row
        hits = [
            Hit(
                kb.chunks[position],
                float(scores[row]),
                {name: round(float(value[row]), 6) for name, value in signals.items()},
            )
            for position, row in best.items()
            if scores[row] > 0
        ]
        tie = {kb.chunks[position].chunk_id: _OTHER_PARAGRAPHS * others[position] for position in best}
        hits.sort(key=lambda hit: (-hit.score - tie[hit.chunk.chunk_id], hit.chunk.chunk_id))
        return replace(trace, hits=tuple(hits)), notes


def _over_best(scores: Scores) -> Scores:
    best = float(scores.max()) if len(scores) else 0.0
    return scores / best if best > 0 else scores
