"""The pictures of a run: a square for each question, and how far the questions came."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import RunResult
from streamlit_app.pictures.flow import flow_picture
from streamlit_app.pictures.palette import palette
from streamlit_app.pictures.picture import lead_to, show_picture
from streamlit_app.pictures.squares import CLICKED, clicked, squares_picture
from streamlit_app.shared import links
from streamlit_app.shared.state import errors_shown, get_app


@errors_shown()
def show_squares(result: RunResult) -> None:
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
def show_flow(result: RunResult) -> None:
    """Draw how far the questions came."""
    run_id = result.run_id
    if flow := flow_picture(f"flow-{run_id[:15]}", get_app().details.flow(run_id), palette()):
        show_picture(flow, headed=False, key=f"flow-{run_id}")
