"""Question sets of knowledge bases: created, checked, edited, imported, exported and deleted."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from chatbot_mvp.errors import EmptyDataset, QuestionSetChanged
from chatbot_mvp.evaluation.kb.questions import KbQuestion, load_questions, parse_questions, unique_ids
from chatbot_mvp.evaluation.kb.sets import (
    Origin,
    QuestionSet,
    QuestionSetStore,
    SetCheck,
    SetQuestion,
    check_set,
    join,
    new_question_id,
    taking_new,
    with_documents,
)
from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.storage.aside import forget_old


class QuestionSets:
    """The question sets of all knowledge bases. Safe to share between sessions."""

    def __init__(self, live: LiveSettings, kbs: KnowledgeBases) -> None:
        self._live = live
        self._kbs = kbs
        self._sets = QuestionSetStore(live.current.kb_dir)
        self._aside = live.current.deleted_sets_dir
        self._checked: tuple[tuple[QuestionSet, str], SetCheck] | None = None

    @performs(Action.READ)
    def sets(self, kb_id: str) -> list[QuestionSet]:
        """Return the question sets of a knowledge base, newest first."""
        return self._sets.all(kb_id)

    def question_set(self, kb_id: str, set_id: str) -> QuestionSet:
        """Return a question set. Raises QuestionSetNotFound."""
        return self._sets.load(kb_id, set_id)

    @performs(Action.READ)
    def check(self, questions: QuestionSet) -> SetCheck:
        """Check whether a set still fits the current text of its knowledge base. Raises KbNotFound, KbUnreadable."""
        record = self._kbs.store.record(questions.kb_id)
        key = (questions, record.version)
        if self._checked is None or self._checked[0] != key:  # pages ask with every interaction
            text, places = self._kbs.document(questions.kb_id).text, self._kbs.places(questions.kb_id)
            self._checked = (key, check_set(questions, text, places, record.sha256))
        return self._checked[1]

    @performs(Action.CHANGE_QUESTIONS)
    def save(self, questions: QuestionSet) -> QuestionSet:
        """Save a set and return it as saved. A set without an id is saved as a new one.

        Raises:
            KbNotFound, KbUnreadable
        """
        text, places = self._kbs.document(questions.kb_id).text, self._kbs.places(questions.kb_id)
        unique = replace(questions, questions=_unique_ids(questions.questions))
        return self._sets.save(with_documents(unique, text, places))

    @performs(Action.CHANGE_QUESTIONS)
    def save_joined(self, base: QuestionSet, mine: QuestionSet) -> tuple[QuestionSet, int | None]:
        """Save the edits of a set. If somebody else saved the set in the meantime, join both versions.

        Args:
            base: the version that was edited.
            mine: the version with the edits.

        Returns:
            The set as saved, and the number of questions that both sides changed; None if nobody else saved the set.

        Raises:
            KbNotFound, KbUnreadable, QuestionSetNotFound
        """
        both = None
        while True:
            try:
                return self.save(mine), both
            except QuestionSetChanged:
                theirs = self.question_set(base.kb_id, base.set_id)
                mine, count = join(base, mine, theirs)
                base, both = theirs, (both or 0) + count

    @performs(Action.CHANGE_QUESTIONS)
    def take_new(self, questions: QuestionSet, wanted: Collection[str]) -> QuestionSet:
        """Save a set whose questions take the paragraphs that now stand in the place of those they expect.

        Args:
            wanted: ids of questions whose passage has changed or moved.

        Raises:
            KbNotFound, KbUnreadable, QuestionSetNotFound
        """
        return self.save_joined(questions, taking_new(questions, self.check(questions), wanted))[0]

    @performs(Action.CHANGE_QUESTIONS)
    def empty_set(self, kb_id: str, name: str) -> QuestionSet:
        """Create and save a set without questions. Raises KbNotFound, KbUnreadable."""
        return self._sets.save(QuestionSet("", kb_id, name, self._kbs.store.record(kb_id).sha256))

    @performs(Action.CHANGE_QUESTIONS)
    def import_set(self, kb_id: str, name: str, content: bytes) -> QuestionSet:
        """Create and save a set from the content of a question file.

        Raises:
            KbNotFound, KbUnreadable, EmptyDataset, DatasetError (dataset_file_unreadable)
        """
        record = self._kbs.store.record(kb_id)
        questions = _of(parse_questions(name, content), "file")
        return self.save(QuestionSet("", kb_id, Path(name).stem, record.sha256, questions=questions))

    @performs(Action.CHANGE_QUESTIONS)
    def copy_set(self, from_kb: str, set_id: str, kb_id: str) -> QuestionSet:
        """Copy a set from another knowledge base, such as an earlier version.

        The copy keeps the hash of the original's text, so that ``check`` reports the change until a
        set with the hash of the current text is saved.

        Raises:
            KbNotFound, KbUnreadable, QuestionSetNotFound
        """
        return self.save(replace(self._sets.load(from_kb, set_id), kb_id=kb_id, set_id=""))

    @performs(Action.READ)
    def chat_questions(self, kb_id: str) -> tuple[SetQuestion, ...]:
        """Return the questions that chat users have marked for the evaluation; empty if there are none.

        Raises:
            DatasetError (dataset_file_unreadable)
        """
        path = self._live.current.kb_dir / kb_id / "questions.jsonl"
        try:
            return _of(load_questions(path), "chat") if path.is_file() else ()
        except EmptyDataset:
            return ()

    @performs(Action.READ)
    def export(self, questions: QuestionSet) -> str:
        """Return the kept questions as the content of a question file, which ``kb evaluate`` reads."""
        return "".join(f"{question.as_line()}\n" for question in questions.kept)

    @performs(Action.CHANGE_QUESTIONS)
    def delete_set(self, kb_id: str, set_id: str, undoable: bool = False) -> None:
        """Delete a set; its results stay.

        Args:
            undoable: keep it for a day, in which ``undelete_set`` brings it back.

        Raises:
            QuestionSetNotFound, FileNotWritten
        """
        self._sets.delete(kb_id, set_id, self._aside if undoable else None)

    @performs(Action.READ)
    def deleted(self, kb_id: str) -> list[QuestionSet]:
        """Return the sets of a knowledge base whose deletion can be undone, newest first."""
        forget_old(self._aside.glob(f"{kb_id}/**/*.json"))
        kept = self._sets.ids(kb_id)  # may have been saved again by who still edited it
        return [one for one in QuestionSetStore(self._aside).all(kb_id) if one.set_id not in kept]

    @performs(Action.CHANGE_QUESTIONS)
    def undelete_set(self, kb_id: str, set_id: str) -> None:
        """Bring back a set whose deletion can be undone. Raises KbNotFound, QuestionSetNotFound, FileNotWritten."""
        self._kbs.store.record(kb_id)
        self._sets.take_back(kb_id, set_id, self._aside)


def _of(questions: Sequence[KbQuestion], origin: Origin) -> tuple[SetQuestion, ...]:
    return tuple(SetQuestion(question, origin=origin) for question in questions)


def _unique_ids(questions: Sequence[SetQuestion]) -> tuple[SetQuestion, ...]:
    """Give a new id to questions whose id is missing or repeated, because ids identify the rows of a result."""
    names = unique_ids([each.question.question_id or new_question_id() for each in questions])
    return tuple(
        replace(each, question=replace(each.question, question_id=name))
        for each, name in zip(questions, names, strict=True)
    )
