"""Rank the best hits anew by late interaction together with words and vectors."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from chatbot_mvp.embedding.base import TokenStates
from chatbot_mvp.retrieval.arrays import Doubles
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.indexes.dense_side import passage_texts
from chatbot_mvp.retrieval.late.matching import LENGTH_COST, grouped, max_sim
from chatbot_mvp.retrieval.late.passages import PassageTokens
from chatbot_mvp.retrieval.stages.base import Stage
from chatbot_mvp.retrieval.stages.kb_score import KbScore, scaled
from chatbot_mvp.retrieval.trace import PART, Hit, RetrievalTrace
from chatbot_mvp.text import fold

CANDIDATES = {"score": 30, "vector_norm": 20, "words": 20}
"""How many of the best hits by each signal are compared with the question."""
WEIGHTS = {"late": 1.0, "late_chunk": 1.0, "words": 0.25, "vector_norm": 0.5}
"""Signal -> weight. Each signal is first scaled to 0-1 over the candidates. Chosen on two manuals, where weights of
words and vectors from 0 to 0.5 do about as well (docs/research/evidence.md)."""
_FOLLOWED, _FIRST = 0.2, 5
"""The walk followed a link if one of its first five hits has this ``link_bonus``. Between 0.05 and 0.2, recall@5 of
HotpotQA and MuSiQue stays that of the walk (docs/research/bridge.md)."""

Nearness = Callable[[Sequence[str]], list[tuple[float, dict[str, float]]]]


class LateInteraction(Stage):
    """Reorders the best hits by the MaxSim of their tokens with the question's.

    Signals: ``late`` is the ``max_sim`` of the chunk's best paragraph; ``late_chunk`` lets each token of the question
    choose its closest token from all paragraphs of the chunk. The score is the weighted mean of WEIGHTS, in 0-1. Hits
    that are no candidates follow in their old order.

    Where the walk over links has ranked, a question is ranked anew if it names no document and the walk found no link
    to follow. Such a question asks for one passage in its own words.
    """

    name = "late_interaction"

    @classmethod
    def serves(cls, index: CorpusIndex) -> bool:
        ranked = KbScore.serves(index) or index.graph is not None
        return ranked and index.dense is not None and index.dense.tokens is not None

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        if self.index.graph is not None and _walked(trace.hits):
            return trace, {"candidates": 0}
        rows = _candidates(trace.hits)
        if not rows:
            return trace, {}
        question = token_states(self.index, trace.query)
        hits = [trace.hits[row] for row in rows]
        late, lengths = compared(self.index, question, hits)
        signals = {
            **late,
            "words": np.array([_words(hit) for hit in hits]),
            "vector_norm": np.array([hit.signals["vector_norm"] for hit in hits]),
        }
        weighed = {name: value + lengths if name in late else value for name, value in signals.items()}
        parts = {name: weight / sum(WEIGHTS.values()) * scaled(weighed[name]) for name, weight in WEIGHTS.items()}
        scores = sum(parts.values(), np.zeros(1))
        order = sorted(range(len(rows)), key=lambda at: (-scores[at], hits[at].chunk.chunk_id))
        best = []
        for at in order:
            own = {name: round(float(value[at]), 6) for name, value in signals.items()}
            shares = {f"{PART}{name}": round(float(value[at]), 6) for name, value in parts.items()}
            best.append(replace(hits[at], score=float(scores[at]), signals={**hits[at].signals, **own, **shares}))
        # Scores of the other hits are at most 1, so they stay below the candidates and in their order.
        taken, lowest = set(rows), best[-1].score
        rest = [replace(hit, score=lowest * hit.score) for row, hit in enumerate(trace.hits) if row not in taken]
        return replace(trace, hits=(*best, *rest), query_tokens=question), {"candidates": len(rows)}


def token_states(index: CorpusIndex, text: str) -> TokenStates:
    """Return the tokens of a question as the embedding model of an index reads them."""
    [question] = _tokens(index).embedder.text_tokens([text], "query")
    return question


def nearness(index: CorpusIndex, question: str) -> Nearness | None:
    """Return a function that compares texts with a question as they are, without what stands around them.

    It gives for each text (late interaction, folded word of the question -> mean cosine of the word's tokens with the
    closest ones of the text); None if the index has no tokens.
    """
    if index.dense is None or index.dense.tokens is None:
        return None
    tokens, words = index.dense.tokens, question.split()

    def compare(texts: Sequence[str]) -> list[tuple[float, dict[str, float]]]:
        closest, shares, _ = tokens.compared(token_states(index, question), texts)
        counts = np.array(tokens.embedder.token_counts(words))
        if counts.sum() != len(closest):  # a question of several windows
            return [(float(late), {}) for late in shares @ closest]
        ends = np.cumsum(counts)
        of_words = [closest[end - count : end].mean(axis=0) for count, end in zip(counts, ends, strict=True) if count]
        said = [re.findall(r"\w+", fold(word)) for word, count in zip(words, counts, strict=True) if count]
        named = [(part, near) for parts, near in zip(said, of_words, strict=True) for part in parts]
        late = (shares @ closest).tolist()
        return [(late[row], {part: float(near[row]) for part, near in named}) for row in range(len(texts))]

    return compare


def compared(index: CorpusIndex, question: TokenStates, hits: Sequence[Hit]) -> tuple[Mapping[str, Doubles], Doubles]:
    """Return (the signals ``late`` and ``late_chunk``, what is added to both before they rank), shape (hits,) each.

    Whole documents are ranked without the cost of their length: with it, hit@3 of a manual whose paragraphs are
    documents falls from 0.74 to 0.65. The signals have the cost, because the evidence was fitted on them.
    """
    rows = [index.row_of[hit.chunk.chunk_id] for hit in hits]
    kb = index.kb
    if index.graph is not None or kb is None:
        texts = [index.documents[row].index_text for row in rows]
        # The tokens of a knowledge base are deleted with it; storing them here could leave some behind.
        closest, shares, counts = _tokens(index).compared(question, texts, keep=kb is None)
        columns = [np.array([at]) for at in range(len(rows))]
        lengths = LENGTH_COST * np.log(counts)
    else:
        of_hits = [kb.paragraphs.of(row) for row in rows]
        paragraphs = np.unique(np.concatenate(of_hits))
        closest, shares, counts = _tokens(index).compared(question, passage_texts(kb, paragraphs.tolist()))
        columns = [np.searchsorted(paragraphs, found) for found in of_hits]
        lengths = np.zeros(len(rows))
    by_paragraph = max_sim(closest, shares, counts)
    by_chunk = max_sim(grouped(closest, columns), shares, np.array([counts[found].sum() for found in columns]))
    late = np.array([by_paragraph[found].max() for found in columns], dtype=float)
    return {"late": late, "late_chunk": by_chunk.astype(float)}, lengths


def _tokens(index: CorpusIndex) -> PassageTokens:
    assert index.dense is not None and index.dense.tokens is not None, "see LateInteraction.serves"
    return index.dense.tokens


def _walked(hits: Sequence[Hit]) -> bool:
    """Return whether the walk started at a document that the question names, or followed a link."""
    named = any(hit.signals.get("named", 0) > 0 for hit in hits)
    return named or any(hit.signals.get("link_bonus", 0) > _FOLLOWED for hit in hits[:_FIRST])


def _words(hit: Hit) -> float:
    """Return how well the words of a hit match, 0-1: by the walk's first search if it has no score of words."""
    return hit.signals.get("words", hit.signals.get("bm25_norm", 0.0))


def _candidates(hits: Sequence[Hit]) -> list[int]:
    """Return the rows of the hits that are compared, in rising order."""
    rows = set(range(min(CANDIDATES["score"], len(hits))))
    by_signal = {
        "vector_norm": [hit.signals.get("vector_norm", 0.0) for hit in hits],
        "words": [_words(hit) for hit in hits],
    }
    for name, values in by_signal.items():
        rows.update(np.argsort(-np.array(values), kind="stable")[: CANDIDATES[name]].tolist())
    return sorted(rows)
