"""The hybrid score of a knowledge base's chunks, with the signals that make up each hit's score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from chatbot_mvp.retrieval.arrays import Doubles, best_rows
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.kb.vocabulary import KbIndex
from chatbot_mvp.retrieval.stages.base import Stage
from chatbot_mvp.retrieval.stages.expansion import CORRECTIONS, expansion_weights
from chatbot_mvp.retrieval.stages.fusion import adaptive_alpha, over_best
from chatbot_mvp.retrieval.stages.kb_cosines import window_cosines
from chatbot_mvp.retrieval.trace import RetrievalTrace, hits_of
from chatbot_mvp.settings.model import Settings

SIGNAL_WEIGHTS = {
    "bm25_norm": 1.0,
    "overlap_norm": 0.5,
    "fuzzy_bonus": 0.5,
    "exact_bonus": 0.1,
    "heading_bonus": 0.1,
    "link_bonus": 0.5,
}
"""Weights of the keyword signals. Their weighted sum is scaled to 0-1 before the vector score is added."""

MOST_HITS = 1_000
"""Hits that a trace keeps at least; a ``Hit`` for each of many thousand chunks would cost more than the search."""

_LINKING = 3  # only mentions of other sections in this many of the best paragraphs count

_OTHER_PARAGRAPHS = 1e-3  # tie-break between chunks with the same best paragraph: their other paragraphs decide


def keyword_signals(trace: RetrievalTrace, kb: KbIndex) -> dict[str, Doubles]:
    """Compute the keyword signals of every paragraph.

    Returns:
        Signal name -> array of shape (paragraphs,), values in 0-1:

        - ``bm25_norm``: BM25, divided by the best paragraph's; the words of a paragraph's questions count as its own.
        - ``overlap_norm``: idf-weighted share of the question's terms in one sentence window, divided by the best
          paragraph's.
        - ``fuzzy_bonus``: idf-weighted share of the question's letter 4-grams in one window, divided likewise.
        - ``exact_bonus``: share of the question's neighbouring terms that stand together in the paragraph.
        - ``heading_bonus``: share of the question's terms that the heading has.
        - ``link_bonus``: see ``_link_bonus``.
    """
    terms = kb.analyzer.terms(trace.query)
    weights = expansion_weights(trace, kb)
    spelling = [note.partition(": ") for note in trace.expansion_notes]
    # The letter signal compares the correctly spelt words as well as the question as typed.
    corrections = " ".join(word for source, _, word in spelling if source in CORRECTIONS)
    matcher = kb.matcher
    signals = {
        "bm25_norm": over_best(matcher.bm25(weights, with_questions=True)),
        "overlap_norm": over_best(matcher.window_coverage(weights)),
        "fuzzy_bonus": over_best(matcher.letters(f"{trace.query} {corrections}")),
        "exact_bonus": matcher.pair_share(terms),
        "heading_bonus": matcher.heading_counts(terms) / max(1, len(set(terms))),
    }
    signals["link_bonus"] = _link_bonus(terms, weighted_sum(signals), kb)
    return signals


def weighted_sum(signals: Mapping[str, Doubles]) -> Doubles:
    """Return the sum of SIGNAL_WEIGHTS x signal, shape (paragraphs,)."""
    return sum((SIGNAL_WEIGHTS[name] * value for name, value in signals.items()), np.zeros(1))


def _link_bonus(terms: Sequence[str], scores: Doubles, kb: KbIndex) -> Doubles:
    """Reward paragraphs whose section is named by one of the three best paragraphs, shape (paragraphs,), 0-1.

    The bonus is the idf-weighted share of the question's terms that the paragraph has and the naming paragraph lacks,
    times the naming paragraph's score relative to the best. If several paragraphs name it, the highest bonus counts.
    """
    bonus = np.zeros(len(kb.matcher.passages))
    best = best_rows(scores, _LINKING).tolist()
    links = {row: list(kb.links[row]) for row in best}
    if not any(links.values()) or scores[best[0]] <= 0:
        return bonus
    postings = kb.matcher.terms
    idf = {term: postings.idf(term) for term in terms}
    for row, named in links.items():
        gained = np.zeros(len(bonus))
        for term, weight in idf.items():
            rows = postings.rows(term)
            if row not in rows:
                gained[rows] += weight / sum(idf.values())
        bonus[named] = np.maximum(bonus[named], gained[named] * scores[row] / scores[best[0]])
    return bonus


def scaled(values: Doubles) -> Doubles:
    """Scale the values of one question to 0-1: cosines lie in a narrow band, which differs from model to model."""
    if not len(values):
        return values
    low, high = float(values.min()), float(values.max())
    return (values - low) / max(1e-9, high - low)


def score_parts(score: float, signals: Mapping[str, float], vector_share: float) -> dict[str, float]:
    """Split a chunk's score into one summand per signal; {} for a hit that this stage did not score.

    Args:
        score: the chunk's score before any reranking.
        signals: the hit's signals.
        vector_share: weight of the vector score, 0-1, as in the stage's notes; 0 without vectors.
    """
    weighted = {name: weight * signals[name] for name, weight in SIGNAL_WEIGHTS.items() if name in signals}
    if not weighted:
        return {}
    vectors = vector_share * signals.get("vector_norm", 0.0)
    total = sum(weighted.values())
    # One common divisor scaled the keyword sum to 0-1, so one factor recovers every signal's part.
    scale = max(0.0, score - vectors) / total if total > 0 else 0.0
    parts = {name: value * scale for name, value in weighted.items()}
    return parts | ({"vector_norm": vectors} if "vector_norm" in signals else {})


class KbScore(Stage):
    """Ranks the chunks of a knowledge base by the score of their best paragraph, in 0-1.

    Every chunk with a positive score is a hit, whether words, an expansion, letters or vectors found it.

    Keyword score (signal ``words``): K = sum of SIGNAL_WEIGHTS x signal, divided by the highest K. With vectors the
    score is (1 - a) x K + a x ``vector_norm``, where a is ``adaptive_alpha`` of the question. Ties break by the chunks'
    other paragraphs, then by chunk id. Of a large knowledge base, the best MOST_HITS chunks are kept.
    """

    name = "kb_score"

    def __init__(self, index: CorpusIndex, config: Settings) -> None:
        super().__init__(index, config)
        self._kept = max(MOST_HITS, config.hits_read)

    @classmethod
    def serves(cls, index: CorpusIndex) -> bool:
        return index.kb is not None and index.graph is None  # else the walk over links has ranked

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        kb = self.index.kb
        assert kb is not None, "the stage serves knowledge bases"
        signals = keyword_signals(trace, kb)
        scores = signals["words"] = over_best(weighted_sum(signals))
        notes: dict[str, Any] = {}
        windows = window_cosines(trace, self.index.dense)
        if windows is not None:
            share, cosines = adaptive_alpha(trace.query), kb.matcher.best_of_windows(windows)
            signals |= {"vector_norm": scaled(cosines), "cosine": cosines}
            scores = (1 - share) * scores + share * signals["vector_norm"]
            notes["vector_share"] = round(share, 3)
        positions, rows = kb.paragraphs.ranked(scores, _OTHER_PARAGRAPHS)
        positions, rows = positions[: self._kept], rows[: self._kept]
        columns = {
            name: [round(one, 6) if one else one for one in value[rows].tolist()] for name, value in signals.items()
        }
        hits = hits_of(kb.chunks, positions.tolist(), scores[rows].tolist(), columns)
        return replace(trace, hits=hits), notes
