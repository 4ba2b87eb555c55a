"""Question sets of a knowledge base on disk: ``<kb>/evaluation/sets/<set_id>.json``, one file each."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from chatbot_mvp.errors import QuestionSetNotFound
from chatbot_mvp.evaluation.kb.questions import KINDS, KbQuestion, places_of
from chatbot_mvp.storage.clock import sortable_stamp, utc_now
from chatbot_mvp.storage.files import write_json

Origin = Literal["model", "rules", "person", "file", "chat"]
"""Where a question is from."""

_ID = re.compile(r"[0-9A-Za-z-]{4,64}")


@dataclass(frozen=True, slots=True)
class SetQuestion:
    """A question of a set, and whether a person keeps it."""

    question: KbQuestion
    keep: bool = True
    origin: Origin = "person"

    def changed_to(self, question: KbQuestion, keep: bool) -> SetQuestion:
        """As a person has changed it; with other words it is that person's question."""
        return SetQuestion(question, keep, self.origin if question.question == self.question.question else "person")


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions of a knowledge base, as a person has reviewed them."""

    set_id: str
    """"" for one that has not been saved."""
    kb_id: str
    name: str
    kb_sha256: str
    """Of the knowledge base's text that the questions were made for."""
    changed_at: str = ""
    """ISO 8601, UTC."""
    questions: tuple[SetQuestion, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Of its proposals, why some were left out -> how many."""

    @property
    def kept(self) -> list[KbQuestion]:
        return [each.question for each in self.questions if each.keep]

    @property
    def automatic(self) -> int:
        """Kept answerable questions that rules made and nobody has reworded."""
        return sum(
            each.keep and each.origin == "rules" and each.question.kind == "answerable" for each in self.questions
        )

    def counts(self) -> dict[str, int]:
        """{kind: number of kept questions} for every kind, "unknown" for those without one."""
        kinds = [question.kind or "unknown" for question in self.kept]
        return {kind: kinds.count(kind) for kind in (*KINDS, "unknown")}

    def with_added(self, questions: Sequence[SetQuestion]) -> QuestionSet:
        """This set with more questions; one that it has already, letter case aside, stays as it is."""
        known = {" ".join(each.question.question.casefold().split()) for each in self.questions}
        added = []
        for each in questions:
            key = " ".join(each.question.question.casefold().split())
            if key not in known:
                known.add(key)
                added.append(each)
        return replace(self, questions=(*self.questions, *added))


@dataclass(frozen=True, slots=True)
class SetCheck:
    """How a set fits the knowledge base as it is now."""

    kb_changed: bool
    """The text is not the one that the questions were made for."""
    lost: tuple[str, ...]
    """Ids of the questions whose expected passage is not in the text, letter for letter."""


def check_set(questions: QuestionSet, text: str, sha256: str) -> SetCheck:
    """Look for every expected passage in a knowledge base's text."""
    asked = [each.question for each in questions.questions]
    return SetCheck(
        questions.kb_sha256 != sha256,
        tuple(one.question_id for one in asked if one.paragraph and not places_of(text, one.paragraph)),
    )


def new_question_id() -> str:
    return f"q-{secrets.token_hex(4)}"


class QuestionSetStore:
    """Reads and writes the sets of all knowledge bases; they go when their knowledge base does."""

    def __init__(self, root: Path) -> None:
        """``root`` is the folder of the knowledge bases."""
        self._root = root

    def ids(self, kb_id: str) -> list[str]:
        """The newest first."""
        return sorted((path.stem for path in self._folder(kb_id).glob("*.json")), reverse=True)

    def all(self, kb_id: str) -> list[QuestionSet]:
        """Those that can be read, the newest first."""
        found = []
        for set_id in self.ids(kb_id):
            try:
                found.append(self.load(kb_id, set_id))
            except QuestionSetNotFound:
                continue
        return found

    def load(self, kb_id: str, set_id: str) -> QuestionSet:
        """
        Raises:
            QuestionSetNotFound
        """
        if not _ID.fullmatch(set_id):
            raise QuestionSetNotFound(kb_id=kb_id, set_id=set_id)
        try:
            read: dict[str, Any] = json.loads((self._folder(kb_id) / f"{set_id}.json").read_text("utf-8"))
            questions = tuple(_question(row) for row in read.pop("questions"))
            # Its folder says whose it is.
            return QuestionSet(**{**read, "kb_id": kb_id, "set_id": set_id}, questions=questions)
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise QuestionSetNotFound(kb_id=kb_id, set_id=set_id) from error

    def save(self, questions: QuestionSet) -> QuestionSet:
        """Write a set in one step; it gets an id if it has none."""
        set_id = questions.set_id or f"{sortable_stamp()}-{secrets.token_hex(2)}"
        saved = replace(questions, set_id=set_id, changed_at=utc_now())
        folder = self._folder(saved.kb_id)
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / f"{set_id}.json", asdict(saved), indent=1)
        return saved

    def delete(self, kb_id: str, set_id: str) -> None:
        """
        Raises:
            QuestionSetNotFound
        """
        self.load(kb_id, set_id)
        (self._folder(kb_id) / f"{set_id}.json").unlink(missing_ok=True)

    def _folder(self, kb_id: str) -> Path:
        return self._root / kb_id / "evaluation" / "sets"


def question_of(row: Mapping[str, Any]) -> KbQuestion:
    """A question as ``asdict`` and JSON leave it."""
    return KbQuestion(**{**row, "answers": tuple(row.get("answers", ()))})


def _question(row: Mapping[str, Any]) -> SetQuestion:
    return SetQuestion(**{**row, "question": question_of(row["question"])})
