"""Promise a share of wrong answers of a knowledge base, from the recorded scores of questions that people labelled."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.metrics.decisions import ANSWERABLE
from chatbot_mvp.wings.promise.calibration import ALPHA, LabelledQuestion, Unit, by_document, by_question, usual_unit
from chatbot_mvp.wings.promise.risk import answers_needed, upper_bound

FAR = "far"


@dataclass(frozen=True, slots=True)
class FarPromise:
    """The second promise: at most ``level`` of the far questions get a tick, with the same confidence."""

    held: bool
    """Whether the promise is made at the threshold of the first one."""
    answered: int
    """Number of far questions answered at that threshold, or at the first one tried if there is no promise."""
    total: int
    """Number of far questions."""
    missing: int | None
    """Number of far questions to add if they are refused; 0 if held; None if too many are answered."""


@dataclass(frozen=True, slots=True)
class Basis:
    """What a promise rests on. It is taken back when one of them changes."""

    result_id: str
    set_id: str
    """Id of the question set; "" for the questions of a file."""
    set_name: str
    questions_sha256: str
    kb_sha256: str
    fingerprint: str
    """Fingerprint of the retrieval's configuration."""
    mix: Mapping[str, int]
    """Kind -> number of labelled questions."""
    provider: str = ""
    """Setting PROVIDER, whose model answered; "" in a promise of before, which was about evidence."""


@dataclass(frozen=True, slots=True)
class Promise:
    """At most ``level`` of the answers with a tick are wrong, on questions like the labelled ones; or why that is not
    shown.

    The counts are those of the calibration questions at ``threshold``. Without a promise they are those at the
    threshold that was most likely to pass.
    """

    level: float
    """Promised share of wrong answers, 0-1."""
    confidence: float
    threshold: float | None
    """Least KB_MIN_PROOF at which the promise is made; None if none is made."""
    strictest: float
    """The promise is made for every threshold from ``threshold`` to this one."""
    answered: int
    wrong: int
    bound: float
    """One-sided upper bound of the share of wrong answers at this threshold alone: Clopper-Pearson, or by documents."""
    refused: int
    """Number of answerable calibration questions without a tick."""
    answerable: int
    """Number of answerable calibration questions."""
    missing: int | None
    """Estimated number of labelled questions, or of documents with labelled questions, to add if all further answers
    are right; 0 with a promise; None if the share of wrong answers is above ``level``, so that more labels alone do not
    help."""
    far: FarPromise
    left_out: int
    """Number of questions left out: made by rules or a model, without a kind, or without a paragraph in the text."""
    basis: Basis
    scores: tuple[float, ...]
    """Evidence scores of all labelled questions, with which live questions are compared."""
    made_at: str
    """ISO 8601, UTC; "" before the promise is saved."""
    unit: Unit
    """With "document", ``level`` is the mean over documents of the share of wrong answers about each."""
    documents: int
    """Number of documents that calibrate; 0 if questions are the unit."""
    least: float
    """Lowest level that so many documents can show, if every answer is right; 0.0 if questions are the unit."""
    labels: int
    """Number of labelled questions that count: those that fit and those that calibrate, without repeats."""
    repeated: int
    """Number of labelled questions that repeat another one in other words or under another id."""
    sources: int
    """Number of documents that the labels are about."""
    parts: int
    """Number of documents of the knowledge base: its files, or the top sections of a single file."""

    @property
    def made(self) -> bool:
        """Whether there is a promise."""
        return self.threshold is not None

    def covers(self, threshold: float) -> bool:
        """Return whether the promise is made for a value of KB_MIN_PROOF."""
        return self.threshold is not None and self.threshold - 1e-9 <= threshold <= self.strictest + 1e-9


