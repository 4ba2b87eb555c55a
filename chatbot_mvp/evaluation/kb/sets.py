"""Question sets of a knowledge base on disk, ``<kb>/evaluation/sets/<set_id>.json``, and two versions of one joined."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from chatbot_mvp.errors import FileOfLaterVersion, QuestionSetChanged, QuestionSetNotFound
from chatbot_mvp.evaluation.kb.questions import KINDS, KbQuestion, places_of
from chatbot_mvp.knowledge_base.places import PassageFinder, Places, State, Whereabouts
from chatbot_mvp.storage.aside import move_file
from chatbot_mvp.storage.clock import sortable_stamp, utc_after
from chatbot_mvp.storage.files import lock_beside, make_folder, naming, write_json
from chatbot_mvp.storage.formats import QUESTION_SET, VERSION, complete, known_version
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.types import PastTurn

Origin = Literal["model", "rules", "person", "file", "chat", "review"]
"""Source of a question: proposed by a model or by rules, written by a person, imported, marked in the chat, or labelled
in the review of the chat's answers."""

PROPOSED: tuple[Origin, ...] = ("model", "rules")
"""Origins of questions that no person asked."""

_log = logging.getLogger(__name__)
SET_ID = re.compile(r"[0-9A-Za-z-]{4,64}")


