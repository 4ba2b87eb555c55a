"""Reads and writes the URL of the page Evaluación, so that a run, a query or a comparison can be shared as a link.

``?run=ID``, ``?run=ID&query=QUERY_ID``, ``?compare=A,B,C``, ``?view=leaderboard``, ``?view=history``; no parameters for
the list. This state is kept only in the URL, so a link shows its recipient the same view.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NoReturn
from urllib.parse import urlencode

import streamlit as st

from streamlit_app.shared.i18n import t
from streamlit_app.shared.state import leave_for

View = Literal["list", "run", "comparison", "leaderboard", "history"]
VIEWS: tuple[View, ...] = ("list", "run", "comparison", "leaderboard", "history")

_OWN = ("view", "run", "query", "compare")


def read_view() -> View:
    """Return which part of the page the URL requests; the list if it requests none or an unknown one."""
    if st.query_params.get("compare"):
        return "comparison"
    if st.query_params.get("run"):
        return "run"
    asked = st.query_params.get("view")
    return "leaderboard" if asked == "leaderboard" else "history" if asked == "history" else "list"


def read_run() -> str:
    """Return the id of the requested run; "" for none. The run may not exist."""
    return st.query_params.get("run", "")


def read_query() -> str:
    """Return the id of the requested query of that run; "" for none."""
    return st.query_params.get("query", "")


def read_comparison() -> list[str]:
    """Return the ids of the runs to compare, the base first, without repetitions. The runs may not exist."""
    ids = (part.strip() for part in st.query_params.get("compare", "").split(","))
    return list(dict.fromkeys(run_id for run_id in ids if run_id))


def write_view(view: Literal["list", "leaderboard", "history"]) -> None:
    """Set the URL to a part that needs no run."""
    _write({} if view == "list" else {"view": view})


def write_run(run_id: str, query_id: str = "") -> None:
    """Set the URL to a run and, optionally, a query of it."""
    _write({"run": run_id} | ({"query": query_id} if query_id else {}))


def write_comparison(run_ids: Sequence[str]) -> None:
    """Set the URL to a comparison; the first id is the base."""
    _write({"compare": ",".join(run_ids)})


def open_run(run_id: str) -> NoReturn:
    """Leave another page for a run's."""
    leave_for("evaluation", {"run": run_id})


def open_comparison(run_ids: Sequence[str]) -> NoReturn:
    """Leave another page for a comparison; the first id is the base."""
    leave_for("evaluation", {"compare": ",".join(run_ids)})


def address() -> str:
    """Return the URL to share. It omits the session's name, which would open the session's conversations."""
    page = str(st.context.url or "").partition("?")[0]
    asked = {name: st.query_params[name] for name in _OWN if name in st.query_params}
    return f"{page}?{urlencode(asked, safe=',')}" if asked else page


def link_box() -> None:
    """Draw a button that shows the URL to copy."""
    with st.popover(t("runs.link"), icon=":material/link:"):
        st.caption(t("runs.link_help"))
        st.code(address(), language=None, wrap_lines=True)


def _write(asked: dict[str, str]) -> None:
    """Replace this page's parameters in the URL; session and language are kept. Equal values are not rewritten."""
    for name in _OWN:
        if name not in asked:
            st.query_params.pop(name, None)
        elif st.query_params.get(name) != asked[name]:
            st.query_params[name] = asked[name]
