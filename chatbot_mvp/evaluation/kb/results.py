"""The result of a question set, and results of earlier versions in ``<kb>/evaluation/results/<result_id>.json``."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatbot_mvp.errors import KbResultNotFound
from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.evaluation.kb.sets import question_of
from chatbot_mvp.evaluation.kb.thresholds import Scores, figures_at
from chatbot_mvp.runs.payloads import Span
from chatbot_mvp.storage.json_object import parse_json

_ID = re.compile(r"[0-9A-Za-z-]{4,64}")


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
    """Id of the run; in results of earlier versions the name of their file."""
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
    automatic: int = 0
    """Number of answerable questions made by rules and not reworded since: they are easier than people's questions."""
    is_run: bool = False
    """True if it is a run, which can be opened and compared like every other; False for an earlier version's result."""

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


class KbResultStore:
    """Reads the results that earlier versions wrote; they are deleted together with their knowledge base."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._read: dict[Path, tuple[int, KbResult]] = {}
        """Path -> (modification time in ns, result). Cached because a page reads the results each time it is drawn."""
        self._lock = threading.Lock()

    def all(self, kb_id: str) -> list[KbResult]:
        """Return the results of a knowledge base, newest first. Unreadable files are left out."""
        found = []
        for path in sorted(self._folder(kb_id).glob("*.json"), reverse=True):
            try:
                found.append(self.load(kb_id, path.stem))
            except KbResultNotFound:
                continue
        return found

    def load(self, kb_id: str, result_id: str) -> KbResult:
        """Read a result.

        Raises:
            KbResultNotFound: there is no such result, or its file is unreadable.
        """
        if not _ID.fullmatch(result_id):
            raise KbResultNotFound(kb_id=kb_id, result_id=result_id)
        path = self._folder(kb_id) / f"{result_id}.json"
        try:
            written = path.stat().st_mtime_ns
            with self._lock:
                known = self._read.get(path)
            if known is None or known[0] != written:
                known = (written, _result(parse_json(path.read_bytes())))
                with self._lock:
                    self._read[path] = known
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise KbResultNotFound(kb_id=kb_id, result_id=result_id) from error
        return known[1]

    def delete(self, kb_id: str, result_id: str) -> None:
        """Delete a result.

        Raises:
            KbResultNotFound
        """
        self.load(kb_id, result_id)
        path = self._folder(kb_id) / f"{result_id}.json"
        path.unlink(missing_ok=True)
        with self._lock:
            self._read.pop(path, None)

    def _folder(self, kb_id: str) -> Path:
        return self._root / kb_id / "evaluation" / "results"


def _result(read: dict[str, Any]) -> KbResult:
    rows = tuple(
        ResultRow(
            **{
                **row,
                "question": question_of(row["question"]),
                "found": tuple(FoundPassage(**passage) for passage in row["found"]),
                "places": tuple((start, end) for start, end in row["places"]),
            }
        )
        for row in read["rows"]
    )
    return KbResult(**{**read, "rows": rows})
