"""Token F1 of an answer, as the official script of its language counts it."""

from __future__ import annotations

from collections import Counter

from chatbot_mvp.metrics.answers.text import AnswerCase, normalise

_CLOSED = ("yes", "no", "noanswer")


def answer_f1(case: AnswerCase) -> float | None:
    """2PR / (P + R) over the multiset of normalised words that answer and reference share.

    English follows hotpot_evaluate_v1.py: if either side is *yes*, *no* or *noanswer*, only an exact match scores, else
    0.0 even if words are shared. Spanish follows mlqa_evaluation_v1.py, which has no such exception.
    Range 0-1; None without an answer or without a reference, 0.0 when no word is shared (also when both are empty).
    """
    if not case.scorable:
        return None
    answer, gold = normalise(case.response or "", case.language), normalise(case.gold, case.language)
    if case.language != "es" and answer != gold and (answer in _CLOSED or gold in _CLOSED):
        return 0.0
    answer_words, gold_words = answer.split(), gold.split()
    shared = sum((Counter(answer_words) & Counter(gold_words)).values())
    if shared == 0:
        return 0.0
    precision, recall = shared / len(answer_words), shared / len(gold_words)
    return 2 * precision * recall / (precision + recall)
