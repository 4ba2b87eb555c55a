"""Answers of two providers: another one judges, every label names provider and model, and one figure stands first."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.evaluation.run_service import RunService
from chatbot_mvp.exports.comparison_text import comparison_text
from chatbot_mvp.runs.headline import headlines
from chatbot_mvp.settings.access import Action, performs
from streamlit_app.shared.state import get_app
from tests.llm.openai_stub import OpenAiStub
from tests.made_results import made_result
from tests.ui.test_pages import open_page, texts


def answered(run_id: str, scores: dict[str, dict[str, float | None]], generator: str = "groq/m") -> object:
    rows = [{"query_id": key, "metrics": metrics} for key, metrics in scores.items()]
    return made_result(run_id=run_id, generator=generator, per_query=rows)


def test_the_headline_counts_right_answers_to_the_questions_that_all_runs_answered() -> None:
    one = answered("a", {"q1": {"accuracy": 1.0}, "q2": {"answer_contains": 0.0}, "q3": {"answer_contains": 1.0}})
    two = answered("b", {"q1": {"accuracy": 1.0}, "q2": {"answer_contains": 1.0}, "q3": {"answer_contains": None}})
    found = headlines([one, two])  # type: ignore[list-item]
    assert [(run.run_id, run.right.count, run.right.total) for run in found] == [("a", 1, 2), ("b", 2, 2)]
    assert headlines([one, answered("c", {"q1": {"recall@5": 1.0}})]) == ()  # type: ignore[list-item]
    assert headlines([one, answered("d", {"q1": {"accuracy": 1.0}}, generator="")]) == ()  # type: ignore[list-item]


@pytest.mark.usefixtures("no_keys", "known_vectors")
def test_two_providers_are_told_apart_and_one_figure_stands_first(data_dir: Path) -> None:
    runs = get_app().runs
    asked = {"eval_max_queries": 3, "generation_enabled": True, "judge_metrics": "", "retrieval_strategy": "LEXICAL"}
    with OpenAiStub() as server:
        own = {"openai_base_url": f"{server.url}/v1", "openai_api_key": "k"}
        one = runs.run_now(provider="openai", **own, **asked).run_id
        two = runs.run_now(provider="openai", openai_model_name="gpt-4.1-nano", **own, **asked).run_id
    said = comparison_text(get_app().details.compare([one, two]))
    [label] = [line.rpartition(": ")[0].strip() for line in said.splitlines() if line.endswith(one)]
    assert label.startswith("A · ") and "/" in label
    name = label.removesuffix(" (the base)")
    assert f"{name}: 0/3, 95 % interval 0.000 to 0.5" in said
    assert said.split().count(one) == said.split().count(two) == 1  # ids are told once; all else goes by names
    page = open_page("evaluation", compare=f"{one},{two}")
    labels = [metric.label for metric in page.metric]
    assert labels == ["A · solo palabras · openai/gpt-4.1-mini", "B · solo palabras · openai/gpt-4.1-nano"]
    assert [metric.value for metric in page.metric] == ["0 %", "0 %"]
    assert [metric.delta for metric in page.metric] == ["", "igual"]
    assert page.metric[1].proto.color == page.metric[1].proto.GRAY  # nothing is better
    assert "0 de 3" in texts(page)
    [base] = [box for box in page.selectbox if box.key == "compare-base"]
    assert all("openai/gpt-4.1-" in option for option in base.options)
    saved = json.loads((data_dir / "results" / one / f"{one}.json").read_text("utf-8"))
    assert saved["generator"] == "openai/gpt-4.1-mini"


@pytest.mark.usefixtures("data_dir", "no_keys")
def test_two_models_of_one_provider_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []

    def start(_: object, **changes: Any) -> str:
        asked.append(changes)
        return f"20260101T00000{len(asked)}-job"

    with OpenAiStub() as server:
        settings = {"base_url": f"{server.url}/v1", "api_key": "k", "model_name": "gpt-4.1-nano"}
        for name, value in settings.items():
            monkeypatch.setenv(f"OPENAI_{name.upper()}", value)
        assert "Hacen falta dos modelos" in texts(open_page("evaluation"))
        monkeypatch.delenv("OPENAI_MODEL_NAME")  # what the environment fixes is not chosen on the page
        get_app.clear()
        get_app().connections.choose_model("openai", "gpt-4.1-nano")
        get_app().connections.list_models("openai")
        page = open_page("evaluation")
        monkeypatch.setattr(RunService, "start_run", performs(Action.MEASURE)(start))
        page.button(key="versus_start").click().run()
    assert not page.exception
    assert [one["openai_model_name"] for one in asked] == ["gpt-4.1-mini", "gpt-4.1-nano"]
    assert {one["provider"] for one in asked} == {"openai"}


@pytest.mark.parametrize(
    ("others", "judge"), [({}, "openai/gpt-4.1-mini"), ({"GROQ_API_KEY": "k"}, "groq/llama-3.3-70b-versatile")]
)
@pytest.mark.usefixtures("data_dir", "no_keys")
def test_another_model_judges_where_there_is_one_and_else_it_is_told(
    others: dict[str, str], judge: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"OPENAI_API_KEY": "k", "PROVIDER": "openai", **others}.items():
        monkeypatch.setenv(name, value)
    page = open_page("admin")
    page.toggle(key="run_generate").set_value(True).run()
    assert page.toggle(key="run_judge").label == f"Juzgar las respuestas con {judge}"
    assert ("es el mismo modelo al que juzga" in texts(page)) is not bool(others)


def test_questions_of_a_base_are_compared_by_what_the_chat_says_to_them() -> None:
    def of_base(run_id: str, scores: dict[str, dict[str, float | None]]) -> object:
        rows = [{"query_id": key, "metrics": metrics} for key, metrics in scores.items()]
        return made_result(run_id=run_id, kind="kb", generator="ollama/m", per_query=rows, metrics={"solved": 0.5})

    one = of_base("a", {"q1": {"solved": 1.0, "answer_contains": 0.0}, "q2": {"solved": 0.0}})
    two = of_base("b", {"q1": {"solved": 1.0}, "q2": {"solved": 1.0}, "q3": {"solved": None}})
    found = headlines([one, two])  # type: ignore[list-item]
    assert [(run.run_id, run.right.count, run.right.total) for run in found] == [("a", 1, 2), ("b", 2, 2)]
