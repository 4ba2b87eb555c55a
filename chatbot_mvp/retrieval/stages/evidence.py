"""Score from 0 to 1 how well the found passages can answer a question, independently of the topic.

For a knowledge base: logistic regressions over the features of ``kb_evidence``, with the weights
in ``evidence_weights.json`` that ``benchmarks/fit_evidence.py`` fits. For a corpus of whole passages: the idf-weighted
share of the question's terms that a passage covers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from chatbot_mvp.embedding.e5.embedder import E5_MODEL_IDS, MODEL_ID
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.stages.exact_names import names_record
from chatbot_mvp.retrieval.stages.kb_evidence import (
    DENSE_FEATURES,
    LATE_FEATURES,
    LEXICAL_FEATURES,
    evidence_features,
    late_features,
)
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace

WEIGHTS_PATH = Path(__file__).with_name("evidence_weights.json")
NAMED_HEADING = 0.75
"""Least evidence of a question that names the heading of its first chunk: the section is about it. No question that the
weights were fitted on is like that, and the chat suggests such questions itself. The same for a question that names a
record by its number (``names_record``)."""
_PASSAGES = 3


@dataclass(frozen=True)
class EvidenceModel:
    """The features of a fitted model."""

    evidence: tuple[str, ...]
    topic: tuple[str, ...]
    embedders: tuple[str, ...] = ()
    """Embedding models whose cosines it was fitted to; empty if it uses none."""


_ABOUT = ("coverage", "unknown", "letters", "bm25")
_MEANT = ("cosine", "sentence_cosine")
MODELS = {
    "lexical": EvidenceModel(LEXICAL_FEATURES, _ABOUT),
    "hybrid": EvidenceModel(LEXICAL_FEATURES + DENSE_FEATURES, _ABOUT + _MEANT, E5_MODEL_IDS),
    # Sentences from one pass have read their paragraph, so they are closer to each other than sentences embedded alone.
    "late": EvidenceModel(
        (*LEXICAL_FEATURES, "cosine", "cosine_z", "alone", *LATE_FEATURES),
        (*_MEANT, "cosine_z", "late", "late_chunk", "late_missed", "late_worst"),
        (MODEL_ID,),
    ),
}
"""Name -> features. The last one whose features are there is used."""


def judge(trace: RetrievalTrace, index: CorpusIndex) -> tuple[RetrievalTrace, dict[str, Any]]:
    """Return the trace with ``evidence`` and ``topic`` of its final chunks, and notes on both.

    From 0.5 on, strict mode answers by default. The evidence is 0 if the question has no terms or nothing was found.
    The topic is None then, and for a corpus.
    """
    share, notes = covered_share(trace.query, trace.chunks_final, index)
    if index.kb is None:
        return replace(trace, evidence=share, topic=None), notes
    features = kb_features(trace, index)
    if not features:
        return replace(trace, evidence=0.0, topic=None), notes
    fitted = _fitted()
    embedder = index.dense.embedder.model_id if index.dense is not None else ""
    # Each embedding model has its own range of cosines, so the fitted weights are valid for some models only.
    usable = [
        name
        for name, model in MODELS.items()
        if features.keys() >= {*model.evidence, *model.topic} and embedder in (model.embedders or (embedder,))
    ]
    name = usable[-1]
    evidence, topic = (logistic(features, fitted[name][score], fitted["max_z"]) for score in ("evidence", "topic"))
    if _names_heading(trace, index) or names_record(trace, index):
        evidence, topic = max(evidence, NAMED_HEADING), 1.0
    rounded = {feature: round(value, 4) for feature, value in features.items()}
    judged = replace(trace, evidence=evidence, topic=topic)
    return judged, {**notes, "model": name, "topic": round(topic, 4), **rounded}


def _names_heading(trace: RetrievalTrace, index: CorpusIndex) -> bool:
    """Return whether a heading of the first chunk has all terms of the question ("¿Qué hay sobre vacaciones?")."""
    terms = set(index.analyzer.terms(trace.query))
    headings = trace.chunks_final[0].chunk.section.split(" > ")
    return any(terms <= set(index.analyzer.terms(heading)) for heading in headings)


def kb_features(trace: RetrievalTrace, index: CorpusIndex) -> dict[str, float]:
    """Compute all features of a question that a knowledge base has hits for; {} if it has no term or no hit."""
    if not trace.chunks_final or not index.analyzer.terms(trace.query):
        return {}
    return evidence_features(trace, index) | late_features(trace, index)


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
def _fitted() -> dict[str, Any]:
    fitted: dict[str, Any] = json.loads(WEIGHTS_PATH.read_text("utf-8"))
    return fitted
