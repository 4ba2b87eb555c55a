"""Admin's tab *Mejorar*, through AppTest: plan, start, result, apply, undo."""

from __future__ import annotations

from pathlib import Path

import pytest

from chatbot_mvp.wings.tune.service import Tuner
from chatbot_mvp.wings.tune.types import TuneOptions
from streamlit_app.shared.state import get_app
from tests.ui.test_admin_runs import clicked
from tests.ui.test_pages import open_page, texts
from tests.waiting import wait_until

SPACE = 'RETRIEVAL_STRATEGY = ["LEXICAL", "BRIDGE"]\n'


@pytest.fixture(autouse=True)
def lexical_by_choice(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The strategy is chosen in Admin, because what is set outside cannot be changed there."""
    monkeypatch.delenv("RETRIEVAL_STRATEGY")
    monkeypatch.setenv("PROVIDER", "demo")
    get_app().live.change("retrieval_strategy", "LEXICAL")


def tuned(folder: Path) -> str:
    """Carry out a tune of two configurations in this thread; return its id."""
    path = folder / "space.toml"
    path.write_text(SPACE, "utf-8")
    tuner = get_app().get(Tuner)
    tune_id = tuner.create(tuner.plan("valle_multihop", options=TuneOptions(space=path)))
    tuner.resume_now(tune_id)
    return tune_id


@pytest.mark.slow
def test_the_result_is_applied_with_one_click_and_undone_with_one(tmp_path: Path) -> None:
    tune_id = tuned(tmp_path)
    result = get_app().get(Tuner).result(tune_id)
    assert "configurations tried in" in texts(open_page("admin", "en"))
    page = open_page("admin")
    assert "configuraciones probadas en" in texts(page)
    assert not [button for button in page.button if button.key == "tune_undo"]
    assert result.winner is not None
    assert result.winner.strategy == "BRIDGE"
    clicked(page, "tune_apply")
    assert get_app().settings.retrieval_strategy == "BRIDGE"
    assert "En uso: la configuración" in texts(page)
    assert not [button for button in page.button if button.key == "tune_apply"]
    clicked(page, "tune_undo")
    assert get_app().settings.retrieval_strategy == "LEXICAL"
    assert not [button for button in page.button if button.key == "tune_undo"]


@pytest.mark.slow
def test_the_plan_says_what_the_questions_can_show() -> None:
    page = open_page("admin")
    page.selectbox(key="tune_target").set_value("valle_multihop").run()
    page.select_slider(key="tune_most").set_value(50).run()
    clicked(page, "tune_plan")
    shown = texts(page)
    assert "Plan de la búsqueda" in shown
    assert "en 8 de cada 10 búsquedas" in shown or "no se puede distinguir" in shown
    assert get_app().get(Tuner).tunes() == []


@pytest.mark.slow
def test_a_tune_is_started_stopped_and_continued() -> None:
    page = open_page("admin")
    page.selectbox(key="tune_target").set_value("valle_multihop").run()
    clicked(page, "tune_start")
    [state] = get_app().get(Tuner).tunes()
    assert "valle_multihop" in texts(page)
    get_app().get(Tuner).stop(state.tune_id)
    tuner = get_app().get(Tuner)
    wait_until(lambda: (job := tuner.read(state.tune_id).job) is None or not job.active)
    page = open_page("admin")
    assert "Lo ya medido se conserva" in texts(page)
    clicked(page, f"tune_resume_{state.tune_id}")
    tuner.stop(state.tune_id)
    wait_until(lambda: (job := tuner.read(state.tune_id).job) is None or not job.active)
