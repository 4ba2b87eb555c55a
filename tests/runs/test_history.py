"""The history of a data set: changes marked, the band of earlier runs, and the first run that fell out of it."""

from __future__ import annotations

from chatbot_mvp.runs.line import RunLine
from chatbot_mvp.runs.lists import History, Series, history_of, series_of
from tests.made_results import made_line


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
