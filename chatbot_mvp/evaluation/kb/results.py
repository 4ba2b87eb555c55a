"""The result of a question set: what the retrieval found for each question of a finished run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.thresholds import Scores, figures_at
from chatbot_mvp.runs.payloads import Span


@dataclass(frozen=True, slots=True)
class FoundPassage:
    """The position of a retrieved chunk. Its text is not stored: it is read from the knowledge base."""

    chunk_id: str
    section: str
    start: int
    """Offset of the first character in the knowledge base's text."""
    end: int
    """Offset after the last character."""


@dataclass(frozen=True, slots=True)
class ResultRow:
    """A question and what the retrieval found for it."""

    question: KbQuestion
    evidence: float
    """Evidence score of the retrieval, 0-1."""
    found: tuple[FoundPassage, ...]
    """The passages that an answer would be based on, best first."""
    places: tuple[Span, ...]
    """(start, end) of the expected passage in the text; empty if none is expected or it does not occur."""
    rank: int | None
    """Rank from 1 of the first found passage that covers at least half of an expected place; None if none does."""
    seconds: float

    def accepted(self, threshold: float) -> bool:
        """Return whether strict mode would answer at this evidence threshold (0-1)."""
        return self.evidence >= threshold

    def right(self, threshold: float) -> bool | None:
        """Return whether strict mode decides correctly at this threshold; None if the question has no kind."""
        kind = self.question.kind
        return None if kind is None else self.accepted(threshold) == (kind == "answerable")


@dataclass(frozen=True, slots=True)
class KbResult:
    """One run of a question set."""

    result_id: str
    """Id of the run."""
    kb_id: str
    kb_sha256: str
    set_id: str
    set_name: str
    started_at: str
    """ISO 8601, UTC."""
    fingerprint: str
    """Fingerprint of the retrieval's configuration; equal if the same questions would find the same passages."""
    strategy: str
    min_evidence: float
    """KB_MIN_EVIDENCE at the time of the run."""
    rows: tuple[ResultRow, ...]
    figures: Mapping[str, Any]
    """The figures that ``run_results.kb_figures`` returns."""
    automatic: int
    """Number of answerable questions made by rules and not reworded since: they are easier than people's questions."""

    @property
    def scores(self) -> Scores:
        """Kind -> evidence scores of its questions. Questions without a kind are left out."""
        found: dict[str, list[float]] = {}
        for row in self.rows:
            if row.question.kind is not None:
                found.setdefault(row.question.kind, []).append(row.evidence)
        return found

    @property
    def summary(self) -> dict[str, float | None]:
        """hit@1, hit@3, mrr, share of answerable accepted and of the others refused, at the threshold of the run."""
        at = figures_at(self.scores, self.min_evidence)
        wrong = at.wrong_answers.value
        return {
            "hit@1": self.figures["hit@1"],
            "hit@3": self.figures["hit@3"],
            "mrr": self.figures["mrr"],
            "accepted": at.coverage.value,
            "refused": None if wrong is None else 1 - wrong,
        }
