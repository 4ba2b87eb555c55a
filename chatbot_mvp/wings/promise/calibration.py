"""Calibrate a threshold on labelled questions, with single questions or whole documents as independent draws."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.text import fold
from chatbot_mvp.wings.promise.clustered_risk import (
    cluster_bound,
    cluster_sequence,
    clusters_missing,
    least_level,
    plan_of,
)
from chatbot_mvp.wings.promise.risk import (
    GRID,
    Controlled,
    Judged,
    answers_needed,
    fixed_sequence,
    start_of,
    upper_bound,
)

ALPHA = 0.05
"""Probability, at most, that a promise is broken: 1 minus its confidence."""
FIT_SHARE = 0.2
"""Share of the labelled questions that choose where the sequence of thresholds starts. The others calibrate."""
Unit = Literal["document", "question"]
"""What counts as an independent draw. document: a file, or in a single file a top section, with all its questions."""
UNITS: tuple[Unit, ...] = get_args(Unit)


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question labelled by a person, and what the retrieval found for it."""

    question: KbQuestion
    score: float
    """By how much its answer is proven, 0-1, as ``labelled.score_of`` gives it; negative without a tick."""
    wrong: bool
    """Whether an answer would be wrong: no quote of the answer stands in the labelled paragraph, or the knowledge base
    does not answer the question."""
    group: str = ""
    """Name of the document that the question is about, as ``groups_of`` gives it."""
    evidence: float = 0.0
    """Evidence score, 0-1, with which those of later questions are compared."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A tested sequence, whatever its unit."""

    passed: bool
    at: Controlled
    """The promised threshold, or the start of the sequence."""
    rest: Sequence[LabelledQuestion]
    """The questions that calibrate."""
    bound: float
    missing: int | None
    documents: int = 0
    least: float = 0.0


def usual_unit(labelled: Sequence[LabelledQuestion], parts: int = 0) -> Unit:
    """Return "document" if there are several documents and several questions about one of them, else "question".

    The labels cannot rule out that questions about one document are alike: with few wrong answers, every correlation
    is compatible with them. Questions about one document of several say nothing about the others.

    Args:
        parts: number of documents of the knowledge base; 0 if only those of the labels are known.
    """
    groups = len({one.group for one in labelled})
    return "document" if groups < len(labelled) and max(groups, parts) > 1 else "question"


def by_question(labelled: Sequence[LabelledQuestion], level: float) -> Calibrated:
    """Calibrate with single questions as draws."""
    fit = [_judged(one) for one in labelled if _fits(one.question)]
    rest = [one for one in labelled if not _fits(one.question)]
    judged = [_judged(one) for one in rest]
    start = start_of(fit, level, len(judged))
    found = fixed_sequence(judged, level, start, ALPHA)
    at = found or _at(judged, start)
    bound = upper_bound(at.wrong, at.answered, ALPHA)
    return Calibrated(found is not None, at, rest, bound, _missing(at, len(judged), level))


def by_document(labelled: Sequence[LabelledQuestion], level: float) -> Calibrated:
    """Calibrate with documents as draws. The documents' names alone decide which of them fit."""
    groups: dict[str, list[LabelledQuestion]] = {}
    for one in labelled:
        groups.setdefault(one.group, []).append(one)
    names = sorted(groups, key=lambda name: hashlib.sha256(name.encode("utf-8", "replace")).digest())
    fitting = round(FIT_SHARE * len(names))
    fit = [[_judged(one) for one in groups[name]] for name in names[:fitting]]
    rest = [one for name in names[fitting:] for one in groups[name]]
    clusters = [[_judged(one) for one in groups[name]] for name in names[fitting:]]
    plan = plan_of(fit, level, len(clusters), ALPHA)
    found = cluster_sequence(clusters, level, plan, ALPHA)
    at = found or _at([_judged(one) for one in rest], plan.start)
    step = round(at.threshold * GRID)
    missing = clusters_missing(clusters, level, step, ALPHA)
    return Calibrated(
        found is not None,
        at,
        rest,
        cluster_bound(clusters, step, plan.bets[step], ALPHA),
        None if missing is None else math.ceil(missing / (1 - FIT_SHARE)),
        len(clusters),
        least_level(len(clusters), ALPHA),
    )


def _fits(question: KbQuestion) -> bool:
    """Return whether a question belongs to those that choose the start. Only its wording decides."""
    digest = hashlib.sha256(fold(question.question).encode("utf-8", "replace")).digest()
    return int.from_bytes(digest[:8], "big") < FIT_SHARE * 2**64


def _judged(one: LabelledQuestion) -> Judged:
    return Judged(one.score, one.wrong)


def _at(judged: Sequence[Judged], step: int) -> Controlled:
    above = [one for one in judged if one.score >= step / GRID]
    return Controlled(step / GRID, step / GRID, len(above), sum(one.wrong for one in above))


def _missing(at: Controlled, calibration: int, level: float) -> int | None:
    if at.answered and at.wrong / at.answered > level:
        return None
    answers = answers_needed(level, ALPHA, at.wrong) - at.answered
    share = at.answered / calibration if at.answered else 1.0
    return max(1, math.ceil(answers / share / (1 - FIT_SHARE)))
