"""Last finished runs per data set: a small chart of one metric with its interval. A click opens a run."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from chatbot_mvp.api import RunLine, run_kind
from streamlit_app.shared.i18n import moment, number, plain, t, word
from streamlit_app.shared.links import open_run
from streamlit_app.shared.metrics import interval_text
from streamlit_app.shared.runs import data_namer, main_figure, other_model, run_names, spoken
from streamlit_app.shared.state import PAGES, get_app
from streamlit_app.shared.style import card_grid

_GROUPS, _RUNS = 4, 10  # maximum shown: data sets, and runs of each


def show_last_runs() -> None:
    """Draw a card per recently measured data set; if there are no runs, what to do next."""
    runs, _ = get_app().archive.runs()
    groups: dict[tuple[str, str], list[RunLine]] = {}
    for run in runs:
        groups.setdefault((run.kind, run.dataset), []).append(run)
    if not groups:
        st.info(t("home.no_runs"), icon=":material/info:")
        return
    data_name = data_namer()
    with card_grid("home-runs", narrowest=320):
        for position, ((kind, _), found) in enumerate(list(groups.items())[:_GROUPS]):
            with st.container(border=True, height="stretch", key=f"runs-{position}"):
                _show_group(kind, data_name(found[0]), found, position)
    st.page_link(PAGES["evaluation"][0], label=t("home.all_runs"), icon=PAGES["evaluation"][1])


def _show_group(kind: str, data: str, runs: Sequence[RunLine], position: int) -> None:
    newest = runs[0]
    figure = main_figure(newest)
    figures = {run.run_id: found for run in runs[:_RUNS] if (found := main_figure(run)).value is not None}
    shown = [run for run in runs[:_RUNS] if run.run_id in figures and figures[run.run_id].name == figure.name]
    title = plain(data) if run_kind(kind).retrieves else f"{plain(data)} · {plain(word('runs.kind', kind))}"
    st.markdown(f"**{title}**")
    label = plain(figure.label) if figure.name else t("home.no_metric")
    st.metric(label, figure.text, help=plain(figure.about) or None)
    said = [plain(spoken(newest.system)), moment(newest.started_at)]
    if figure.interval:
        said.append(t("eval.interval", interval=interval_text(figure.interval)))
    said.append(other_model(newest.chat_model))
    st.caption(" · ".join(part for part in said if part))
    if len(shown) > 1:
        from streamlit_app.home.run_chart import show_run_chart  # the first visit has no runs and needs no charts

        for run_id in show_run_chart(shown, figures, f"chart-{position}"):
            open_run(run_id)
        st.caption(t("home.chart_help", count=number(len(shown))))
    names = run_names(runs[:_RUNS], lambda run: (run.system,))
    chosen = st.selectbox(
        t("home.run_of", name=data),
        list(names),
        format_func=names.__getitem__,
        key=f"run-choice-{position}",
        label_visibility="collapsed",
    )
    if st.button(t("job.open"), key=f"open-run-{position}", icon=":material/monitoring:", width="stretch"):
        open_run(chosen)
