"""The score of the KB chat, five signals per chunk and nothing else, and its rule that the evidence suffices."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from rapidfuzz import fuzz, process

from chatbot_mvp.retrieval.arrays import Doubles
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.stages.base import Stage
from chatbot_mvp.retrieval.stages.kb_chat.words import ChatWords, plain
from chatbot_mvp.retrieval.trace import PART, Hit, RetrievalTrace, hits_of
from chatbot_mvp.settings.model import Settings

WEIGHTS = {"bm25_norm": 0.5, "overlap_norm": 0.3, "exact_bonus": 1.0, "heading_bonus": 1.0, "fuzzy_bonus": 1.0}
"""Signal -> weight. The bonuses are given in units of the score."""
PHRASE, MOST_PHRASES, MANY_WORDS = 0.12, 0.36, 0.06
"""Bonus per literal phrase, its limit, and the bonus for a chunk with most words of the question."""
MOST_HEADING = 0.28
FUZZY_FROM, FUZZY_SLOPE, MOST_FUZZY = 0.72, 0.6, 0.24
_KEPT = 200  # hits that a trace keeps at least; a ``Hit`` for each of many passages would cost more than the search
_MANY = 0.6  # share of the question's terms that are most of them, at least two
_STRONG = {"exact_bonus": 0.18, "heading_terms": 2, "heading_share": 0.4, "fuzzy_ratio": 0.88}
STRONG_TOP, SUM, TOP = 0.20, 0.85, 0.58
"""Least score of the best hit beside a strong match, sum of the two best scores, score of the best hit alone."""
_SUMMED = 2


class KbChatScore(Stage):
    """Ranks chunks by the weighted sum of five signals of their words and headings.

    score = 0.5 x ``bm25_norm`` + 0.3 x ``overlap_norm`` + ``exact_bonus`` + ``heading_bonus`` + ``fuzzy_bonus``, where
    *expanded* are the terms of the question and of its expansion, and a chunk's heading is the last one of its path:

    - ``bm25_norm``: BM25 of the expanded question (``ChatWords.bm25``) over the best chunk's, 0-1.
    - ``overlap_norm``: share of the distinct expanded terms that the chunk has, 0-1.
    - ``exact_bonus``: 0.12 for each bigram or trigram of the question's own content words that stands literally in the
      chunk, 0.36 at most; and 0.06 if the chunk has 60 % of the question's distinct terms, and two at least.
    - ``heading_bonus``: 0.28 x the share of the distinct expanded terms that the heading has, 0-0.28.
    - ``fuzzy_bonus``: 0.6 x (likeness of question and heading - 0.72), from 0.72 on, 0.24 at most.

    The signal ``strong_match`` is 1 if a phrase stands literally in the chunk, its ``exact_bonus`` is at least 0.18,
    its heading has two expanded terms or 40 % of them, or the likeness is at least 0.88; else 0. It has no part in the
    score. Ties break by the number of common terms, then by the order of the text. Chunks with the score 0 are no hits.
    """

    name = "five_signals"
    finds_by_words = True
    knobs = frozenset({"query_expansion_llm"})

    def __init__(self, index: CorpusIndex, config: Settings) -> None:
        super().__init__(index, config)
        self._words = index.derived(ChatWords)
        self._kept = max(_KEPT, config.hits_read)

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        signals, overlap, strong = self._signals(trace)
        parts = {name: weight * signals[name] for name, weight in WEIGHTS.items()}
        scores = sum(parts.values(), np.zeros(1))
        rows = np.lexsort((np.arange(len(scores)), -overlap, -scores))
        rows = rows[scores[rows] > 0][: self._kept]
        shown = {**signals, "strong_match": strong, **{f"{PART}{name}": value for name, value in parts.items()}}
        columns = {name: np.round(value[rows], 6).tolist() for name, value in shown.items()}
        hits = hits_of(self.index.chunks, rows.tolist(), scores[rows].tolist(), columns)
        return replace(trace, hits=hits), {"found": len(hits)}

    def _signals(self, trace: RetrievalTrace) -> tuple[Mapping[str, Doubles], Doubles, Doubles]:
        """Return (the five signals, number of common expanded terms, 1 for a strong match else 0), shape (chunks,)."""
        words, chunks = self._words, len(self._words.lengths)
        asked = words.analyzer.content_words(trace.query)
        expanded = Counter(words.analyzer.terms(trace.query_expanded or trace.query))
        distinct = max(1, len(expanded))
        bm25, overlap = words.bm25(expanded), words.terms.having(expanded)
        phrases = words.phrase_counts(asked)
        own = list(dict.fromkeys(term for _, term in asked))
        many = words.terms.having(own) >= max(2, math.ceil(_MANY * len(own)))
        exact = np.minimum(MOST_PHRASES, PHRASE * phrases) + MANY_WORDS * many
        in_heading = words.heading_terms.having(expanded)[words.heading_of] if chunks else np.zeros(0)
        ratio = self._ratios(plain(trace.query))
        fuzzy = np.where(ratio >= FUZZY_FROM, np.minimum(MOST_FUZZY, FUZZY_SLOPE * (ratio - FUZZY_FROM)), 0.0)
        share = in_heading / distinct
        strong = (
            (phrases > 0)
            | (exact >= _STRONG["exact_bonus"])
            | (in_heading >= _STRONG["heading_terms"])
            | (share >= _STRONG["heading_share"])
            | (ratio >= _STRONG["fuzzy_ratio"])
        )
        best = float(bm25.max()) if chunks else 0.0
        signals = {
            "bm25_norm": bm25 / best if best > 0 else bm25,
            "overlap_norm": overlap / distinct,
            "exact_bonus": exact,
            "heading_bonus": MOST_HEADING * share,
            "fuzzy_bonus": fuzzy,
        }
        return signals, overlap, strong.astype(float)

    def _ratios(self, query: str) -> Doubles:
        """Return the likeness (0-1) of the question and each chunk's heading; 0 where it is below 0.72."""
        headings = self._words.headings_plain
        found = np.zeros(len(headings))
        if query:
            like = process.extract(query, headings, scorer=fuzz.ratio, score_cutoff=100 * FUZZY_FROM, limit=None)
            for _, percent, row in like:
                found[row] = percent / 100
        return found[self._words.heading_of] if len(found) else np.zeros(0)


