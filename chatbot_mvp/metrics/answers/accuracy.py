"""Exact match, F1 and accuracy of answers by the official scripts of their languages; RAG_P's primary metric."""

from __future__ import annotations

from collections import Counter

from chatbot_mvp.metrics.answers.text import AnswerCase, first_label, normalise

_CLOSED = ("yes", "no", "noanswer")


def label_accuracy(case: AnswerCase) -> float | None:
    """For a yes/no question: 1.0 if the answer's first yes or no equals the reference, else 0.0 (RAG_P's accuracy).

    "Yes, both are." counts as yes. A label that is neither yes nor no must match exactly. None for other questions,
    without an answer or without a reference; 0.0 for an answer without a label.
    """
    if not case.scorable or not case.is_label:
        return None
    gold = first_label(case.gold, alone=True)
    return exact_match(case) if gold is None else float(first_label(case.response or "") == gold)


def answer_contains(case: AnswerCase) -> float | None:
    """For an extractive question: 1.0 if the normalised answer contains the normalised reference word for word.

    Unlike F1 it does not penalise the words around the answer, nor a list of guesses: read both together. None for
    yes/no questions, without an answer, or for a reference without words; 0.0 for an empty answer.
    """
    if not case.scorable or case.is_label:
        return None
    gold = normalise(case.gold, case.language)
    return float(f" {gold} " in f" {normalise(case.response or '', case.language)} ") if gold else None


def generation_score(case: AnswerCase) -> float | None:
    """RAG_P's primary metric: ``label_accuracy`` for yes/no questions, ``answer_f1`` for all others. Range 0-1."""
    return label_accuracy(case) if case.is_label else answer_f1(case)


def answered_right(case: AnswerCase) -> bool | None:
    """Return whether an answer counts as right in the analysis of failure causes; None if it is not scored."""
    score = label_accuracy(case) if case.is_label else answer_contains(case)
    return None if score is None else score == 1.0


def exact_match(case: AnswerCase) -> float | None:
    """1.0 if answer and reference are equal after normalisation, else 0.0.

    English follows hotpot_evaluate_v1.py (Yang et al. 2018), Spanish mlqa_evaluation_v1.py (Lewis et al. 2020).
    None without an answer or without a reference; two texts that normalise to nothing are equal, as in the script.
    """
    if not case.scorable:
        return None
    return float(normalise(case.response or "", case.language) == normalise(case.gold, case.language))


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
