"""The list of runs: which kind a run is, the figure that stands for it, and what a filter keeps."""

from __future__ import annotations

from typing import Any

import pytest

from chatbot_mvp.runs.line import RunLine
from chatbot_mvp.runs.lists import (
    History,
    RankedRun,
    RunFilter,
    Series,
    history_of,
    kind_of,
    leaderboard,
    main_metric,
    run_groups,
    search,
    series_of,
)
from chatbot_mvp.runs.notes import RunNote
from tests.made_results import made_line

KINDS = [
    ({}, "retrieval"),
    ({"generator": "groq/llama"}, "answers"),
    ({"kind": "kb"}, "kb"),
    ({"kind": "kb", "generator": "groq/llama"}, "kb"),
    ({"kind": "ragas", "generator": "groq/llama"}, "ragas"),
]


@pytest.mark.parametrize(("fields", "kind"), KINDS)
def test_the_kind_of_a_run(fields: dict[str, Any], kind: str) -> None:
    assert kind_of(made_line(**fields)) == kind


@pytest.mark.parametrize(
    ("fields", "metrics", "main"),
    [
        ({}, {"mrr": 0.5, "recall@5": 0.5}, "recall@5"),
        ({"generator": "m"}, {"recall@5": 0.5, "generation_score": 0.5}, "generation_score"),
        ({"kind": "kb"}, {"refused": 0.5, "accepted": 0.5}, "accepted"),
        # A metric without a score stands for a run only if no other one has a score.
        ({}, {"recall@5": None, "mrr": 0.5}, "mrr"),
        ({}, {"mrr": None, "recall@5": None}, "recall@5"),
        # Known metrics before those of another version.
        ({}, {"of_old": 0.5, "precision@5": 0.5}, "precision@5"),
        ({"kind": "ragas"}, {"of_old": 0.5}, "of_old"),
        ({}, {}, ""),
    ],
)
def test_the_metric_that_stands_for_a_run(fields: dict[str, Any], metrics: dict[str, float | None], main: str) -> None:
    assert main_metric(made_line(**fields, metrics=metrics)) == main


RUNS = [
    made_line(run_id="a", dataset="Peñón", strategy="LEXICAL", started_at="2030-01-02"),
    made_line(run_id="b", dataset="valle", strategy="BRIDGE", generator="groq/llama", judge="gemini/flash"),
    made_line(run_id="c", dataset="valle", strategy="LEXICAL", kind="kb"),
]
NOTES = {"a": RunNote(("Línea base",), "la primera"), "c": RunNote(("linea base", "v2"), "")}


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        (RunFilter(), "abc"),
        (RunFilter(text="LEXICAL penon"), "a"),
        (RunFilter(text="2030-01"), "a"),
        (RunFilter(text="llama flash"), "b"),
        (RunFilter(text="linea primera"), "a"),
        (RunFilter(text="v2"), "c"),
        (RunFilter(text="valle lexical"), "c"),
        (RunFilter(datasets=("valle",)), "bc"),
        (RunFilter(kinds=("kb", "answers")), "bc"),
        (RunFilter(tags=("LÍNEA BASE",)), "ac"),
        (RunFilter(tags=("linea base", "v2")), "c"),
        (RunFilter(text="lexical", datasets=("valle",), kinds=("kb",), tags=("v2",)), "c"),
        (RunFilter(text="lexical", datasets=("valle",), kinds=("retrieval",)), ""),
        # No word runs over the end of a field into the next one.
        (RunFilter(text="valleBRIDGE"), ""),
    ],
)
def test_a_filter_keeps_the_runs_that_meet_all_its_conditions(asked: RunFilter, found: str) -> None:
    assert "".join(run.run_id for run in search(RUNS, NOTES, asked)) == found


VALLE: dict[str, Any] = {"dataset": "valle", "dataset_sha256": "0", "queries": 40, "documents": 80}


def scored(run_id: str, score: float | None, metric: str = "mrr") -> RunLine:
    return made_line(**VALLE, run_id=run_id, metrics={metric: score})


def ranks(places: list[RankedRun]) -> list[tuple[str, int | None]]:
    return [(place.run.run_id, place.rank) for place in places]


def test_a_field_has_the_names_and_counts_of_what_its_runs_measured() -> None:
    answers = made_line(run_id="s", kind="ragas", dataset="sistema", dataset_sha256="1", queries=3)
    groups = run_groups([scored("b", 0.5), answers, scored("a", 0.1)])
    assert [[run.run_id for run in group.runs] for group in groups] == [["b", "a"], ["s"]]
    assert [(group.kind, group.dataset, group.sha256, group.queries, group.documents) for group in groups] == [
        ("benchmark", "valle", "0", 40, 80),
        ("ragas", "sistema", "1", 3, 0),
    ]


def test_answers_and_questions_of_equal_content_are_one_field_whatever_their_names() -> None:
    for kind in ("ragas", "kb"):
        named = [made_line(run_id=name, kind=kind, dataset=name, dataset_sha256="1", queries=3) for name in "ba"]
        [group] = run_groups(named)
        assert group.dataset == "b", "the name in the newest run"
    assert len(run_groups([made_line(**VALLE), made_line(**{**VALLE, "dataset": "otro"})])) == 2
    assert len(run_groups([made_line(**VALLE), made_line(**{**VALLE, "documents": 81})])) == 2


