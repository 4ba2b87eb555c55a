"""The list of runs: which kind a run is, the figure that stands for it, and what a filter keeps."""

from __future__ import annotations

from typing import Any

import pytest

from chatbot_mvp.runs.lists import RunFilter, kind_of, main_metric, search
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