def own_score(hit: Hit) -> float:
    """Return the score of the five signals of a hit, also where a reranker has put another one in its place."""
    return hit.signals.get("before_rerank", hit.score)


class KbChatEvidence(Stage):
    """Judges the evidence by the scores of the selected hits.

    It suffices if there is a strong match and the best score is at least 0.20, or the two best scores add up to 0.85,
    or the best score is at least 0.58. ``evidence`` is 0.5 or more exactly then (see ``degree``); ``topic`` stays None,
    since the rule says nothing about the subject. Chunks that stitching added do not count.
    """

    name = "evidence"

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        added = set(trace.chunks_added_by_stitching)
        reached = criteria([hit for hit in trace.chunks_final if hit.chunk.chunk_id not in added])
        notes = {name: round(value, 4) for name, value in reached.items()}
        return replace(trace, evidence=degree(reached.values()), topic=None), notes


def criteria(hits: Sequence[Hit]) -> dict[str, float]:
    """Return how far each criterion is reached, as a multiple of its threshold: ``strong_match``, ``sum``, ``top``."""
    scores = sorted((own_score(hit) for hit in hits), reverse=True)
    top = scores[0] if scores else 0.0
    strong = any(hit.signals.get("strong_match", 0.0) > 0 for hit in hits)
    return {
        "strong_match": top / STRONG_TOP if strong else 0.0,
        "sum": sum(scores[:_SUMMED]) / SUM,
        "top": top / TOP,
    }


def degree(reached: Iterable[float]) -> float:
    """Return the evidence, 0-1, of the best criterion x: x / 2 below 1, and 1 - 1 / (2 x) from 1 on."""
    best = max(reached, default=0.0)
    return best / 2 if best < 1 else 1 - 1 / (2 * best)
