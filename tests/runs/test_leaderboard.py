"""Leaderboards: what is ranked together, in which order, with which counts."""

from __future__ import annotations

from typing import Any

from chatbot_mvp.runs.line import RunLine
from chatbot_mvp.runs.lists import RankedRun, leaderboard, run_groups
from tests.made_results import made_line

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