def test_equal_values_share_the_better_rank_and_the_unscored_come_last_without_one() -> None:
    runs = [scored("none", None), scored("low", 0.25), scored("one", 0.5), scored("two", 0.5)]
    [group] = run_groups([*runs, made_line(**VALLE, run_id="other", metrics={"recall@5": 1.0})])
    assert ranks(leaderboard(group, "mrr")) == [("one", 1), ("two", 1), ("low", 3), ("none", None)]


def test_a_metric_that_improves_by_falling_is_ranked_upwards() -> None:
    name = "complement_recall@5"
    [group] = run_groups([scored("high", 0.9, name), scored("low", 0.1, name), scored("between", 0.5, name)])
    assert ranks(leaderboard(group, name)) == [("low", 1), ("between", 2), ("high", 3)]


def test_a_metric_of_another_version_is_ranked_downwards() -> None:
    [group] = run_groups([scored("low", 0.1, "of_old"), scored("high", 0.9, "of_old")])
    assert ranks(leaderboard(group, "of_old")) == [("high", 1), ("low", 2)]


def test_a_place_says_how_many_queries_were_scored_of_how_many() -> None:
    """A metric without counts: none is known to be scored of the run's queries."""
    known = made_line(
        **VALLE, run_id="known", metrics={"mrr": 0.5}, scored={"mrr": [39, 40]}, intervals={"mrr": [0.4, 0.6]}
    )
    places = [
        *leaderboard(run_groups([known])[0], "mrr"),
        *leaderboard(run_groups([scored("old", 0.5)])[0], "mrr"),
    ]
    assert [(place.scored, place.total, place.interval) for place in places] == [
        (39, 40, (0.4, 0.6)),
        (0, 40, None),
    ]


def test_the_metrics_of_a_field_begin_with_the_main_one_and_each_is_there_once() -> None:
    runs = [made_line(**VALLE, metrics={"of_old": 1.0, "mrr": 0.5, "recall@5": 0.5}), scored("a", 0.5, "ndcg@10")]
    [group] = run_groups(runs)
    assert group.metrics[0] == "recall@5"
    assert group.metrics[-1] == "of_old", "unknown to this version"
    assert sorted(group.metrics) == ["mrr", "ndcg@10", "of_old", "recall@5"]


def run(number: int, value: float | None, fingerprint: str = "a", sha: str = "s", metric: str = "recall@5") -> RunLine:
    interval = None if value is None else (round(value - 0.1, 6), round(value + 0.1, 6))
    return made_line(
        run_id=f"r{number}",
        dataset="valle",
        dataset_sha256=sha,
        fingerprint=fingerprint,
        queries=40,
        metrics={metric: value},
        intervals={metric: interval},
        started_at=f"2026-11-{number:02}",
    )


def of(*runs: RunLine, metric: str = "recall@5") -> History:
    [series] = series_of(list(reversed(runs)))
    return history_of(series, metric)


def test_the_first_run_below_the_band_of_earlier_runs_is_named() -> None:
    history = of(run(1, 0.8), run(2, 0.82), run(3, 0.72), run(4, 0.69), run(5, 0.5))
    assert [point.outside for point in history.points] == [False, False, False, True, True]
    assert history.first_outside is not None
    assert (history.first_outside.run_id, history.first_outside.band) == ("r4", (0.7, 0.9))
    assert history.to_json()["first_outside"] == "r4"
    assert of(run(1, 0.8), run(2, 0.95)).first_outside is None


def test_a_metric_where_lower_is_better_falls_out_above_the_band() -> None:
    metric = "complement_recall@5"
    history = of(run(1, 0.2, metric=metric), run(2, 0.05, metric=metric), run(3, 0.4, metric=metric), metric=metric)
    assert [point.outside for point in history.points] == [False, False, True]


def test_changes_of_configuration_and_data_are_marked_and_other_data_begin_a_band() -> None:
    history = of(run(1, 0.9), run(2, 0.9, "b"), run(3, 0.3, "b", "t"), run(4, 0.3, "b", "t"), run(5, 0.9, "b"))
    assert [point.configuration_changed for point in history.points] == [False, True, False, False, False]
    assert [point.data_changed for point in history.points] == [False, False, True, False, True]
    assert history.first_outside is None


def test_runs_without_the_metric_are_left_out_and_the_newest_data_come_first() -> None:
    assert [point.run_id for point in of(run(1, 0.8), run(2, None), run(3, 0.8)).points] == ["r1", "r3"]
    other = made_line(run_id="k", kind="kb", dataset="kb", metrics={"hit@3": 1.0})
    found = series_of([other, run(1, 0.8)])
    assert [(series.dataset, series.metrics) for series in found] == [("kb", ["hit@3"]), ("valle", ["recall@5"])]
    assert history_of(Series("kb", "kb", (other,)), "hit@3").points[0].interval is None


def test_a_history_within_its_band_names_no_run_and_has_its_points() -> None:
    found = of(run(1, 0.8), run(2, 0.8)).to_json()
    assert (found["kind"], found["dataset"], found["metric"]) == ("benchmark", "valle", "recall@5")
    assert found["first_outside"] is None
    assert [point["run_id"] for point in found["points"]] == ["r1", "r2"]
