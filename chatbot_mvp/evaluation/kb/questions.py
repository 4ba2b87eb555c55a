"""Questions about a knowledge base: read from a file, and looked for in its text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count
from pathlib import Path

import numpy as np

from chatbot_mvp.datasets.history import history_json, read_history
from chatbot_mvp.errors import DatasetError, EmptyDataset
from chatbot_mvp.metrics.decisions import ANSWERABLE, UNANSWERABLE
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.types import PastTurn

KINDS = (ANSWERABLE, *UNANSWERABLE)


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
    """Expected answers for human readers; they are not scored."""
    document: str | None = None
    """Path of the document with the paragraph; None if it is not known."""
    history: tuple[PastTurn, ...] = ()
    """The conversation before the question, oldest turn first."""

    @property
    def asked(self) -> KbQuestion:
        """The question without its document: two that differ in nothing else are the same question."""
        return replace(self, document=None)

    def as_line(self) -> str:
        """Return the question as one line of a question file (JSON)."""
        values = asdict(self)
        values["history"] = history_json(self.history)
        line = {"id": values.pop("question_id"), **{name: value for name, value in values.items() if value}}
        return json.dumps(line, ensure_ascii=False)


def load_questions(path: Path) -> list[KbQuestion]:
    """Read JSONL of {id, question, kind, answers, heading, paragraph, document, history}.

    All but ``question`` may be missing; ``history`` has the forms of ``datasets.history.read_history``.

    Raises:
        DatasetError (dataset_file_missing), EmptyDataset
        DatasetError (dataset_file_unreadable): names the line.
    """
    if not path.is_file():
        raise DatasetError("dataset_file_missing", path=str(path))
    return parse_questions(str(path), path.read_bytes())


def parse_questions(name: str, content: bytes) -> list[KbQuestion]:
    """Parse the content of a question file. Errors refer to the file as ``name``.

    Raises:
        EmptyDataset
        DatasetError (dataset_file_unreadable): names the line.
    """
    try:
        lines = content.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise DatasetError("dataset_file_unreadable", path=name, reason=f"not UTF-8 ({error})") from error
    questions = [_question(name, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    if not questions:
        raise EmptyDataset(path=name)
    return questions


def _question(path: str, number: int, line: str) -> KbQuestion:
    try:
        value = parse_json(line)
    except ValueError as error:
        raise DatasetError("dataset_file_unreadable", path=path, reason=f"line {number} is no JSON: {error}") from error
    reason = ""
    if not isinstance(value, dict):
        reason = "is no object"
    elif not isinstance(value.get("question"), str) or not value["question"].strip():
        reason = "has no text under 'question'"
    elif value.get("kind") is not None and value["kind"] not in KINDS:
        reason = f"has the kind {value['kind']!r}; legal: {', '.join(KINDS)}"
    elif not all(isinstance(value.get(name), str | None) for name in ("paragraph", "heading", "document")):
        reason = "has a 'paragraph', 'heading' or 'document' that is no text"
    if reason:
        raise DatasetError("dataset_file_unreadable", path=path, reason=f"line {number} {reason}")
    try:
        history = read_history(value.get("history"))
    except ValueError as error:
        raise DatasetError("dataset_file_unreadable", path=path, reason=f"line {number}: {error}") from error
    answers = value.get("answers")
    return KbQuestion(
        str(value.get("id") or number),
        value["question"],
        value.get("kind"),
        value.get("paragraph"),
        value.get("heading"),
        tuple(answer for answer in answers if isinstance(answer, str)) if isinstance(answers, list) else (),
        value.get("document"),
        history,
    )


def unique_ids(ids: Sequence[str]) -> list[str]:
    """Return the ids with a number added to repeated ones, because ids identify the records of a run."""
    taken: set[str] = set()
    found = []
    for each in ids:
        numbered = (f"{each}-{number}" for number in count(2))
        name = each if each not in taken else next(other for other in numbered if other not in taken)
        taken.add(name)
        found.append(name)
    return found


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
