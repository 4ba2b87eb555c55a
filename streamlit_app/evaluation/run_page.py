"""How a finished run is drawn: one page for each kind of run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, partial

from chatbot_mvp.api import RunResult
from chatbot_mvp.plugins.finding import added
from chatbot_mvp.plugins.kinds import attribute
from chatbot_mvp.plugins.rows import RunPage
from streamlit_app.evaluation.in_words import show_in_words
from streamlit_app.evaluation.phases import show_phases
from streamlit_app.evaluation.run_pictures import show_flow, show_squares
from streamlit_app.evaluation.run_queries import show_queries
from streamlit_app.evaluation.run_summary import show_about, show_curves, show_files, show_metrics, show_tiles
from streamlit_app.shared.configuration import show_configuration
from streamlit_app.shared.i18n import t
from streamlit_app.shared.sections import draw_tabs

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
        t("picture.squares"): [show_squares],
        t("picture.flow"): [show_flow],
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
