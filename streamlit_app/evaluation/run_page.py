"""How a finished run is drawn: one page for each kind of run."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from chatbot_mvp.api import RunResult
from chatbot_mvp.plugins.finding import added
from chatbot_mvp.plugins.kinds import attribute
from chatbot_mvp.plugins.rows import RunPage
from streamlit_app.evaluation.in_words import show_in_words
from streamlit_app.evaluation.phases import show_phases
from streamlit_app.evaluation.run_pictures import show_pictures
from streamlit_app.evaluation.run_queries import show_queries
from streamlit_app.evaluation.run_summary import show_curves, show_metrics, show_tiles
from streamlit_app.shared.configuration import show_configuration

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
    """Draw a run that retrieves: figures, curves, causes, configuration and queries."""
    show_in_words(result)
    show_tiles(result)
    show_pictures(result)
    show_curves(result)
    show_metrics(result)
    show_phases(result)
    show_configuration(result)
    show_queries(result)
