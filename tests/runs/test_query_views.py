"""The questions of a run, filtered: each filter alone and together, and quick with 7,405 of them."""

from __future__ import annotations

import time
from typing import Any

import pytest

from chatbot_mvp.runs.headline import headlines
from chatbot_mvp.runs.query_views import QueryFilter, QueryTable, distribution, word_difference
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


def test_what_is_not_scored_is_no_failure() -> None:
    rows = [row("a", 1.0), row("b", None, cause="not_scored"), row("c", 0.0, cause="not_retrieved")]
    counts = QueryTable(made_result(per_query=rows)).counts()
    assert (counts["lost"], counts["unscored"]) == (1, 1)


def test_a_run_of_a_model_over_a_base_counts_as_its_headline() -> None:
    """Also one of an earlier version, whose causes say that there was no reference answer."""
    rows = [row(f"r{n}", None, cause="not_scored", response="Sí.", metrics={"solved": 1.0}) for n in range(6)]
    rows += [row("w", None, cause="ok", response="No.", metrics={"solved": 0.0}), row("x", None, cause="not_scored")]
    result = made_result(per_query=rows, kind="kb", generator="ollama/m", metrics={"solved": 6 / 7})
    [headline] = headlines([result])
    table = QueryTable(result)
    counts = table.counts()
    assert (headline.right.count, headline.right.total) == (6, 7)
    assert (counts["lost"], counts["unscored"]) == (1, 1)
    assert table.causes() == {"ok": 6, "unsolved": 1, "not_scored": 1}


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
    assert table.counts() == {"all": 4, "lost": 3, "unscored": 0, "missed": 1, "failed": 2}
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


def test_counts_quantiles_and_missing_values_worked_out_by_hand() -> None:
    """0, 0, 0.3, 0.5, 1 in tenths: 0.3 belongs to the interval that begins there, 1 to the last one.

    Sorted, the quantile q lies at place 4q: 5 % at 0.2 between 0 and 0; 95 % at 3.8, 0.8 of the way from 0.5 to 1.
    """
    found = distribution([0.3, 0.0, None, 1.0, 0.5, 0.0], (0.0, 1.0))
    assert found is not None
    assert found.edges[3] == 0.3
    assert found.counts == (2, 0, 0, 1, 0, 1, 0, 0, 0, 1)
    assert (found.scored, found.missing, found.above) == (5, 1, 0)
    assert found.mean == 1.8 / 5
    assert [round(value, 9) for value in found.quantiles] == [0.0, 0.3, 0.9]


def test_a_long_tail_is_counted_above_the_last_edge() -> None:
    """Of 0 … 199 and 10,000 the 99th percentile lies at place 0.99 x 200 = 198."""
    found = distribution([*range(200), 10_000], bins=2)
    assert found is not None
    assert found.edges == (0.0, 99.0, 198.0)
    assert (found.counts, found.above) == ((99, 100), 2)
    assert sum(found.counts) + found.above == found.scored == 201


def test_nothing_and_only_zeros() -> None:
    assert distribution([]) is None
    assert distribution([None]) is None
    zeros = distribution([0.0, 0.0])
    assert zeros is not None
    assert zeros.counts[0] == 2
    assert (zeros.edges[0], zeros.edges[-1]) == (0.0, 1.0)


def test_the_largest_value_is_inside_although_the_edges_are_rounded() -> None:
    """Rounded to nine places the last edge would be 0.3333333330, below both values."""
    found = distribution([1 / 3, 1 / 3], bins=2)
    assert found is not None
    assert (found.counts, found.above) == ((0, 2), 0)


def told(reference: str, answer: str, language: str = "es") -> tuple[str, str]:
    """Both texts, what only one of them has between < and >."""
    sides = word_difference(reference, answer, language)
    assert ["".join(part.text for part in side) for side in sides] == [reference, answer]
    one, two = ("".join(part.text if part.shared else f"<{part.text}>" for part in side) for side in sides)
    return one, two


@pytest.mark.parametrize(
    ("reference", "answer", "expected"),
    [
        ("El faro de Alba", "el Faro, de Alba.", ("El faro de Alba", "el Faro, de Alba.")),
        ("la caldereta", "una caldereta de anguila", ("la caldereta", "una caldereta< de anguila>")),
        ("en 1904 murió", "murió en 1905", ("en< 1904> murió", "murió en< 1905>")),
        # Twice in one text and once in the other: shared once.
        ("no", "no y no", ("no", "no< y no>")),
        ("dos palabras", "", ("<dos palabras>", "")),
        ("<b>&", "<b>&", ("<b>&", "<b>&")),
        # White space after the last word is shared, whatever the word is.
        ("un faro \n", "isla ", ("un< faro> \n", "<isla> ")),
    ],
)
def test_what_only_one_of_them_says(reference: str, answer: str, expected: tuple[str, str]) -> None:
    assert told(reference, answer) == expected


def test_articles_count_in_no_language_but_their_own() -> None:
    assert told("the lake", "lake", "en") == ("the lake", "lake")
    assert told("the lake", "lake", "es") == ("<the> lake", "lake")
    assert told("lago", "el lago", "es") == ("lago", "el lago")
    # "a" is an article in English only.
    assert told("voy a casa", "a casa", "es") == ("<voy> a casa", "a casa")
    assert told("casa", "a casa", "es") == ("casa", "<a> casa")
    assert told("lago", "el lago", "en") == ("lago", "<el> lago")
    assert told("el lago", "el el lago", "en") == ("el lago", "el< el> lago")
