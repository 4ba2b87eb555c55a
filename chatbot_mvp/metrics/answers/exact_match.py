"""Exact match of an answer, as the official script of its language counts it."""

from __future__ import annotations

from chatbot_mvp.metrics.answers.text import AnswerCase, normalise


def exact_match(case: AnswerCase) -> float | None:
    """1.0 if answer and reference are equal after normalisation, else 0.0.

    English follows hotpot_evaluate_v1.py (Yang et al. 2018), Spanish mlqa_evaluation_v1.py (Lewis et al. 2020).
    None without an answer or without a reference; two texts that normalise to nothing are equal, as in the script.
    """
    if not case.scorable:
        return None
    return float(normalise(case.response or "", case.language) == normalise(case.gold, case.language))
