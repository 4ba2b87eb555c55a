"""Joins two versions of a question set that were made from the same one at the same time."""

from __future__ import annotations

from dataclasses import replace

from chatbot_mvp.evaluation.kb.sets import QuestionSet, SetQuestion


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
