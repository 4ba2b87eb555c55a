"""Measure the chat over a knowledge base with a file of questions: passages found, questions accepted, time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chatbot_mvp.errors import DatasetFileMissing, DatasetFileUnreadable, EmptyDataset
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.types import Chunk, Document, Progress, ProgressCallback, ignore_progress

KINDS = ("answerable", "near", "far")


@dataclass(frozen=True, slots=True)
class KbQuestion:
    """A question of a question file, one per line."""

    question_id: str
    """Id of the question."""
    question: str
    """Text of the question."""
    kind: str | None = None
    """answerable, near (about a topic of the KB, not answered in it) or far; None if the file does not say."""
    paragraph: str | None = None
    """Text of the paragraph that answers the question, verbatim from the KB."""
    heading: str | None = None
    """Heading of the section that answers the question."""
    answers: tuple[str, ...] = ()
    """Reference answers for human readers; they are not scored."""

    def as_line(self) -> str:
        """Return the question as one line of a question file (JSON)."""
        values = asdict(self)
        line = {"id": values.pop("question_id"), **{name: value for name, value in values.items() if value}}
        return json.dumps(line, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question and what the retrieval found for it."""

    question: KbQuestion
    evidence: float
    """Evidence score of the retrieval, 0-1; 0 if nothing was found."""
    found: tuple[Chunk, ...]
    """The passages that an answer would be based on, best first."""
    places: tuple[tuple[int, int], ...]
    """(start, end) of the expected paragraph in the KB; empty if none is expected or it does not occur."""
    rank: int | None
    """Rank from 1 of the first passage that covers at least half of an expected place; None if none does."""
    seconds: float


def load_questions(path: Path) -> list[KbQuestion]:
    """Read JSONL of {id, question, kind, answers, heading, paragraph}; all but ``question`` may be missing.

    Raises:
        DatasetFileMissing, EmptyDataset
        DatasetFileUnreadable: names the line.
    """
    if not path.is_file():
        raise DatasetFileMissing(path=str(path))
    return parse_questions(str(path), path.read_bytes())


def parse_questions(name: str, content: bytes) -> list[KbQuestion]:
    """Parse the content of a question file. Errors refer to the file as ``name``.

    Raises:
        EmptyDataset
        DatasetFileUnreadable: names the line.
    """
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise DatasetFileUnreadable(path=name, reason=f"not UTF-8 ({error})") from error
    questions = [_question(name, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not questions:
        raise EmptyDataset(path=name)
    return questions


def _question(path: str, number: int, line: str) -> KbQuestion:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise DatasetFileUnreadable(path=path, reason=f"line {number} is no JSON: {error}") from error
    reason = ""
    if not isinstance(value, dict):
        reason = "is no object"
    elif not isinstance(value.get("question"), str) or not value["question"].strip():
        reason = "has no text under 'question'"
    elif value.get("kind") is not None and value["kind"] not in KINDS:
        reason = f"has the kind {value['kind']!r}; legal: {', '.join(KINDS)}"
    elif not all(isinstance(value.get(name), str | None) for name in ("paragraph", "heading")):
        reason = "has a 'paragraph' or 'heading' that is no text"
    if reason:
        raise DatasetFileUnreadable(path=path, reason=f"line {number} {reason}")
    answers = value.get("answers")
    return KbQuestion(
        str(value.get("id") or number),
        value["question"],
        value.get("kind"),
        value.get("paragraph"),
        value.get("heading"),
        tuple(answer for answer in answers if isinstance(answer, str)) if isinstance(answers, list) else (),
    )


def ask_questions(
    pipeline: Pipeline,
    document: Document,
    questions: Sequence[KbQuestion],
    progress: ProgressCallback = ignore_progress,
) -> list[AskedQuestion]:
    """Retrieve for every question separately, in order, so that each has its own time."""
    asked = []
    for done, question in enumerate(questions, 1):
        [trace] = pipeline.retrieve([question.question])
        places = places_of(document.text, question.paragraph) if question.kind in (None, "answerable") else ()
        asked.append(
            AskedQuestion(
                question,
                trace.evidence if trace.chunks_final and trace.evidence is not None else 0.0,
                tuple(hit.chunk for hit in trace.chunks_final),
                places,
                _rank(trace, places),
                sum(record.seconds for record in trace.records),
            )
        )
        progress(Progress("questions", done, len(questions)))
    return asked


def evaluate_kb(
    pipeline: Pipeline,
    document: Document,
    questions: Sequence[KbQuestion],
    min_evidence: float,
    progress: ProgressCallback = ignore_progress,
) -> dict[str, Any]:
    """Retrieve for every question separately and compute the figures, as ``figures`` gives them."""
    return figures(ask_questions(pipeline, document, questions, progress), min_evidence)


def figures(asked: Sequence[AskedQuestion], min_evidence: float) -> dict[str, Any]:
    """Compute the figures of a question set. A figure that cannot be computed is None, never 0.

    Returns:
        ``questions`` {kind: n}; ``accepted`` {kind: share with evidence >= min_evidence}; ``hit@1``, ``hit@3`` over the
        questions whose paragraph is in the KB: share for which one of the first k final chunks covers at least half of
        it by offsets; ``mrr`` the mean of 1 / that chunk's rank over the same, 0 for none; ``scored`` their number;
        ``auroc`` {near, far}: evidence of the answerable against those; ``seconds_per_question_p50``, ``_p95``.
    """
    evidence: dict[str, list[float]] = {}
    for each in asked:
        if each.question.kind is not None:
            evidence.setdefault(each.question.kind, []).append(each.evidence)
    ranks = [each.rank for each in asked if each.places]
    seconds = [each.seconds for each in asked]
    return {
        "questions": dict(Counter(each.question.kind or "unknown" for each in asked)),
        "accepted": {kind: float(np.mean([v >= min_evidence for v in values])) for kind, values in evidence.items()},
        "hit@1": _share(ranks, 1),
        "hit@3": _share(ranks, 3),
        "mrr": float(np.mean([1 / rank if rank else 0.0 for rank in ranks])) if ranks else None,
        "scored": len(ranks),
        "auroc": {kind: auroc(evidence.get("answerable", []), evidence.get(kind, [])) for kind in ("near", "far")},
        "seconds_per_question_p50": float(np.percentile(seconds, 50)) if seconds else None,
        "seconds_per_question_p95": float(np.percentile(seconds, 95)) if seconds else None,
    }


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float | None:
    """AUROC: P(a positive scores above a negative), ties count half (Hanley & McNeil 1982); None if a side is empty."""
    if not positive or not negative:
        return None
    difference = np.subtract.outer(np.array(positive), np.array(negative))
    return float((difference > 0).mean() + 0.5 * (difference == 0).mean())


def places_of(text: str, paragraph: str | None) -> tuple[tuple[int, int], ...]:
    """Return (start, end) of every occurrence of the paragraph: a KB may contain it more than once."""
    places = []
    start = text.find(paragraph) if paragraph and paragraph.strip() else -1
    while paragraph and start >= 0:
        places.append((start, start + len(paragraph)))
        start = text.find(paragraph, start + len(paragraph))
    return tuple(places)


def _rank(trace: RetrievalTrace, places: Sequence[tuple[int, int]]) -> int | None:
    for rank, hit in enumerate(trace.chunks_final, 1):
        for start, end in places:
            if 2 * (min(end, hit.chunk.end) - max(start, hit.chunk.start)) >= end - start:
                return rank
    return None


def _share(ranks: Sequence[int | None], k: int) -> float | None:
    return float(np.mean([rank is not None and rank <= k for rank in ranks])) if ranks else None
