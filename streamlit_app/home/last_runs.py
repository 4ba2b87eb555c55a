"""Last finished runs per data set: a small chart of one metric with its interval. A click opens a run."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from chatbot_mvp.api import RunLine, main_metric, run_kind
from streamlit_app.shared.i18n import moment, number, plain, t, word
from streamlit_app.shared.links import open_run
from streamlit_app.shared.metrics import interval_text, metric_help, metric_label
from streamlit_app.shared.runs import KB, data_namer, figure_text, other_model, run_names, spoken
from streamlit_app.shared.state import PAGES, get_app
from streamlit_app.shared.style import card_grid

_GROUPS, _RUNS = 4, 10  # maximum shown: data sets, and runs of each
_USUAL = "recall@5"


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


def metric_of_group(runs: Sequence[RunLine]) -> str:
    """Return the metric shown for a group of runs: of a benchmark a retrieval metric, else the list's main metric."""
    newest = runs[0]
    return _USUAL if newest.kind != KB and newest.metrics.get(_USUAL) is not None else main_metric(newest)


def _show_group(kind: str, data: str, runs: Sequence[RunLine], position: int) -> None:
    name = metric_of_group(runs)
    shown = [run for run in runs if run.metrics.get(name) is not None][:_RUNS]
    title = plain(data) if run_kind(kind).retrieves else f"{plain(data)} · {plain(word('runs.kind', kind))}"
    st.markdown(f"**{title}**")
    newest = runs[0]
    label = plain(metric_label(name)) if name else t("home.no_metric")
    st.metric(label, figure_text(newest, name), help=metric_help(name) or None)
    said = [plain(spoken(newest.system)), moment(newest.started_at)]
    if interval := newest.intervals.get(name):
        said.append(t("eval.interval", interval=interval_text(interval)))
    said.append(other_model(newest.chat_model))
    st.caption(" · ".join(part for part in said if part))
    if len(shown) > 1:
        from streamlit_app.home.run_chart import show_run_chart  # the first visit has no runs and needs no charts

        for run_id in show_run_chart(shown, name, f"chart-{position}"):
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
