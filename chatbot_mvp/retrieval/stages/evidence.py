"""Score from 0 to 1 how well the found passages can answer a question, independently of the topic.

For a knowledge base: logistic regressions over features that do not depend on the topic, with the weights in
``evidence_weights.json`` that ``benchmarks/fit_evidence.py`` fits. For a corpus of whole passages: the idf-weighted
share of the question's terms that a passage covers. The features of late interaction say how well the tokens of a
question are found in the first passage.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from chatbot_mvp.embedding.e5.embedder import E5_MODEL_IDS, MODEL_ID
from chatbot_mvp.retrieval.arrays import Array, Doubles, best_rows
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.indexes.dense_side import passage_texts
from chatbot_mvp.retrieval.kb.vocabulary import KbIndex
from chatbot_mvp.retrieval.late.matching import max_sim
from chatbot_mvp.retrieval.stages.exact_names import names_record
from chatbot_mvp.retrieval.stages.fusion import adaptive_alpha, over_best
from chatbot_mvp.retrieval.stages.kb_cosines import alike_cosines, window_cosines
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace

LEXICAL_FEATURES = (
    "letters",
    "letters_margin",
    "letters_lead",
    "sentence",
    "coverage",
    "unknown",
    "elsewhere",
    "rarest",
    "bm25",
    "bm25_sum",
    "strong_match",
    "names_missing",
    "terms",
)
DENSE_FEATURES = ("cosine", "cosine_z", "sentence_cosine", "section_lead", "alone")
LATE_FEATURES = (
    "late",
    "late_chunk",
    "late_margin",
    "late_lead",
    "late_found",
    "late_missed",
    "late_worst",
    "words",
    "vector_norm",
)
_FOUND, _MISSED = 0.7, 0.4  # cosines of a token with the closest token of the passage
_BEST = 3
_BM25_MOST = 2.2  # k1 + 1: the upper limit of a term's BM25 score, in units of its idf
_CORRECTED = 0.5  # a word that the KB knows after spelling correction only counts as half known
_SHARPNESS = 40.0  # large, because the cosines of a question to its KB differ by a few hundredths only

WEIGHTS_PATH = Path(__file__).with_name("evidence_weights.json")
NAMED_HEADING = 0.75
"""Least evidence of a question that names the heading of its first chunk: the section is about it. No question that the
weights were fitted on is like that, and the chat suggests such questions itself. The same for a question that names a
record by its number (``names_record``)."""
_CODE = re.compile(r"[^\W\d_]+\d\w*")
_PASSAGES = 3
_ABOUT = ("coverage", "unknown", "letters", "bm25")
_MEANT = ("cosine", "sentence_cosine")


def evidence_features(trace: RetrievalTrace, index: CorpusIndex) -> dict[str, float]:
    """Compute the evidence features of a question that has terms and hits in a knowledge base.

    *The paragraph* below is the paragraph of the first final chunk that matches the question best. "Share" means an
    idf-weighted share in 0-1 unless stated otherwise; a window is two neighbouring sentences.

    Always present:

    - ``letters``: share of the question's letter 4-grams in the best window of the KB.
    - ``letters_margin``: ``letters`` minus the mean of the next three paragraphs.
    - ``letters_lead``: the same share for the paragraph, minus the best of the other paragraphs of its section.
    - ``sentence``, ``coverage``: share of the question's terms in the paragraph's best window, and in all of it.
    - ``unknown``: share of the terms that the KB does not have; a term with a spelling correction counts half.
    - ``elsewhere``: share of the terms that only other paragraphs have.
    - ``rarest``: unweighted share of the three rarest terms that the paragraph has.
    - ``bm25``, ``bm25_sum``: BM25 of the paragraph, and of the three best together, over the question's maximum.
    - ``strong_match``: unweighted share of neighbouring terms that stand together in the paragraph, times ``bm25``.
    - ``names_missing``: unweighted share of capitalised words and numbers that the paragraph lacks.
    - ``terms``: number of distinct terms of the question.

    With vectors only:

    - ``cosine``: of the paragraph's best window.
    - ``cosine_z``: of the KB's best window, in standard deviations above the mean of all windows in its language.
    - ``sentence_cosine``: of the KB's best single sentence.
    - ``section_lead``: cosine of the paragraph's best sentence, minus that of the other paragraphs of its section.
      Low if the answering paragraph is missing, because its neighbours are then all alike.
    - ``alone``: 1 / sum of exp(40 x (cosine - best cosine)) over the best sentences of the paragraphs; 1 if no other
      paragraph comes near the best.
    """
    kb = index.kb
    assert kb is not None, "features are of a knowledge base"
    matcher = kb.matcher
    own = dict.fromkeys(kb.analyzer.terms(trace.query), 1.0)
    names = list(dict.fromkeys(_names(trace.query, kb)))
    bm25, windows, letters = matcher.bm25(own), matcher.window_coverage(own), matcher.letters(trace.query)
    cosines = window_cosines(trace, index.dense)
    match = over_best(over_best(bm25) + 0.5 * over_best(windows) + 0.5 * over_best(letters))
    if cosines is not None:
        share, dense = adaptive_alpha(trace.query), matcher.best_of_windows(cosines)
        match = (1 - share) * match + share * (dense - dense.min()) / max(1e-9, float(np.ptp(dense)))
    top = _paragraph(trace, index, match)
    same_section = matcher.same_section(top)
    idf = {term: matcher.terms.idf(term) for term in own}
    total = sum(idf.values())
    present = {term for term in own if top in matcher.terms.rows(term)}
    corrected = sum(note.startswith(("vocab", "fuzzy_heading")) for note in trace.expansion_notes)
    lacking = sorted((idf[term] for term in own if term not in matcher.terms), reverse=True)
    discount = sum(lacking[:corrected]) * _CORRECTED
    rarest = sorted(own, key=lambda term: (-idf[term], term))[:_BEST]
    # Reversed views of rising values: numpy sums them from the end, which decides the last digit.
    ranked = np.sort(letters[best_rows(letters, _BEST + 1)])[::-1]
    reach = total * _BM25_MOST
    best_bm25 = np.sort(bm25[best_rows(bm25, _BEST)])[::-1]
    pairs = float(matcher.pair_share(list(own))[top])
    features = {
        "letters": float(ranked[0]),
        "letters_margin": float(ranked[0] - (ranked[1:].mean() if len(ranked) > 1 else 0.0)),
        "letters_lead": _lead(letters, top, same_section, float(letters.mean())),
        "sentence": float(windows[top]),
        "coverage": math.fsum(idf[term] for term in present) / total,
        "unknown": (sum(lacking) - discount) / total,
        "elsewhere": sum(idf[term] for term in own if term in matcher.terms and term not in present) / total,
        "rarest": sum(term in present for term in rarest) / len(rarest),
        "bm25": float(bm25[top]) / reach,
        "bm25_sum": float(best_bm25.sum()) / reach,
        "strong_match": pairs * float(bm25[top]) / reach,
        "names_missing": sum(name not in present for name in names) / len(names) if names else 0.0,
        "terms": float(len(own)),
    }
    if cosines is None or trace.query_vector is None or index.dense is None or index.dense.sentences is None:
        return features
    alike = alike_cosines(trace, index, cosines)
    spread = float(alike.std())
    by_sentence = index.dense.sentences.cosines(trace.query_vector).astype(float)
    sentences = matcher.best_of_windows(by_sentence)
    features["cosine"] = float(dense[top])
    features["cosine_z"] = float(cosines.max() - alike.mean()) / spread if spread > 1e-6 else 0.0
    features["sentence_cosine"] = float(sentences.max())
    features["section_lead"] = _lead(sentences, top, same_section, float(by_sentence.mean()))
    features["alone"] = float(1 / np.exp(_SHARPNESS * (sentences - sentences.max())).sum())
    return features


def late_features(trace: RetrievalTrace, index: CorpusIndex) -> dict[str, float]:
    """Compute the features of a question whose hits ``LateInteraction`` has ranked; {} without its signals.

    A token's cosine below is that with the closest token of the best paragraph of the first final chunk. Shares are of
    the tokens' weights (``LateWeights.shares``).

    - ``late``, ``late_chunk``: ``max_sim`` of the best paragraph of the first chunk, and of all of the chunk.
    - ``late_margin``: ``late`` minus the mean of the next three chunks.
    - ``late_lead``: ``late`` minus that of the best other chunk of the same section, or minus the candidates' mean.
    - ``late_found``, ``late_missed``: share of the tokens with a cosine above 0.7, and below 0.4.
    - ``late_worst``: the lowest cosine of a token that counts more than the average.
    - ``words``, ``vector_norm``: the chunk's signals of that name, relative to the best chunk by each.
    """
    kb, side, question = index.kb, index.dense, trace.query_tokens
    first = trace.chunks_final[0]
    if kb is None or side is None or side.tokens is None or question is None or "late" not in first.signals:
        return {}
    paragraphs = kb.paragraphs.of(index.row_of[first.chunk.chunk_id])
    closest, shares, counts = side.tokens.compared(question, passage_texts(kb, paragraphs.tolist()))
    by_paragraph = max_sim(closest, shares, counts)
    cosines = closest[:, int(by_paragraph.argmax())]
    late = float(by_paragraph.max())
    others = [hit for hit in trace.hits if "late" in hit.signals and hit.chunk.chunk_id != first.chunk.chunk_id]
    of_others = sorted((hit.signals["late"] for hit in others), reverse=True)
    beside = [hit.signals["late"] for hit in others if hit.chunk.section == first.chunk.section]
    usual = float(np.mean(of_others)) if of_others else 0.0
    return {
        "late": late,
        "late_chunk": first.signals["late_chunk"],
        "late_margin": late - (float(np.mean(of_others[:_BEST])) if of_others else 0.0),
        "late_lead": late - (max(beside) if beside else usual),
        "late_found": float(shares[cosines > _FOUND].sum()),
        "late_missed": float(shares[cosines < _MISSED].sum()),
        "late_worst": float(cosines[shares >= shares.mean()].min()),
        "words": first.signals["words"],
        "vector_norm": first.signals["vector_norm"],
    }


def _paragraph(trace: RetrievalTrace, index: CorpusIndex, match: Doubles) -> int:
    """Return the row of the best-matching paragraph of the first final chunk."""
    assert index.kb is not None, "a paragraph is of a knowledge base"
    candidates = index.kb.paragraphs.of(index.row_of[trace.chunks_final[0].chunk.chunk_id])
    return int(candidates[np.argmax(match[candidates])] if len(candidates) else np.argmax(match))


def _lead(scores: Doubles, top: int, others: Array, usual: float) -> float:
    """Return the score of row ``top`` minus the best score of ``others``, or minus ``usual`` if there are none."""
    return float(scores[top]) - (float(scores[others].max()) if len(others) else usual)


def _names(query: str, kb: KbIndex) -> list[str]:
    """Return the terms of the question's capitalised words (except the first word) and of its numbers."""
    found = []
    for row, written in enumerate(query.split()):
        word = written.strip("¿?¡!()[]\"'«»“”.,;:")
        if word and ((row > 0 and word[0].isupper()) or any(char.isdigit() for char in word)):
            found += kb.analyzer.terms(word)
    return found


