"""Past runs: list, one run in full, comparison, leaderboard, history. The URL selects the part."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from chatbot_mvp.api import NO_NOTE, RunLine
from chatbot_mvp.errors import ChatbotError
from streamlit_app.evaluation.comparison import show_comparison
from streamlit_app.evaluation.history import show_history
from streamlit_app.evaluation.leaderboard import show_leaderboard
from streamlit_app.evaluation.run_list import show_list
from streamlit_app.evaluation.run_notes import show_note
from streamlit_app.evaluation.run_page import page_of
from streamlit_app.evaluation.run_summary import show_failures
from streamlit_app.home.tour import show_tour_in_result
from streamlit_app.shared import links
from streamlit_app.shared.i18n import number, plain, shortened, t
from streamlit_app.shared.jobs import progress_panel
from streamlit_app.shared.runs import run_names
from streamlit_app.shared.series import series_panel
from streamlit_app.shared.state import PAGES, get_app, leave_for, show_error
from streamlit_app.shared.two_models import show_two_models

PAGE = "evaluation", ":material/monitoring:"

_FAULTS_SHOWN, _IDS_SHOWN = 5, 5
_LONGEST_ID = 200  # of an address: a longer one would fill the page
_ICONS = {
    "list": ":material/list:",
    "run": ":material/monitoring:",
    "comparison": ":material/compare_arrows:",
    "leaderboard": ":material/leaderboard:",
    "history": ":material/timeline:",
}


def main() -> None:
    """Draw the part of the page that the URL selects."""
    st.title(t("nav.evaluation"))
    series_panel()
    runs, damaged = get_app().archive.runs()
    if damaged:
        st.warning(
            t("eval.damaged", count=number(len(damaged)), path=get_app().settings.submissions_path.name),
            icon=":material/warning:",
        )
        for fault in damaged[:_FAULTS_SHOWN]:
            st.caption(t("eval.damaged_line", fault=fault))
    if not runs:
        under_way = any(job.active for job in get_app().runs.jobs())
        st.info(t("eval.first_running" if under_way else "eval.none"), icon=":material/info:")
        progress_panel()
        show_two_models()
        if not under_way and st.button(t("eval.go_admin"), icon=PAGES["admin"][1], type="primary"):
            leave_for("admin")
        return
    by_id = {run.run_id: run for run in runs}
    wanted = links.read_view()
    asked = {"run": [links.read_run()], "comparison": links.read_comparison()}.get(wanted, [])
    known = [run_id for run_id in asked if run_id in by_id]
    view = wanted if known or wanted in ("list", "leaderboard", "history") else "list"
    _choose_view(view, runs)
    if unknown := [run_id for run_id in asked if run_id not in by_id]:
        shown = [f"«{shortened(run_id, _LONGEST_ID)}»" for run_id in unknown[:_IDS_SHOWN]]
        shown += ["…"] * (len(unknown) > _IDS_SHOWN)
        st.warning(t("runs.unknown", ids=", ".join(shown)), icon=":material/link_off:")
    if view == "run":
        show_tour_in_result()
        show_run(runs, known[0])
    elif view == "comparison":
        show_comparison(runs, known)
    elif view == "leaderboard":
        show_leaderboard()
    elif view == "history":
        show_history()
    else:
        progress_panel()
        show_two_models()
        show_list(runs)


def _choose_view(view: links.View, runs: Sequence[RunLine]) -> None:
    """Draw the choice of the part, and the link to share."""
    st.session_state["runs-view"] = view
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        st.segmented_control(
            t("runs.view"),
            links.VIEWS,
            format_func=lambda name: f"{_ICONS[name]} {t(f'runs.view.{name}')}",
            key="runs-view",
            label_visibility="collapsed",
            on_change=_go,
            args=([run.run_id for run in runs],),
        )
        links.link_box()


def _go(run_ids: Sequence[str]) -> None:
    """Open another part, for the run that was open last, else for the newest."""
    view = st.session_state["runs-view"]
    last = str(st.session_state.get("run_id"))
    run_id = last if last in run_ids else run_ids[0]
    if view == "run":
        links.write_run(run_id)
    elif view == "comparison":
        links.write_comparison([run_id])
    elif view:
        links.write_view(view)


def show_run(runs: Sequence[RunLine], run_id: str) -> None:
    """Draw one run in full."""
    names = run_names(runs)
    st.session_state["run_id"] = st.session_state["runs-run"] = run_id
    st.selectbox(
        t("eval.choose"),
        list(names),
        format_func=names.__getitem__,
        key="runs-run",
        on_change=lambda: links.write_run(st.session_state["runs-run"]),
    )
    tags = get_app().archive.notes().get(run_id, NO_NOTE).tags
    with st.expander(" · ".join([t("runs.tags_and_note"), *map(plain, tags)]), icon=":material/label:"):
        show_note(run_id)
    try:
        result = get_app().archive.run(run_id)
    except ChatbotError as error:
        show_error(error)
        return
    query = links.read_query()
    if query and all(row.query_id != query for row in result.per_query):
        st.warning(t("runs.unknown_query", query=shortened(query, _LONGEST_ID)), icon=":material/link_off:")
    show_failures(result)
    page_of(result.kind)(result)


main()
