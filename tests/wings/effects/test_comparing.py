"""Kinds of effects and their statistics, against figures that were worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from chatbot_mvp.evaluation.kb.questions import KbQuestion
from chatbot_mvp.wings.effects.cli import headline, report_text
from chatbot_mvp.wings.effects.comparing import EffectsReport, kind_of, metric_tests, report_of
from chatbot_mvp.wings.effects.types import EffectsPlan, Kind, Passage, SideAnswer

HERE = Passage("a.md", None, "A", "Son 23 días. Nada más.", ((0, 12),))
ANSWERED = SideAnswer("Son 23 días. [1]", "answered", "", 0.9, (HERE,), None, None, None, "f", "demo", 0.1)
DECLINED = replace(ANSWERED, text="No lo sé.", outcome="nearest", why="evidence", passages=())
RIGHT = replace(ANSWERED, stands=True, right=True, rank=1)
WRONG = replace(ANSWERED, stands=True, right=False, rank=None)


def report(
    pairs: list[tuple[SideAnswer, SideAnswer]], kind: str | None = None, lost: int | None = None
) -> EffectsReport:
    asked = tuple(KbQuestion(str(row), f"¿{row}?", kind) for row in range(len(pairs)))
    plan = EffectsPlan("e", "k", "Normas", "v1", "v2", 1, 0, "chat", "", "", "2026-11-24T00:00:00Z", asked)
    before, after = ({str(row): pair[side] for row, pair in enumerate(pairs)} for side in (0, 1))
    return report_of(plan, {"before": before, "after": after}, 0.02, lost)


@pytest.mark.parametrize(
    ("after", "kind"),
    [
        (ANSWERED, "same"),
        (replace(ANSWERED, text="son 23  DÍAS. [2]"), "same"),
        (replace(ANSWERED, passages=(replace(HERE, section="B", page=3),)), "same"),
        (replace(ANSWERED, passages=(replace(HERE, path="b/a.md"),)), "elsewhere"),
        (replace(ANSWERED, passages=(replace(HERE, quotes=((13, 22),)),)), "elsewhere"),
        (replace(ANSWERED, text="Son 24 días. [1]"), "changed"),
        (DECLINED, "lost"),
    ],
)
def test_what_became_of_an_answer(after: SideAnswer, kind: Kind) -> None:
    assert kind_of(ANSWERED, after) == kind


def test_what_was_declined_is_new_or_declined_by_both() -> None:
    assert (kind_of(DECLINED, ANSWERED), kind_of(DECLINED, replace(DECLINED, outcome="refused"))) == ("new", "declined")


def test_lost_answers_are_tested_by_signs() -> None:
    """8 lost and 1 gained of 20: P(at least 8 of 9 signs) = (9 + 1) / 512."""
    found = report([(ANSWERED, DECLINED)] * 8 + [(DECLINED, ANSWERED)] + [(ANSWERED, ANSWERED)] * 11)
    [answered] = found.tested
    assert (answered.metric, answered.fell, answered.rose) == ("answered", 8, 1)
    assert (answered.before, answered.after) == (pytest.approx(19 / 20), pytest.approx(12 / 20))
    assert answered.test.p_worse == pytest.approx(10 / 512)
    assert (found.verdict, found.exit_code) == ("worse", 3)
    assert found.counts == {"lost": 8, "new": 1, "changed": 0, "elsewhere": 0, "same": 11, "declined": 0}


def test_right_answers_and_ranks_are_paired_where_the_paragraph_stands_in_both() -> None:
    second = replace(RIGHT, rank=2)
    gone = replace(ANSWERED, stands=False)
    found = report([(RIGHT, RIGHT)] * 9 + [(RIGHT, second), (second, WRONG), (RIGHT, gone)])
    by_name = {one.metric: one for one in found.tested}
    assert next(iter(by_name)) == "right"
    right, hit, mrr = by_name["right"], by_name["hit@1"], by_name["mrr"]
    assert (right.before, right.after, right.test.pairs, found.gone) == (1.0, pytest.approx(10 / 11), 11, 1)
    assert (hit.before, hit.after) == (pytest.approx(10 / 11), pytest.approx(9 / 11))
    assert (mrr.before, mrr.after) == (pytest.approx(10.5 / 11), pytest.approx(9.5 / 11))
    assert right.test.p_worse == pytest.approx(1.0)  # one of one sign is 1/2, twice that by Holm with ``answered``


def test_few_questions_never_show_that_nothing_got_worse() -> None:
    assert report([(ANSWERED, ANSWERED)] * 9).exit_code == 4
    assert report([(ANSWERED, ANSWERED)] * 10).exit_code == 0


def test_what_is_not_scored_is_not_zero() -> None:
    found = report([(DECLINED, ANSWERED)] * 3, kind="far")
    assert "right" not in {one.metric for one in found.tested}
    first = found.tested[0]
    assert (first.metric, first.before, first.after, first.test.pairs) == ("answered", None, None, 0)
    assert "answered: not scored" in report_text(found)
    assert [one.test.pairs for one in metric_tests((), 0.02)] == [0]


def test_a_question_that_is_rightly_declined_now_is_not_a_lost_answer() -> None:
    wrongly, rightly = replace(ANSWERED, right=False), replace(DECLINED, right=True)
    found = report([(wrongly, rightly)] * 12, kind="near", lost=0)
    assert (found.counts["lost"], len(found.lost), found.exit_code) == (12, 0, 0)
    assert found.tested[0].test.verdict == "better"


@pytest.mark.parametrize(("most", "code"), [(0, 3), (1, 3), (2, 0), (None, 4)])
def test_a_number_of_lost_answers_decides_instead_of_their_share(most: int | None, code: int) -> None:
    assert report([(ANSWERED, DECLINED)] * 2 + [(ANSWERED, ANSWERED)] * 3, lost=most).exit_code == code


def test_wrong_answers_fail_whatever_may_be_lost() -> None:
    assert report([(RIGHT, WRONG)] * 6 + [(RIGHT, RIGHT)] * 6, lost=10).exit_code == 3


def test_the_headline_counts_and_lines_are_cut() -> None:
    long = replace(ANSWERED, text="palabra " * 100)
    found = report([(ANSWERED, long), (ANSWERED, DECLINED), (DECLINED, ANSWERED)])
    assert headline(found).startswith("of 3 questions, 1 change their answer, 1 lose it, 1 gain one")
    assert max(map(len, report_text(found).splitlines())) < 260


def test_a_lower_rank_alone_lets_no_change_fail() -> None:
    found = report([(RIGHT, replace(RIGHT, rank=2))] * 12)
    assert {one.metric: one.test.verdict for one in found.tested}["hit@1"] == "worse"
    assert found.exit_code == 0


@pytest.mark.parametrize(("count", "verdict"), [(1, "not_worse"), (2, "unclear")])
def test_paragraphs_that_go_leave_too_little_to_call_the_rest_as_good(count: int, verdict: str) -> None:
    """Of 20 questions, more than 5 % have a score before only: what is left shows nothing of the whole."""
    gone = replace(ANSWERED, stands=False)
    found = report([(RIGHT, gone)] * count + [(RIGHT, RIGHT)] * (20 - count))
    assert (found.tested[0].gone, found.tested[0].test.pairs, found.verdict) == (count, 20 - count, verdict)
    came = report([(gone, RIGHT)] * 10 + [(RIGHT, RIGHT)] * 10)
    assert came.verdict == "not_worse", "a paragraph that came is no loss"
