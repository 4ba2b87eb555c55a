"""Measures of a ranking by its relevant documents. Hit@K is also called success@K; the means of reciprocal rank and
average precision are MRR and MAP.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Mapping, Sequence

from chatbot_mvp.metrics.relevance import Qrels, Ranking, relevant


def hit_at(k: int, ranking: Ranking, qrels: Qrels) -> float | None:
    """1.0 if a relevant document is among the first k, else 0.0.

    Range 0-1; None without relevant documents, 0.0 for an empty ranking. Equals ``Success@k`` of ir_measures.
    """
    gold = relevant(qrels)
    return float(any(doc_id in gold for doc_id in ranking[:k])) if gold else None


def recall_at(k: int, ranking: Ranking, qrels: Qrels) -> float | None:
    """|relevant among the first k| / |relevant| (Manning et al. 2008, 8.3).

    Range 0-1; None without relevant documents, 0.0 for an empty ranking. Equals ``R@k`` of ir_measures.
    """
    gold = relevant(qrels)
    return len(gold & set(ranking[:k])) / len(gold) if gold else None


def complement_recall_at(k: int, ranking: Ranking, qrels: Qrels) -> float | None:
    """1 - recall@k: the share of relevant documents that are not among the first k.

    RAG_P first called its mean ``failure_rate_at_k``, later ``complement_recall_at_k``. It is not the share of queries
    without any hit. Range 0-1, lower is better; None without relevant documents, 1.0 for an empty ranking.
    """
    recall = recall_at(k, ranking, qrels)
    return None if recall is None else 1.0 - recall


def precision_at(k: int, ranking: Ranking, qrels: Qrels) -> float | None:
    """|relevant among the first k| / k, even if fewer than k were retrieved (Manning et al. 2008, 8.4).

    Range 0-1, at most |relevant| / k; None without relevant documents, 0.0 for an empty ranking. Equals ``P@k`` of
    ir_measures.
    """
    gold = relevant(qrels)
    return len(gold & set(ranking[:k])) / k if gold else None


def reciprocal_rank(ranking: Ranking, qrels: Qrels) -> float | None:
    """1 / rank of the first relevant document, 0.0 if none was retrieved (Voorhees 1999).

    Range 0-1; None without relevant documents. Equals ``RR`` of ir_measures.
    """
    gold = relevant(qrels)
    if not gold:
        return None
    return next((1 / rank for rank, doc_id in enumerate(ranking, 1) if doc_id in gold), 0.0)


def average_precision(ranking: Ranking, qrels: Qrels) -> float | None:
    """(Sum of the precision at the rank of each retrieved relevant document) / |relevant| (Buckley & Voorhees 2000).

    Uses the whole ranking (``RETRIEVAL_K`` documents). Range 0-1; None without relevant documents, 0.0 for an empty
    ranking. Equals ``AP`` of ir_measures.
    """
    gold = relevant(qrels)
    if not gold:
        return None
    found, total = 0, 0.0
    for rank, doc_id in enumerate(ranking, 1):
        if doc_id in gold:
            found += 1
            total += found / rank
    return total / len(gold)


def ndcg_at(k: int, ranking: Ranking, qrels: Qrels) -> float | None:
    """DCG@k / ideal DCG@k with DCG = sum of gain / log2(rank + 1) and the qrel as gain (Järvelin & Kekäläinen 2002).

    Range 0-1; None without relevant documents, 0.0 for an empty ranking. Equals ``nDCG@k`` of ir_measures.
    """
    if not relevant(qrels):
        return None
    gains = [max(0, qrels.get(doc_id, 0)) for doc_id in ranking[:k]]
    ideal = sorted((max(0, gain) for gain in qrels.values()), reverse=True)[:k]
    return _dcg(gains) / _dcg(ideal)


def _dcg(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, 1))


def all_gold_at(k: int, ranking: Ranking, qrels: Qrels) -> float | None:
    """1.0 if every relevant document is among the first k, else 0.0: recall@k = 1.

    The retrieval half of HotpotQA's "both paragraphs" (Xiong et al. 2021 call it PEM, paragraph exact match).
    Range 0-1; None without relevant documents, 0.0 for an empty ranking or for more relevant documents than k.
    """
    gold = relevant(qrels)
    return float(gold <= set(ranking[:k])) if gold else None


def trec_order(scores: Mapping[str, float]) -> dict[str, float]:
    """Order documents as trec_eval does: by descending score in single precision, ties by descending id.

    trec_eval and the tools on top of it ignore the ranks in a file (``comp_sim_docno`` in its ``form_res_rels.c``).
    """
    order = sorted(scores, key=lambda doc_id: (ctypes.c_float(scores[doc_id]).value, doc_id), reverse=True)
    return {doc_id: scores[doc_id] for doc_id in order}
