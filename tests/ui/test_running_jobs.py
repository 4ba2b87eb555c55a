"""Runs that are under way, on Evaluación and on Admin, through AppTest."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from streamlit.testing.v1 import AppTest

from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.types import Progress, ProgressCallback
from streamlit_app.shared.i18n import catalogue
from streamlit_app.shared.state import get_app
from tests.ui.test_mykb_page import KB, asked, with_set
from tests.ui.test_pages import finished_run, open_page, texts

TITLE = "valle · LEXICAL"


class HeldJob:
    """A job that has done 3 of 8 queries and goes on when it is let."""

    def __init__(self) -> None:
        self._go_on = threading.Event()

    def begin(self, fails: Exception | None = None) -> None:
        told = threading.Event()

        def work(progress: ProgressCallback) -> None:
            progress(Progress("retrieve", 3, 8))
            told.set()
            assert self._go_on.wait(60)
            if fails is not None:
                raise fails
            finished_run()

        get_app().runs._jobs.submit("20260101T000000-job", TITLE, work)
        assert told.wait(30)

    def end(self) -> None:
        self._go_on.set()
        wait()


@pytest.fixture
def held(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldJob]:
    monkeypatch.setenv("PROVIDER", "demo")
    monkeypatch.setenv("GENERATION_ENABLED", "false")
    job = HeldJob()
    yield job
    job.end()


def wait() -> None:
    deadline = time.monotonic() + 60
    while any(job.active for job in get_app().runs.jobs()):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def progress_of(page: AppTest) -> list[str]:
    return [element.proto.text for element in page.get("progress")]


@pytest.mark.parametrize("language", ["es", "en"])
def test_the_first_run_is_seen_on_evaluation_while_it_works_and_in_the_list_when_it_ended(
    held: HeldJob, language: str
) -> None:
    held.begin()
    page = open_page("evaluation", language)
    assert catalogue(language)["eval.none"] not in texts(page)
    assert catalogue(language)["eval.first_running"] in texts(page)
    assert f"valle · {catalogue(language)['strategy.LEXICAL']}" in texts(page)
    [progress] = progress_of(page)
    assert "3" in progress
    assert "8" in progress
    held.end()
    page.run()
    assert not progress_of(page)
    assert any(catalogue(language)["eval.col.when"] in table.value for table in page.dataframe)


def test_a_run_under_way_stands_above_the_list_and_cannot_be_stopped_there(held: HeldJob) -> None:
    finished_run()
    held.begin()
    page = open_page("evaluation")
    assert "valle · solo palabras" in texts(page)
    assert page.dataframe
    assert "Detener" not in {button.label for button in page.button}


class ShelfError(ChatbotError):
    """An error of a package that brings no text for the pages."""

    texts: ClassVar = {"shelf_empty": "The shelf {shelf!r} is empty. Fill it."}


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        (ValueError("broken"), "20260101T000000-job"),
        (ShelfError("shelf_empty", shelf="A1"), "The shelf 'A1' is empty."),
    ],
)
def test_a_run_that_fails_while_somebody_looks_is_told_on_evaluation(
    held: HeldJob, fails: Exception, said: str
) -> None:
    held.begin(fails)
    page = open_page("evaluation")
    held.end()
    page.run()
    assert "No se pudo terminar valle · solo palabras" in page.error[0].value
    assert said in page.error[0].value
    assert not open_page("evaluation").error


def order(page: AppTest) -> list[str]:
    """What the tab of runs shows, in order: "start" and "jobs"."""
    found = []
    for element in page.tabs[2]:
        if element.key == "run_start":
            found.append("start")
        elif element.type == "header" and element.value == "Trabajos":
            found.append("jobs")
    return found


def test_jobs_stand_above_the_launcher_of_admin_while_one_is_under_way(held: HeldJob) -> None:
    assert order(open_page("admin")) == ["start", "jobs"]
    held.begin()
    page = open_page("admin")
    assert order(page) == ["jobs", "start"]
    assert progress_of(page)


def test_after_launching_the_job_is_above_the_launcher_and_stays_there_with_its_result(data_dir: Path) -> None:
    page = open_page("admin")
    page.selectbox(key="run_preset").set_value("built-in:quick").run()
    page.number_input(key="run_max_queries").set_value(2).run()
    page.button(key="run_start").click().run()
    assert order(page) == ["jobs", "start"]
    assert "lanzada" in page.toast[0].value
    wait()
    page.run()
    assert not page.toast
    assert order(page) == ["jobs", "start"]
    assert "Terminada" in texts(page)


def test_each_run_of_a_series_has_its_progress_and_one_taken_from_the_queue_stops_no_other(held: HeldJob) -> None:
    held.begin()
    runs, asked = get_app().runs, {"retrieval_strategy": "LEXICAL", "eval_max_queries": 1}
    ids = ["20260101T000000-job", runs.start_run(generation_enabled=True, **asked)]
    page = open_page("evaluation")
    page.session_state["series"] = ("two", ids)
    page.run()
    [waiting] = [job for job in runs.jobs() if job.job_id == ids[1]]
    assert waiting.title.endswith("LEXICAL · demo")
    page.button(key=f"series_stop_{ids[1]}").click().run()
    assert {job.job_id: job.state for job in runs.jobs() if job.job_id in ids} == {ids[0]: "running", ids[1]: "stopped"}


def test_two_models_show_their_progress_where_they_were_asked(held: HeldJob) -> None:
    """The tab is far below the top of the results, where the page tells of what runs."""
    kb = get_app().kbs.add("normas.md", KB.encode())
    asked(kb, with_set(kb))
    held.begin()
    page = open_page("mykb")
    page.session_state["mykb_step"] = "results"
    page.session_state["series"] = ("two", ["20260101T000000-job"])
    page.run()
    assert not page.exception, page.exception
    [versus] = [tab for tab in page.tabs if tab.label == "Comparar dos modelos"]
    assert "two" in versus.markdown[0].value and not [one for one in versus.button if one.key == "versus_start"]
    assert [one.key for one in versus.button] == ["versus_stop_20260101T000000-job"]


def _page_with_a_list_above_a_job() -> None:
    import streamlit as st

    from streamlit_app.shared.jobs import draw_live

    state = st.session_state
    state.drawn = state.get("drawn", 0) + 1
    st.write(f"the list when the job was {state.get('job', 'active')}")
    if state.get("ends_now"):
        state.job = "ended"
    draw_live(lambda: bool(state.get("job", "active") == "active"), lambda: None)


def test_a_list_above_a_job_that_ends_while_the_page_is_drawn_is_drawn_once_more() -> None:
    page = AppTest.from_function(_page_with_a_list_above_a_job).run()
    page.session_state["ends_now"] = True
    page.run()
    assert [said.value for said in page.markdown] == ["the list when the job was ended"]
    assert page.session_state["drawn"] == 3
    assert page.run().session_state["drawn"] == 4
