"""Whether strict mode decides rightly to answer a question about a knowledge base, by its evidence and a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ANSWERABLE = "answerable"
UNANSWERABLE = ("near", "far")
Outcome = Literal["right", "declined", "near", "unsure", "missed", "elsewhere", "made_up"]
"""right: answered with a tick, from the confirmed passage. declined: rightly not answered. near: not answered, and the
confirmed passage is the first that is shown. unsure: answered without a tick. missed: not answered, and another passage
or none is shown. elsewhere: a tick over an answer from another passage. made_up: a tick, although there is no answer.
"""
GOOD: tuple[Outcome, ...] = ("right", "declined")
FALSE_TICKS: tuple[Outcome, ...] = ("elsewhere", "made_up")
NEAREST = 3
"""Passages that strict mode shows if it does not answer."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A question and the evidence that the retrieval found for it."""

    kind: str
    """"answerable", "near" or "far"; "" if it is unknown."""
    evidence: float
    """Evidence score, 0-1."""
    threshold: float
    """Strict mode answers if the evidence is at least this (KB_MIN_EVIDENCE), 0-1."""
    on_topic: bool = True
    """False if strict mode refuses the question as one about something else, unless the evidence suffices."""
    expects_passage: bool = False
    """True if the passage that answers is known and stands in the knowledge base."""
    rank: int | None = None
    """Rank of that passage in the context, from 1; None if it is not there."""
    outcome: Outcome | None = None
    """What the chat makes of the question; None if nobody says what is right, or it was not asked."""


def accepted(case: Decision) -> float | None:
    """Return 1 if an answerable question is answered, 0 if it is refused; None for the other kinds."""
    return float(case.evidence >= case.threshold) if case.kind == ANSWERABLE else None


def refused(case: Decision) -> float | None:
    """Return 1 if a question without an answer in the knowledge base is refused, 0 if it is answered; else None."""
    return float(case.evidence < case.threshold) if case.kind in UNANSWERABLE else None


def useful(case: Decision) -> float | None:
    """Return 1 if strict mode shows the passage that answers, else 0; None if it is not known.

    An answer is based on the whole context. Without one, the three nearest passages are shown, and none for a question
    about something else.
    """
    if not case.expects_passage:
        return None
    if case.evidence >= case.threshold:
        return float(case.rank is not None)
    return float(case.on_topic and case.rank is not None and case.rank <= NEAREST)


def solved(case: Decision) -> float | None:
    """Return 1 if the chat makes the right thing of the question, else 0; None if that is not known."""
    return None if case.outcome is None else float(case.outcome in GOOD)


def false_tick(case: Decision) -> float | None:
    """Return 1 if the chat gives a wrong answer with a tick, else 0; None if that is not known."""
    return None if case.outcome is None else float(case.outcome in FALSE_TICKS)