@dataclass(frozen=True)
class EvidenceModel:
    """The features of a fitted model."""

    evidence: tuple[str, ...]
    topic: tuple[str, ...]
    embedders: tuple[str, ...] = ()
    """Embedding models whose cosines it was fitted to; empty if it uses none."""


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
    elif _names_code(trace, index):
        topic = 1.0
    rounded = {feature: round(value, 4) for feature, value in features.items()}
    judged = replace(trace, evidence=evidence, topic=topic)
    return judged, {**notes, "model": name, "topic": round(topic, 4), **rounded}


def _names_heading(trace: RetrievalTrace, index: CorpusIndex) -> bool:
    """Return whether a heading of the first chunk has all terms of the question ("¿Qué hay sobre vacaciones?")."""
    terms = set(index.analyzer.terms(trace.query))
    headings = trace.chunks_final[0].chunk.section.split(" > ")
    return any(terms <= set(index.analyzer.terms(heading)) for heading in headings)


def _names_code(trace: RetrievalTrace, index: CorpusIndex) -> bool:
    """Return whether a final chunk has a code of the question: letters and then digits in one word ("What is E2?")."""
    codes = {term for word, term in index.analyzer.content_words(trace.query) if _CODE.fullmatch(word)}
    return any(index.terms_present(codes, [hit.chunk for hit in trace.chunks_final]))


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
