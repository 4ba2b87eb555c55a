"""Add the question of a bad answer to the benchmark questions of its knowledge base."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Literal

from chatbot_mvp.chat.conversation import Turn
from chatbot_mvp.storage.files import make_folder, naming
from chatbot_mvp.storage.jsonl import Rows, append_chosen

QuestionKind = Literal["answerable", "near", "far"]
KINDS: tuple[QuestionKind, ...] = ("answerable", "near", "far")


def add_question(path: Path, turn: Turn, kind: QuestionKind | None, answer: str = "") -> bool:
    """Append a turn's question to a KB's question file, in the format that ``kb evaluate`` reads.

    Args:
        path: the file; created if it does not exist.
        kind: whether the KB answers the question; None if the user does not know.
        answer: the correct answer; "" if the user gives none.

    Returns:
        False if the file already has the question, and is therefore unchanged.

    Raises:
        FileNotWritten: the disk is full or not writable; the file stays as it was.
    """
    searched = turn.answer.search_query if turn.answer else ""
    question = " ".join((searched or turn.question).split())
    question_id = f"fb-{hashlib.sha256(question.encode('utf-8', 'replace')).hexdigest()[:10]}"
    entry: dict[str, object] = {"id": question_id, "question": question}
    if kind is not None:
        entry["kind"] = kind
    if answer.strip():
        entry["answers"] = [answer.strip()]
    if turn.answer:
        entry["outcome"] = turn.answer.outcome
    entry |= {"note": turn.feedback.note if turn.feedback else "", "asked_at": turn.asked_at}
    added = False

    def choose(present: Rows) -> Rows:
        nonlocal added
        added = all(row.get("id") != question_id for row in present)
        return [entry] if added else []

    with naming(path):
        make_folder(path.parent)
        append_chosen(path, choose)
    return added
