"""The sentence over a comparison: a difference is called sure only if it is one for the better."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from streamlit_app.evaluation.in_words import show_comparison_in_words
from streamlit_app.shared.runs import run_names


def metric(name: str, delta: float, p_holm: float) -> Any:
    return SimpleNamespace(metric=name, delta=delta, p_holm=p_holm)


def test_runs_of_one_minute_are_numbered_and_strategies_have_names() -> None:
    runs: Any = [SimpleNamespace(run_id=name, started_at="2026-12-01T10:00:00+00:00") for name in ("c", "b", "a")]
    names = run_names(runs, lambda run: ("valle", "HYBRID" if run.run_id == "b" else "LEXICAL"))
    assert [name.partition(" · ")[2] for name in names.values()] == [
        "valle · solo palabras (2)",
        "valle · palabras y vectores",
        "valle · solo palabras (1)",
    ]


def test_other_metrics_do_not_make_a_difference_of_the_first_passage_less_sure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """2 of 9 against 9 of 9 is no chance, however many metrics the table below has."""
    said: list[str] = []
    monkeypatch.setattr("streamlit_app.evaluation.in_words.st", SimpleNamespace(markdown=said.append, caption=str))
    runs: Any = [
        SimpleNamespace(run_id=name, generator="", system=name, kind="benchmark") for name in ("BM25", "HYBRID")
    ]
    first = SimpleNamespace(metric="hit@1", base=2 / 9, other=1.0, pairs=9, delta=7 / 9, p=0.0078, p_holm=0.0625)
    comparison: Any = SimpleNamespace(runs=[SimpleNamespace(run_id="HYBRID", metrics=(first,))], headlines=())
    show_comparison_in_words(comparison, runs)
    assert "demasiado grande para ser casualidad" in said[0]


def side(count: int) -> Any:
    return SimpleNamespace(right=SimpleNamespace(count=count, total=40))


def test_names_of_models_are_escaped_once(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr("streamlit_app.evaluation.in_words.st", SimpleNamespace(markdown=said.append, caption=str))
    runs: Any = [SimpleNamespace(run_id=name, generator=f"ollama/{name}:1b", system="HYBRID") for name in ("a", "b")]
    delta = SimpleNamespace(run_id="b", metrics=(metric("answer_contains", 0.0, 1.0),))
    show_comparison_in_words(SimpleNamespace(runs=[delta], headlines=[side(20), side(20)]), runs)  # type: ignore[arg-type]
    assert r"ollama/a\:1b y ollama/b\:1b aciertan" in said[0] and "\\\\" not in said[0]


@pytest.mark.parametrize(
    ("contains", "yes_no", "sure"),
    [
        (metric("answer_contains", 0.3, 0.01), metric("accuracy", 0.0, 1.0), True),
        (metric("answer_contains", 0.3, 0.2), metric("accuracy", -0.4, 0.01), False),
        (metric("answer_contains", 0.3, 0.2), metric("accuracy", 0.1, 0.9), False),
    ],
)
def test_only_a_figure_that_got_better_makes_a_better_run_sure(
    monkeypatch: pytest.MonkeyPatch, contains: Any, yes_no: Any, sure: bool
) -> None:
    said: list[str] = []
    monkeypatch.setattr("streamlit_app.evaluation.in_words.st", SimpleNamespace(markdown=said.append, caption=str))
    runs: Any = [SimpleNamespace(run_id=name, generator=f"p/{name}", system="HYBRID") for name in ("a", "b")]
    comparison: Any = SimpleNamespace(
        runs=[SimpleNamespace(run_id="b", metrics=(contains, yes_no))], headlines=[side(20), side(30)]
    )
    show_comparison_in_words(comparison, runs)
    assert ("demasiado grande para ser casualidad" in said[0]) is sure
