"""Score from 0 to 1 how well the found passages can answer a question, independently of the topic.

For a knowledge base: a logistic regression over the features of ``kb_evidence``, with the weights in
``evidence_weights.json`` that ``benchmarks/fit_evidence.py`` fits. For a corpus of whole passages: the idf-weighted
share of the question's terms that a passage covers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.stages.kb_evidence import evidence_features
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace

WEIGHTS_PATH = Path(__file__).with_name("evidence_weights.json")
_PASSAGES = 3


def evidence_score(trace: RetrievalTrace, index: CorpusIndex) -> tuple[float, dict[str, Any]]:
    """Score how well ``trace.chunks_final`` can answer the question.

    Returns:
        (score in 0-1, notes). The score is 0 if the question has no terms, no hits, or no term in common with them.
    """
    share, notes = covered_share(trace.query, trace.chunks_final, index)
    if index.kb is None or not share:
        return share, notes
    features = evidence_features(trace, index)
    models = _models()
    embedder = index.dense.embedder.model_id if index.dense is not None else ""
    # Each embedding model has its own range of cosines, so the fitted weights are valid for some models only.
    name = "hybrid" if "cosine" in features and embedder in models["hybrid"]["embedders"] else "lexical"
    score = logistic(features, models[name], models["max_z"])
    return score, {**notes, "model": name, **{key: round(value, 4) for key, value in features.items()}}


def covered_share(query: str, hits: Sequence[Hit], index: CorpusIndex) -> tuple[float, dict[str, Any]]:
    """Return (the best idf-weighted share of the question's terms in one of the first three passages, 0-1; notes).

    A term that the corpus lacks has the highest idf, so a question about another subject scores low.
    """
    terms = dict.fromkeys(index.analyzer.terms(query))
    weights = {term: index.idf(term) for term in terms}
    total = sum(weights.values())
    if not hits or not total:
        return 0.0, {"terms": len(terms), "missing": sorted(terms)}
    best, best_present = -1.0, set[str]()
    for present in index.terms_present(terms, [hit.chunk for hit in hits[:_PASSAGES]]):
        covered = sum(weight for term, weight in weights.items() if term in present)
        if covered > best:
            best, best_present = covered, present
    return min(1.0, best / total), {"terms": len(terms), "missing": sorted(terms.keys() - best_present)}


def logistic(features: Mapping[str, float], model: Mapping[str, Any], max_z: float = math.inf) -> float:
    """Apply a logistic regression: 1 / (1 + exp(-(intercept + sum of weight x z))), in 0-1.

    Args:
        features: feature name -> value.
        model: ``intercept``, and ``features``: name -> (weight, mean, scale), with z = (value - mean) / scale.
        max_z: limit of the absolute value of z.
    """
    total = model["intercept"]
    for name, (weight, mean, scale) in model["features"].items():
        total += weight * max(-max_z, min(max_z, (features[name] - mean) / scale))
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, total))))


@cache
def _models() -> dict[str, Any]:
    models: dict[str, Any] = json.loads(WEIGHTS_PATH.read_text("utf-8"))
    return models
