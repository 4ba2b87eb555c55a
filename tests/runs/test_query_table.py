"""The questions of a run, filtered: each filter alone and together, and quick with 7,405 of them."""

from __future__ import annotations

import time
from typing import Any

import pytest

from chatbot_mvp.runs.query_views import QueryFilter, QueryTable
from tests.made_results import made_result


def row(query_id: str, recall: float | None, **fields: Any) -> dict[str, Any]:
    base = {
        "query_id": query_id,
        "question": f"¿Qué es {query_id}?",
        "answer": "",
        "question_type": "bridge",
        "answer_type": "",
        "level": "easy",
        "metrics": {"recall@5": recall},
        "retrieved": ["d1"],
        "gold": ["d1"],
        "cause": "ok",
    }
    return {**base, **fields}


ROWS = [
    row("a", 1.0, answer="Álava"),
    row("b", 0.5, gold=["d1", "d2"], cause="not_retrieved", level="hard"),
    row("c", None, failed=True, cause="not_scored", response="dos islas", question_type="comparison"),
    row("d", 0.0, cause="below_cut", judge_failed=True),
]


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (QueryFilter(), "cdba"),
        (QueryFilter(only="lost"), "cdb"),
        (QueryFilter(only="missed"), "b"),
        (QueryFilter(only="failed"), "cd"),
        (QueryFilter(cause="below_cut"), "d"),
        (QueryFilter(field="level", value="easy"), "cda"),
        # A question that was not scored has no place in a range, both ends of which count.
        (QueryFilter(metric="recall@5"), "dba"),
        (QueryFilter(metric="recall@5", low=0.5, high=1.0), "ba"),
        (QueryFilter(text="ISLAS dos"), "c"),
        (QueryFilter(text="alava"), "a"),
        (QueryFilter(text="¿qué b"), "b"),
        (QueryFilter(only="lost", field="level", value="easy", metric="recall@5"), "d"),
    ],
)
def test_a_filter_keeps_the_questions_that_fit_the_worst_first(wanted: QueryFilter, ids: str) -> None:
    table = QueryTable(made_result(per_query=ROWS))
    assert "".join(table.rows[position].query_id for position in table.select(wanted)) == ids


KB_ROWS = [
    row("refused wrongly", None, metrics={"accepted": 0.0, "mrr": 1.0}),
    row("accepted wrongly", None, metrics={"refused": 0.0}, gold=[]),
    row("first", None, metrics={"accepted": 1.0, "mrr": 1.0}),
    row("second", None, metrics={"accepted": 1.0, "mrr": 0.5}),
    row("not found", None, metrics={"accepted": 1.0, "mrr": 0.0}),
    row("ranked nowhere", None, metrics={"accepted": 1.0}),
    row("refused", None, metrics={"refused": 1.0}, gold=[]),
]


def test_questions_about_a_knowledge_base_begin_with_wrong_decisions_and_then_go_by_rank() -> None:
    """A question to be refused has no rank, so it counts as one whose document came first; equal ones go by id."""
    table = QueryTable(made_result(per_query=KB_ROWS))
    assert [row.query_id for row in table.rows] == [
        "accepted wrongly",
        "refused wrongly",
        "not found",
        "ranked nowhere",
        "second",
        "first",
        "refused",
    ]


def test_filters_add_up_and_half_a_condition_is_none() -> None:
    table = QueryTable(made_result(per_query=ROWS))

    def found(**wanted: Any) -> str:
        return "".join(table.rows[position].query_id for position in table.select(QueryFilter(**wanted)))

    assert found(cause="below_cut", only="missed") == ""
    assert found(field="level", value="hard", cause="below_cut") == ""
    assert found(metric="recall@5", low=0.5, only="lost") == "b"
    assert found(field="level") == found(value="easy") == "cdba"


def test_what_a_page_offers_as_filters() -> None:
    table = QueryTable(made_result(per_query=ROWS))
    assert table.counts() == {"all": 4, "lost": 3, "missed": 1, "failed": 2}
    assert table.causes() == {"ok": 1, "not_retrieved": 1, "not_scored": 1, "below_cut": 1}
    assert table.fields() == {"question_type": ["bridge", "comparison"], "level": ["easy", "hard"]}
    assert table.values("recall@5") == [None, 0.0, 0.5, 1.0]
    assert QueryTable(made_result(per_query=ROWS[:1])).fields() == {}, "one value is no choice"
    assert (table.position("b"), table.position("z")) == (2, None)


def test_a_filter_over_7405_questions_takes_no_time_that_a_person_notices() -> None:
    table = QueryTable(made_result(per_query=[row(f"q{n}", n % 11 / 10) for n in range(7_405)]))
    started = time.thread_time()
    found = table.select(QueryFilter(only="all", metric="recall@5", low=0.2, text="qué q7"))
    assert time.thread_time() - started < 0.5
    assert {table.rows[position].query_id for position in found} >= {"q7", "q75"}
