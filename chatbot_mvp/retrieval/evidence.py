"""How far the found passages can answer a question, from 0 to 1. Nothing in it knows a topic.

For a knowledge base a logistic regression over the features below; its weights are in ``evidence_weights.json``, made
by ``benchmarks/fit_evidence.py``. For a corpus of whole passages the idf-weighted share of the question covered.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from chatbot_mvp.kb.vocabulary import KbIndex
from chatbot_mvp.retrieval.index import CorpusIndex
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace

WEIGHTS_PATH = Path(__file__).with_name("evidence_weights.json")
LEXICAL_FEATURES = (
    "letters",
    "letters_margin",
    "sentence",
    "coverage",
    "unknown",
    "rarest",
    "bm25",
    "bm25_sum",
    "strong_match",
    "names_missing",
)
DENSE_FEATURES = ("cosine", "cosine_z", "agreement")
_PASSAGES = 3
_BM25_MOST = 2.2  # k1 + 1: what a term can count at most of its idf
_CORRECTED = 0.5  # a word that the KB does not have but for its spelling is half known


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
    score = logistic(features, models[name])
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


def evidence_features(trace: RetrievalTrace, index: CorpusIndex) -> dict[str, float]:
    """The features of a question with terms and hits over a knowledge base; those of vectors only where there are any.

    letters, letters_margin: idf-weighted share of the question's letter 4-grams in the best sentence window of the KB,
    and its lead over the mean of the next three paragraphs; sentence, coverage: that of its terms in the best window
    and in all of the best hit's paragraph; unknown: idf-weighted share of terms that the KB does not have, a corrected
    one by half; rarest: share of the three rarest terms that the paragraph has; bm25, bm25_sum: its BM25, and that of
    the three best, over what the question could reach; strong_match: the old rule's strong match (terms that stand
    together) where the top score is reasonable; names_missing: share of capitalised words and numbers that the
    paragraph lacks; cosine, cosine_z: of the paragraph's best window, and of the KB's best window in standard
    deviations over all; agreement: 1 when letters and vectors prefer the same paragraph.
    """
    kb = index.kb
    assert kb is not None, "features are of a knowledge base"
    matcher = kb.matcher
    own = dict.fromkeys(kb.analyzer.terms(trace.query), 1.0)
    names = list(dict.fromkeys(_names(trace.query, kb)))
    bm25, windows, letters = matcher.bm25(own), matcher.window_coverage(own), matcher.letters(trace.query)
    positions = {chunk.chunk_id: row for row, chunk in enumerate(kb.chunks)}
    first = positions[trace.chunks_final[0].chunk.chunk_id]
    candidates = [row for row, passage in enumerate(matcher.passages) if first in passage.hits]
    top = max(candidates, key=lambda row: (bm25[row] + windows[row], -row), default=int(np.argmax(bm25)))
    idf = {term: matcher.terms.idf(term) for term in own}
    total = sum(idf.values())
    present = {term for term in own if top in matcher.terms.rows(term)}
    corrected = sum(note.startswith(("vocab", "fuzzy_heading")) for note in trace.expansion_notes)
    lacking = sorted((idf[term] for term in own if term not in matcher.terms), reverse=True)
    discount = sum(lacking[:corrected]) * _CORRECTED
    rarest = sorted(own, key=lambda term: (-idf[term], term))[:_PASSAGES]
    ranked = np.sort(letters)[::-1]
    reach = total * _BM25_MOST
    best_bm25 = np.sort(bm25)[::-1][:_PASSAGES]
    pairs = float(matcher.pair_share(list(own))[top])
    features = {
        "letters": float(ranked[0]),
        "letters_margin": float(ranked[0] - (ranked[1:4].mean() if len(ranked) > 1 else 0.0)),
        "sentence": float(windows[top]),
        "coverage": sum(idf[term] for term in present) / total,
        "unknown": (sum(lacking) - discount) / total,
        "rarest": sum(term in present for term in rarest) / len(rarest),
        "bm25": float(bm25[top]) / reach,
        "bm25_sum": float(best_bm25.sum()) / reach,
        "strong_match": pairs * float(bm25[top]) / reach,
        "names_missing": sum(name not in present for name in names) / len(names) if names else 0.0,
    }
    if index.dense is not None and index.dense.windows is not None and trace.query_vector is not None:
        cosines = index.dense.windows.cosines(trace.query_vector).astype(float)
        of_passages = matcher.best_of_windows(cosines)
        spread = float(cosines.std())
        features["cosine"] = float(of_passages[top])
        features["cosine_z"] = float(cosines.max() - cosines.mean()) / spread if spread > 1e-6 else 0.0
        features["agreement"] = float(np.argmax(letters) == np.argmax(of_passages))
    return features


def logistic(features: Mapping[str, float], model: Mapping[str, Any]) -> float:
    """1 / (1 + exp(-(intercept + sum of weight x (value - mean) / scale))), 0-1."""
    z = model["intercept"]
    for name, (weight, mean, scale) in model["features"].items():
        z += weight * (features[name] - mean) / scale
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, z))))


def _names(query: str, kb: KbIndex) -> list[str]:
    """Terms of the question's capitalised words, the first word aside, and of its numbers."""
    found = []
    for row, written in enumerate(query.split()):
        word = written.strip("¿?¡!()[]\"'«»“”.,;:")
        if word and ((row > 0 and word[0].isupper()) or any(char.isdigit() for char in word)):
            found += kb.analyzer.terms(word)
    return found


@cache
def _models() -> dict[str, Any]:
    models: dict[str, Any] = json.loads(WEIGHTS_PATH.read_text("utf-8"))
    return models