def make_promise(
    labelled: Sequence[LabelledQuestion],
    left_out: int,
    level: float,
    basis: Basis,
    unit: Unit | None = None,
    parts: int = 0,
    least: float = 1.0,
) -> Promise:
    """Calibrate a promise. The same questions always fit and the same always calibrate, whatever their scores.

    Args:
        labelled: without repeats, see ``repeats.without_repeats``.
        level: promised share of wrong answers, between 0 and 1 exclusive.
        unit: the independent draw; None for ``usual_unit``.
        parts: number of documents of the knowledge base; 0 if only those of the labels are known.
        least: KB_MIN_PROOF at which the questions were asked: of looser ones nothing is known.
    """
    unit = unit or usual_unit(labelled, parts)
    sources = len({one.group for one in labelled})
    calibrated = by_document(labelled, level) if unit == "document" else by_question(labelled, level)
    at, rest = calibrated.at, calibrated.rest
    answerable = [one for one in rest if one.question.kind == ANSWERABLE]
    return Promise(
        level,
        1 - ALPHA,
        _proof(at.threshold, least) if calibrated.passed else None,
        _proof(at.strictest, least),
        at.answered,
        at.wrong,
        calibrated.bound,
        sum(one.score < at.threshold for one in answerable),
        len(answerable),
        0 if calibrated.passed else calibrated.missing,
        _far([one.score for one in labelled if one.question.kind == FAR], at.threshold, level),
        left_out,
        replace(basis, mix=dict(Counter(one.question.kind or "" for one in labelled))),
        tuple(one.evidence for one in labelled),
        made_at="",
        unit=unit,
        documents=calibrated.documents,
        least=calibrated.least,
        labels=len(labelled),
        repeated=0,
        sources=sources,
        parts=max(parts, sources),
    )


def promise_text(promise: Promise) -> str:
    """Return the promise, its price and what is missing as lines in English, for the command line."""
    level, confidence = f"{promise.level:.3g}", f"{promise.confidence:.0%}"
    counted = f"{promise.wrong} of {promise.answered} answers wrong"
    what = "labelled questions"
    if promise.unit == "document":
        counted += f", {promise.documents} documents"
        what = f"documents with labelled questions (those labelled can show {promise.least:.3g} at best)"
    if promise.made:
        share = "at most {} of the ticked answers about a document are wrong, on average over documents"
        share = share if promise.unit == "document" else "at most {} of the answers with a tick are wrong"
        first = (
            f"promise: {share.format(level)}, with {confidence} confidence, on questions like "
            f"those labelled, at KB_MIN_PROOF from {promise.threshold} to {promise.strictest} ({counted})"
        )
    elif promise.missing is None:
        first = f"no promise of {level}: too many answers are wrong ({counted}); more labels alone do not help"
    else:
        first = f"no promise of {level} yet: about {promise.missing} {what} are missing ({counted})"
    far = promise.far
    answered = f"{far.answered} of {far.total} far questions answered"
    if far.held:
        second = f"far questions: at most {level} of them are answered, with {confidence} confidence ({answered})"
    elif far.missing is None:
        second = f"far questions: no promise, too many are answered ({answered})"
    else:
        second = f"far questions: no promise yet, {far.missing} more are needed ({answered})"
    price = f"without a tick although answerable: {promise.refused} of {promise.answerable}"
    labels = (
        f"labels that count: {promise.labels}, about {promise.sources} of {promise.parts} documents; "
        f"asked again in other words: {promise.repeated}; drawn by: {promise.unit}"
    )
    return "\n".join([first, price, second, labels, f"questions left out: {promise.left_out}"])


def promise_of(read: Mapping[str, Any]) -> Promise:
    """Rebuild a promise from the dict that ``asdict`` and JSON made of it."""
    parts = {"far": FarPromise(**read["far"]), "basis": Basis(**read["basis"]), "scores": tuple(read["scores"])}
    return Promise(**{**read, **parts})


def questions_sha256(questions: Sequence[KbQuestion]) -> str:
    """Return the SHA-256 of questions and their labels, whatever their order, ids, headings and documents."""
    lines = sorted(replace(one.asked, question_id="", heading=None).as_line() for one in questions)
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()


def _proof(score: float, least: float) -> float:
    return max(least, round(1 + score, 4))


def _far(scores: Sequence[float], threshold: float, level: float) -> FarPromise:
    # All far questions count, answered or not, so the sequence can start at the strictest threshold.
    answered = sum(score >= threshold for score in scores)
    # A stricter threshold answers fewer of them and has a lower bound. If this one passes, the stricter ones pass too,
    # so that one test is enough for the whole sequence.
    if upper_bound(answered, len(scores), ALPHA) <= level:
        return FarPromise(True, answered, len(scores), 0)
    if scores and answered / len(scores) > level:
        return FarPromise(False, answered, len(scores), None)
    return FarPromise(False, answered, len(scores), answers_needed(level, ALPHA, answered) - len(scores))
