"""What a hit's score is made of: summands that add up to it, for every strategy and after a reranker."""

from __future__ import annotations

from collections.abc import Mapping

from chatbot_mvp.retrieval.stages.bridge import Bridge
from chatbot_mvp.retrieval.stages.exact import RAISED
from chatbot_mvp.retrieval.stages.kb_score import SIGNAL_WEIGHTS, KbScore, score_parts
from chatbot_mvp.retrieval.stages.late_interaction import LateInteraction
from chatbot_mvp.retrieval.trace import PART, Hit, RetrievalTrace

RERANK = "rerank"
WALK = "walk"
"""Summand of a hit that the walk over links has ranked: its score is fitted and no sum of signals."""
REST = "score"
"""Summand of a score whose stage says nothing on what it is made of."""


def parts_of(hit: Hit, trace: RetrievalTrace) -> dict[str, float]:
    """Split the score of one hit of ``trace`` into summands.

    Returns:
        Name -> what it adds, in the order of the drawing. The names are those of signals, or ``RERANK``, ``WALK``,
        ``RAISED``, ``REST``. The values add up to ``hit.score``; {} for a hit with the score 0, such as a stitched
        neighbour.

        A stage gives its summands as signals with the prefix ``PART``; the words of a knowledge base among them are
        split into the keyword signals, in proportion to weight x signal. A reranked score is w x the earlier score
        relative to the best + (1 - w) x the reranker's score: the earlier summands are scaled to the first of the two.
    """
    if not hit.score:
        return {}
    given = {name.removeprefix(PART): value for name, value in hit.signals.items() if name.startswith(PART)}
    reranked = given.pop(RERANK, None)
    raised = given.pop(RAISED, 0.0)
    before = hit.signals.get("before_rerank", hit.score) - raised
    if given:
        words = given.pop("words", None)
        parts = given if words is None else {**_of_words(words, hit.signals), **given}
    else:
        parts = _of_stages(before, hit.signals, trace) if before else {}
    if raised:
        parts = {**parts, RAISED: raised}
    if "before_rerank" not in hit.signals:
        return parts
    parts = _scaled(parts, hit.score - (reranked or 0.0))
    return parts if reranked is None else {**parts, RERANK: reranked}


def _of_words(value: float, signals: Mapping[str, float]) -> dict[str, float]:
    """Split what the words add; over documents with links they are the walk's first search, by BM25 alone."""
    if "words" not in signals:
        return {"bm25_norm": value}
    return _scaled({name: weight * signals.get(name, 0.0) for name, weight in SIGNAL_WEIGHTS.items()}, value)


def _of_stages(score: float, signals: Mapping[str, float], trace: RetrievalTrace) -> dict[str, float]:
    """Split the score of a hit whose last stage gave no summands."""
    notes = {record.stage: record.notes for record in trace.records}
    if KbScore.name in notes:
        share = float(notes[KbScore.name].get("vector_share", 0.0))
        if "words" in signals:
            scored = (1 - share) * signals["words"] + share * signals.get("vector_norm", 0.0)
            # Late interaction moves the hits that it does not compare below those that it does, by one factor.
            return _scaled(score_parts(scored, signals, share), score) if scored else {REST: score}
    if Bridge.name in notes and "named" in signals:
        return {WALK: score}
    single = [name for name in ("bm25", "vector") if name in signals]
    return {single[0] if len(single) == 1 and LateInteraction.name not in notes else REST: score}


def _scaled(parts: Mapping[str, float], total: float) -> dict[str, float]:
    """Scale summands by one factor, so that they add up to ``total``."""
    found = sum(parts.values())
    if found <= 0:
        return {REST: total} if total else dict.fromkeys(parts, 0.0)
    return {name: value * total / found for name, value in parts.items()}
