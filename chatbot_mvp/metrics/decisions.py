"""Whether strict mode decides rightly to answer a question about a knowledge base, by its evidence and a threshold."""

from __future__ import annotations

from dataclasses import dataclass

ANSWERABLE = "answerable"
UNANSWERABLE = ("near", "far")


@dataclass(frozen=True, slots=True)
class Decision:
    """A question and the evidence that the retrieval found for it."""

    kind: str
    """"answerable", "near" or "far"; "" if it is unknown."""
    evidence: float
    """Evidence score, 0-1."""
    threshold: float
    """Strict mode answers if the evidence is at least this (KB_MIN_EVIDENCE), 0-1."""


def accepted(case: Decision) -> float | None:
    """Return 1 if an answerable question is answered, 0 if it is refused; None for the other kinds."""
    return float(case.evidence >= case.threshold) if case.kind == ANSWERABLE else None


def refused(case: Decision) -> float | None:
    """Return 1 if a question without an answer in the knowledge base is refused, 0 if it is answered; else None."""
    return float(case.evidence < case.threshold) if case.kind in UNANSWERABLE else None
