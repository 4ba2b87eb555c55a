"""Exact match of an answer, as the official HotpotQA script counts it."""

from __future__ import annotations

from chatbot_mvp.metrics.answers.text import AnswerCase, normalise


def exact_match(case: AnswerCase) -> float | None:
    """1.0 if answer and reference are equal after normalisation, else 0.0 (Yang et al. 2018, hotpot_evaluate_v1.py).

    None without an answer or without a reference; two texts that normalise to nothing are equal, as in the script.
    """
    if not case.scorable:
        return None
    return float(normalise(case.response or "", case.language) == normalise(case.gold, case.language))