@dataclass(frozen=True, slots=True)
class SetQuestion:
    """A question of a set, with its source. Only questions with ``keep`` are asked in a run."""

    question: KbQuestion
    keep: bool = True
    origin: Origin = "person"

    def changed_to(self, question: KbQuestion, keep: bool) -> SetQuestion:
        """Return the question after a person's edit. If its wording changed, its origin becomes "person"."""
        return SetQuestion(question, keep, self.origin if question.question == self.question.question else "person")


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Questions about a knowledge base, with a person's review of them."""

    set_id: str
    """Empty string for a set that has not been saved."""
    kb_id: str
    name: str
    kb_sha256: str
    """SHA-256 of the knowledge base's text for which the questions were made or last reviewed."""
    changed_at: str = ""
    """ISO 8601, UTC."""
    questions: tuple[SetQuestion, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Reason -> number of proposals that were dropped for it."""

    @property
    def kept(self) -> list[KbQuestion]:
        return [each.question for each in self.questions if each.keep]

    @property
    def automatic(self) -> int:
        """Number of kept answerable questions made by rules and not reworded since."""
        return sum(
            each.keep and each.origin == "rules" and each.question.kind == "answerable" for each in self.questions
        )

    @property
    def proposed(self) -> tuple[str, ...]:
        """Ids of the kept questions that rules or a model made and nobody has reworded since."""
        return tuple(each.question.question_id for each in self.questions if each.keep and each.origin in PROPOSED)

    def counts(self) -> dict[str, int]:
        """{kind: number of kept questions} for every kind, "unknown" for those without one."""
        kinds = [question.kind or "unknown" for question in self.kept]
        return {kind: kinds.count(kind) for kind in (*KINDS, "unknown")}

    def with_added(self, questions: Sequence[SetQuestion]) -> QuestionSet:
        """Return this set with ``questions`` added, except those already in it (ignoring case and white space)."""
        known = set(map(_wording, self.questions))
        added = []
        for each in questions:
            if (key := _wording(each)) not in known:
                known.add(key)
                added.append(each)
        return replace(self, questions=(*self.questions, *added))


@dataclass(frozen=True, slots=True)
class SetCheck:
    """Whether a set still fits the current text of its knowledge base."""

    kb_changed: bool
    """The text has changed since the questions were made or last reviewed."""
    lost: tuple[str, ...]
    """Ids of the questions whose expected passage does not occur in the text."""
    passages: Mapping[str, Whereabouts]
    """Question id -> where its expected passage stands in the current version, for every question that has one."""

    def having(self, *states: State) -> list[str]:
        """Return the ids of the questions whose passage is in one of these states."""
        return [key for key, found in self.passages.items() if found.state in states]


def check_set(questions: QuestionSet, text: str, places: Places, sha256: str) -> SetCheck:
    """Look for every expected passage in a version of a knowledge base.

    Args:
        text, places, sha256: those of the version.
    """
    asked = {each.question.question_id: each.question for each in questions.questions if each.question.paragraph}
    finder = PassageFinder(text, places)
    found = {key: finder.find(one.paragraph or "", one.document or "") for key, one in asked.items()}
    return SetCheck(
        questions.kb_sha256 != sha256,
        tuple(key for key, one in asked.items() if not places_of(text, one.paragraph)),
        found,
    )


def taking_new(questions: QuestionSet, check: SetCheck, wanted: Collection[str]) -> QuestionSet:
    """Return a set whose questions take the paragraph that stands in the place of the one they expect.

    Args:
        wanted: ids of questions; those whose passage is neither changed nor moved stay as they are.
    """

    def taken(each: SetQuestion) -> SetQuestion:
        now = check.passages.get(each.question.question_id)
        if each.question.question_id not in wanted or now is None or now.state not in ("changed", "moved"):
            return each
        document = now.place.file if now.place else each.question.document
        return replace(each, question=replace(each.question, paragraph=now.text, document=document))

    return replace(questions, questions=tuple(map(taken, questions.questions)))


def with_documents(questions: QuestionSet, text: str, places: Places) -> QuestionSet:
    """Return a set whose questions name the documents of their passages, where these occur in the text."""

    def named(each: SetQuestion) -> SetQuestion:
        own = each.question
        spans = places_of(text, own.paragraph) if own.paragraph else ()
        found = [place.file for start, _ in spans if (place := places.at(start)) is not None]
        if not found or own.document in found:
            return each
        return replace(each, question=replace(own, document=found[0]))

    return replace(questions, questions=tuple(map(named, questions.questions)))


def _wording(each: SetQuestion) -> str:
    return " ".join(each.question.question.casefold().split())


def new_question_id() -> str:
    return f"q-{secrets.token_hex(4)}"


class QuestionSetStore:
    """Reads and writes the sets of all knowledge bases; they are deleted together with their knowledge base."""

    def __init__(self, root: Path) -> None:
        """``root`` is the folder of the knowledge bases."""
        self._root = root

    def ids(self, kb_id: str) -> list[str]:
        """Return the ids of a knowledge base's sets, newest first."""
        return sorted((path.stem for path in self._folder(kb_id).glob("*.json")), reverse=True)

    def all(self, kb_id: str) -> list[QuestionSet]:
        """Return the sets of a knowledge base, newest first. Unreadable files are left out."""
        found = []
        for set_id in self.ids(kb_id):
            try:
                found.append(self.load(kb_id, set_id))
            except (QuestionSetNotFound, FileOfLaterVersion) as error:
                _log.warning("%s", error)
        return found

    def load(self, kb_id: str, set_id: str) -> QuestionSet:
        """Read a set.

        Raises:
            QuestionSetNotFound: there is no such set, or its file is unreadable.
            FileOfLaterVersion
        """
        if not SET_ID.fullmatch(set_id):
            raise QuestionSetNotFound(kb_id=kb_id, set_id=set_id)
        try:
            path = self._folder(kb_id) / f"{set_id}.json"
            read = known_version(parse_json(path.read_bytes()), path, QUESTION_SET)
            questions = tuple(_question(row) for row in complete(read, QuestionSet).pop("questions"))
            # The path decides the ids, so that a file copied to another knowledge base belongs to it.
            return QuestionSet(**{**read, "kb_id": kb_id, "set_id": set_id, "questions": questions})
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise QuestionSetNotFound(kb_id=kb_id, set_id=set_id) from error

    def save(self, questions: QuestionSet) -> QuestionSet:
        """Write a set atomically and return it as saved. A set without an id gets a new one.

        Raises:
            QuestionSetChanged: the stored set is not the one that ``questions`` was made from; it stays.
            FileNotWritten: the disk is full or not writable; the stored set stays.
        """
        set_id = questions.set_id or f"{sortable_stamp()}-{secrets.token_hex(2)}"
        folder = self._folder(questions.kb_id)
        path = folder / f"{set_id}.json"
        with naming(path):
            make_folder(folder)
            with lock_beside(path):
                # Inside the lock: another process may have saved the set since this one read it.
                if path.is_file() and self.load(questions.kb_id, set_id).changed_at != questions.changed_at:
                    raise QuestionSetChanged(kb_id=questions.kb_id, name=questions.name)
                saved = replace(questions, set_id=set_id, changed_at=utc_after(questions.changed_at))
                write_json(path, {VERSION: QUESTION_SET, **asdict(saved)}, indent=1)
        return saved

    def delete(self, kb_id: str, set_id: str, aside: Path | None = None) -> None:
        """Delete a set.

        Args:
            aside: root of the store that gets its file instead; on the same disk.

        Raises:
            QuestionSetNotFound
            FileNotWritten: it cannot be moved there.
        """
        self.load(kb_id, set_id)
        path = self._folder(kb_id) / f"{set_id}.json"
        if aside is not None:
            move_file(path, self._root, aside)
        path.unlink(missing_ok=True)

    def take_back(self, kb_id: str, set_id: str, aside: Path) -> None:
        """Bring back a set whose file was moved to ``aside``, unless it was saved again meanwhile.

        Raises:
            QuestionSetNotFound, FileNotWritten
        """
        QuestionSetStore(aside).load(kb_id, set_id)
        path = self._folder(kb_id) / f"{set_id}.json"
        if not path.exists():
            move_file(aside / path.relative_to(self._root), aside, self._root)

    def _folder(self, kb_id: str) -> Path:
        return self._root / kb_id / "evaluation" / "sets"


def _question(row: Mapping[str, Any]) -> SetQuestion:
    """Rebuild a question from the dict that ``asdict`` and JSON made of it."""
    # These keys came later than the format.
    asked = complete({"document": None, "history": (), **row["question"]}, KbQuestion)
    history = tuple(PastTurn(**complete(turn, PastTurn)) for turn in asked["history"])
    question = KbQuestion(**{**asked, "answers": tuple(asked["answers"]), "history": history})
    return SetQuestion(**{**complete(row, SetQuestion), "question": question})


def join(base: QuestionSet, mine: QuestionSet, theirs: QuestionSet) -> tuple[QuestionSet, int]:
    """Return the saved version with my edits added, and the number of questions that both sides changed.

    No text is lost: a question that both reworded is there in both versions, and one that only one side deleted stays
    if the other side changed it.

    Args:
        base: the version that both sides began with.
        mine: ``base`` with my edits. Its new questions have no id.
        theirs: the version that is saved now.
    """
    before, own, saved = _by_id(base), _by_id(mine), _by_id(theirs)
    rows: list[SetQuestion] = []
    both = 0
    for key, each in saved.items():
        was, edited = before.get(key), own.get(key)
        if edited in (was, each):
            rows.append(each)
        elif each == was:
            rows += [edited] if edited else []
        else:
            rows.append(each)
            rows += [replace(edited, question=replace(edited.question, question_id=""))] if edited else []
            both += 1
    for each in mine.questions:
        key = each.question.question_id
        if not key:
            rows.append(each)
        elif key not in saved and each != before.get(key):
            rows.append(each)
            both += 1
    return replace(
        theirs,
        name=theirs.name if mine.name == base.name else mine.name,
        kb_sha256=theirs.kb_sha256 if mine.kb_sha256 == base.kb_sha256 else mine.kb_sha256,
        questions=tuple(rows),
    ), both


def _by_id(questions: QuestionSet) -> dict[str, SetQuestion]:
    return {each.question.question_id: each for each in questions.questions if each.question.question_id}
