"""How a finished run is drawn: one page for each kind of run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

import streamlit as st

from chatbot_mvp.api import RunResult
from chatbot_mvp.plugins.finding import added
from chatbot_mvp.plugins.kinds import attribute
from chatbot_mvp.plugins.rows import RunPage
from streamlit_app.evaluation.in_words import show_in_words
from streamlit_app.evaluation.phases import show_phases
from streamlit_app.evaluation.run_queries import show_queries
from streamlit_app.evaluation.run_summary import show_about, show_curves, show_files, show_metrics, show_tiles
from streamlit_app.pictures.flow import flow_picture
from streamlit_app.pictures.palette import palette
from streamlit_app.pictures.picture import lead_to, show_picture
from streamlit_app.pictures.squares import CLICKED, clicked, squares_picture
from streamlit_app.shared import links
from streamlit_app.shared.configuration import show_configuration
from streamlit_app.shared.i18n import t
from streamlit_app.shared.sections import draw_tabs
from streamlit_app.shared.state import errors_shown, get_app

_USUAL = RunPage(f"{__name__}:show_benchmark")
_OWN = {"benchmark": _USUAL, "kb": _USUAL}


def page_of(kind: str) -> Callable[[RunResult], None]:
    """Return what draws a finished run of a kind; a run of a kind that is not installed is drawn as a benchmark."""
    draw: Callable[[RunResult], None] = attribute(_pages().get(kind, _USUAL).draw)
    return draw


@cache
def _pages() -> dict[str, RunPage]:
    return {**_OWN, **added("run_page", RunPage, taken=_OWN)}


def show_benchmark(result: RunResult) -> None:
    """Draw a run that retrieves: what it found, three figures and what failed; all the rest in tabs."""
    show_in_words(result)
    show_tiles(result)
    show_queries(result)
    tabs = {
        t("picture.squares"): [_show_squares],
        t("picture.flow"): [_show_flow],
        t("eval.curves"): [show_curves],
        t("table.title"): [show_metrics],
        t("detail.phases"): [show_phases],
        t("detail.configuration"): [show_about, show_configuration],
        t("eval.files"): [show_files],
    }
    draw_tabs({title: partial(_draw, draws, result) for title, draws in tabs.items()}, "tabs-of-run")


def _draw(draws: Sequence[Callable[[RunResult], None]], result: RunResult) -> None:
    for draw in draws:
        draw(result)


@errors_shown()
def _show_squares(result: RunResult) -> None:
    """Draw a square for each question; a click opens its question above, or lists those of its group."""
    run_id = result.run_id
    table = get_app().details.table(run_id)
    squares = squares_picture(
        f"squares-{run_id[:15]}", ((row.query_id, row.question, row.cause) for row in table.rows), palette()
    )
    key = f"squares-{run_id}"

    def picked() -> None:
        found = clicked(st.session_state[key])
        if found is None:
            return
        if found.query_id:
            links.write_run(run_id, found.query_id)
        else:
            st.session_state[f"cause-{run_id}"] = found.cause
            st.session_state[f"only-{run_id}"] = "all"
        lead_to(f"query-{run_id}" if found.query_id else f"queries-{run_id}")

    if squares:
        show_picture(squares, headed=False, key=key, on_select=picked, selection_mode=CLICKED, width="content")


@errors_shown()
def _show_flow(result: RunResult) -> None:
    """Draw how far the questions came."""
    run_id = result.run_id
    if flow := flow_picture(f"flow-{run_id[:15]}", get_app().details.flow(run_id), palette()):
        show_picture(flow, headed=False, key=f"flow-{run_id}")
