"""Accuracy of yes/no and extractive answers, and RAG_P's primary metric."""

from __future__ import annotations

from chatbot_mvp.metrics.answers.exact_match import exact_match
from chatbot_mvp.metrics.answers.f1 import answer_f1
from chatbot_mvp.metrics.answers.text import AnswerCase, first_label, normalise


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
