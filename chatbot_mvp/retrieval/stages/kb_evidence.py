"""What tells a question that a knowledge base answers from one that it does not: numbers without a topic."""

from __future__ import annotations

import numpy as np

from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.kb.matching import Scores
from chatbot_mvp.retrieval.kb.vocabulary import KbIndex
from chatbot_mvp.retrieval.stages.fusion import adaptive_alpha
from chatbot_mvp.retrieval.trace import RetrievalTrace

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
_BEST = 3
_BM25_MOST = 2.2  # k1 + 1: what a term can count at most of its idf
_CORRECTED = 0.5  # a word that the KB does not have but for its spelling is half known
_SHARPNESS = 40.0  # cosines of a question to its KB lie within some hundredths of each other


def evidence_features(trace: RetrievalTrace, index: CorpusIndex) -> dict[str, float]:
    """The features of a question with terms and hits over a knowledge base; those of vectors only where there are any.

    They are about *the paragraph*: that of the first final chunk which matches the question best.

    letters, letters_margin: idf-weighted share of the question's letter 4-grams in the best sentence window of the KB,
    and its lead over the mean of the next three paragraphs; letters_lead: that of the paragraph over the other ones of
    its section; sentence, coverage: idf-weighted share of the question's terms in the best window and in all of the
    paragraph; unknown, elsewhere: that of terms which the KB does not have (a corrected one by half), and which only
    other paragraphs have; rarest: share of the three rarest terms that the paragraph has; bm25, bm25_sum: its BM25, and
    that of the three best, over what the question could reach; strong_match: the old rule's strong match (terms that
    stand together) where the top score is reasonable; names_missing: share of capitalised words and numbers that the
    paragraph lacks; terms: the number of distinct terms of the question.

    cosine: of the paragraph's best window; cosine_z: of the KB's best window in standard deviations over all windows;
    sentence_cosine: of the KB's best single sentence; section_lead: of the paragraph's best sentence, over that of the
    other paragraphs of its section: where the paragraph that answers is missing, its neighbours are all alike; alone:
    1 / sum of exp(40 x (cosine - best cosine)) over the paragraphs' best sentences, 1 where nothing else comes near.
    """
    kb = index.kb
    assert kb is not None, "features are of a knowledge base"
    matcher = kb.matcher
    own = dict.fromkeys(kb.analyzer.terms(trace.query), 1.0)
    names = list(dict.fromkeys(_names(trace.query, kb)))
    bm25, windows, letters = matcher.bm25(own), matcher.window_coverage(own), matcher.letters(trace.query)
    cosines = None
    if index.dense is not None and index.dense.windows is not None and trace.query_vector is not None:
        cosines = index.dense.windows.cosines(trace.query_vector).astype(float)
    match = _over_best(_over_best(bm25) + 0.5 * _over_best(windows) + 0.5 * _over_best(letters))
    if cosines is not None:
        share, dense = adaptive_alpha(trace.query), matcher.best_of_windows(cosines)
        match = (1 - share) * match + share * (dense - dense.min()) / max(1e-9, float(np.ptp(dense)))
    top = _paragraph(trace, kb, match)
    same_section = _others_of_section(kb, top)
    idf = {term: matcher.terms.idf(term) for term in own}
    total = sum(idf.values())
    present = {term for term in own if top in matcher.terms.rows(term)}
    corrected = sum(note.startswith(("vocab", "fuzzy_heading")) for note in trace.expansion_notes)
    lacking = sorted((idf[term] for term in own if term not in matcher.terms), reverse=True)
    discount = sum(lacking[:corrected]) * _CORRECTED
    rarest = sorted(own, key=lambda term: (-idf[term], term))[:_BEST]
    ranked = np.sort(letters)[::-1]
    reach = total * _BM25_MOST
    best_bm25 = np.sort(bm25)[::-1][:_BEST]
    pairs = float(matcher.pair_share(list(own))[top])
    features = {
        "letters": float(ranked[0]),
        "letters_margin": float(ranked[0] - (ranked[1:4].mean() if len(ranked) > 1 else 0.0)),
        "letters_lead": _lead(letters, top, same_section, float(letters.mean())),
        "sentence": float(windows[top]),
        "coverage": sum(idf[term] for term in present) / total,
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
    spread = float(cosines.std())
    by_sentence = index.dense.sentences.cosines(trace.query_vector).astype(float)
    sentences = matcher.best_of_sentences(by_sentence)
    features["cosine"] = float(dense[top])
    features["cosine_z"] = float(cosines.max() - cosines.mean()) / spread if spread > 1e-6 else 0.0
    features["sentence_cosine"] = float(sentences.max())
    features["section_lead"] = _lead(sentences, top, same_section, float(by_sentence.mean()))
    features["alone"] = float(1 / np.exp(_SHARPNESS * (sentences - sentences.max())).sum())
    return features


def _paragraph(trace: RetrievalTrace, kb: KbIndex, match: Scores) -> int:
    """The row of the paragraph that the first final chunk was found by, as far as ``match`` tells."""
    first = next(row for row, chunk in enumerate(kb.chunks) if chunk.chunk_id == trace.chunks_final[0].chunk.chunk_id)
    candidates = [row for row, passage in enumerate(kb.matcher.passages) if first in passage.hits]
    return max(candidates, key=lambda row: (match[row], -row), default=int(np.argmax(match)))


def _others_of_section(kb: KbIndex, top: int) -> list[int]:
    section = kb.matcher.passages[top].section
    return [row for row, passage in enumerate(kb.matcher.passages) if passage.section == section and row != top]


def _lead(scores: Scores, top: int, others: list[int], usual: float) -> float:
    """What the score of row ``top`` is over the best of ``others``; over ``usual`` if there are none."""
    return float(scores[top]) - (float(scores[others].max()) if others else usual)


def _over_best(scores: Scores) -> Scores:
    best = float(scores.max()) if len(scores) else 0.0
    return scores / best if best > 0 else scores


def _names(query: str, kb: KbIndex) -> list[str]:
    """Terms of the question's capitalised words, the first word aside, and of its numbers."""
    found = []
    for row, written in enumerate(query.split()):
        word = written.strip("¿?¡!()[]\"'«»“”.,;:")
        if word and ((row > 0 and word[0].isupper()) or any(char.isdigit() for char in word)):
            found += kb.analyzer.terms(word)
    return found
