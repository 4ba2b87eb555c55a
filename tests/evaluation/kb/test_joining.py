"""Joining two versions of a question set loses no words of either side."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest

from chatbot_mvp.api import KbQuestion, QuestionSet, SetQuestion
from chatbot_mvp.evaluation.kb.sets import join

EDITS = ("as it was", "reworded", "deleted")


def question(key: str, text: str) -> SetQuestion:
    return SetQuestion(KbQuestion(key, text, "far"))


def version(*rows: SetQuestion, name: str = "Set") -> QuestionSet:
    return QuestionSet("set", "kb", name, "0", name, questions=rows)


def edited(edit: str, side: str) -> list[SetQuestion]:
    return {"as it was": [question("a", "before")], "reworded": [question("a", side)], "deleted": []}[edit]


@pytest.mark.parametrize(("mine", "theirs"), [*product(EDITS, EDITS)])
def test_every_new_wording_is_there_and_what_one_side_left_alone_follows_the_other(mine: str, theirs: str) -> None:
    base = version(question("a", "before"))
    one, other = version(*edited(mine, "mine"), question("", "new of mine")), version(*edited(theirs, "theirs"))
    joined, both = join(base, one, replace(other, questions=(*other.questions, question("b", "new of theirs"))))
    texts = [each.question.question for each in joined.questions]
    changed = [side for side, edit in (("theirs", theirs), ("mine", mine)) if edit == "reworded"]
    untouched = ["before"] if (mine, theirs) == ("as it was", "as it was") else []
    assert sorted(texts) == sorted([*untouched, *changed, "new of theirs", "new of mine"])
    assert both == (mine != "as it was" and theirs != "as it was" and (mine, theirs) != ("deleted", "deleted"))
    keys = [each.question.question_id for each in joined.questions if each.question.question_id]
    assert len(keys) == len(set(keys))


def test_the_same_edit_on_both_sides_is_no_conflict_and_a_new_name_is_kept() -> None:
    base = version(question("a", "before"))
    same = version(question("a", "after"))
    joined, both = join(base, replace(same, name="Mine"), replace(same, changed_at="later"))
    assert (joined.questions, joined.name, joined.changed_at, both) == (same.questions, "Mine", "later", 0)
