"""How far the found passages can answer a question, from 0 to 1. Nothing in it knows a topic.

For a knowledge base a logistic regression over the features of ``kb_evidence``; its weights, ``evidence_weights.json``,
are made by ``benchmarks/fit_evidence.py``. For a corpus of whole passages the idf-weighted share of the question that
is covered.
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
    """
    Returns:
        (score in 0-1, notes); 0 for a question without terms, without hits or without any term in common.
    """
    share, notes = covered_share(trace.query, trace.chunks_final, index)
    if index.kb is None or not share:
        return share, notes
    features = evidence_features(trace, index)
    models = _models()
    embedder = index.dense.embedder.model_id if index.dense is not None else ""
    # Cosines of another model lie elsewhere: what was fitted on one says nothing about them.
    name = "hybrid" if "cosine" in features and embedder == models["hybrid"]["embedder"] else "lexical"
    score = logistic(features, models[name], models["max_z"])
    return score, {**notes, "model": name, **{key: round(value, 4) for key, value in features.items()}}


def covered_share(query: str, hits: Sequence[Hit], index: CorpusIndex) -> tuple[float, dict[str, Any]]:
    """(the idf-weighted share (0-1) of the question's terms that one of the three best passages has, notes).

    A term that the corpus does not have at all weighs the most, so a question about something else scores low.
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
    """1 / (1 + exp(-(intercept + sum of weight x z))), 0-1; z = (value - mean) / scale, within -max_z and max_z."""
    total = model["intercept"]
    for name, (weight, mean, scale) in model["features"].items():
        total += weight * max(-max_z, min(max_z, (features[name] - mean) / scale))
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, total))))


@cache
def _models() -> dict[str, Any]:
    models: dict[str, Any] = json.loads(WEIGHTS_PATH.read_text("utf-8"))
    return models
