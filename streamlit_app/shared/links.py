"""What the address says of the page Evaluación, so that it can be shared: a run, a query of it, a comparison.

``?run=ID``, ``?run=ID&query=QUERY_ID``, ``?compare=A,B,C``, ``?view=leaderboard``; nothing for the list. The address is
the only place where this is kept: whoever opens one sees what its sender saw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NoReturn
from urllib.parse import urlencode

import streamlit as st

from streamlit_app.shared.i18n import t
from streamlit_app.shared.state import PAGES

View = Literal["list", "run", "comparison", "leaderboard"]
VIEWS: tuple[View, ...] = ("list", "run", "comparison", "leaderboard")

_OWN = ("view", "run", "query", "compare")


def read_view() -> View:
    """Which part of the page the address asks for; a word that means nothing is the list."""
    if st.query_params.get("compare"):
        return "comparison"
    if st.query_params.get("run"):
        return "run"
    return "leaderboard" if st.query_params.get("view") == "leaderboard" else "list"


def read_run() -> str:
    """Id of the run that the address asks for, whether there is one or not; "" for none."""
    return st.query_params.get("run", "")


def read_query() -> str:
    """Id of the query of that run; "" for none."""
    return st.query_params.get("query", "")


def read_comparison() -> list[str]:
    """Ids of the runs to compare, the base first, each once; whether there are such runs or not."""
    ids = (part.strip() for part in st.query_params.get("compare", "").split(","))
    return list(dict.fromkeys(run_id for run_id in ids if run_id))


def write_list() -> None:
    """Ask for the list."""
    _write({})


def write_leaderboard() -> None:
    """Ask for the leaderboard."""
    _write({"view": "leaderboard"})


def write_run(run_id: str, query_id: str = "") -> None:
    """Ask for a run, and for a query of it."""
    _write({"run": run_id} | ({"query": query_id} if query_id else {}))


def write_query(query_id: str) -> None:
    """Ask for a query of the run that the address names already; "" for none in particular."""
    write_run(read_run(), query_id)


def write_comparison(run_ids: Sequence[str]) -> None:
    """Ask for a comparison, the base first."""
    _write({"compare": ",".join(run_ids)})


def open_run(run_id: str) -> NoReturn:
    """Leave another page for a run's."""
    st.switch_page(PAGES["evaluation"][0], query_params={"run": run_id})


def address() -> str:
    """The address to share: without the name of the session, which opens its conversations."""
    page = str(st.context.url or "").partition("?")[0]
    asked = {name: st.query_params[name] for name in _OWN if name in st.query_params}
    return f"{page}?{urlencode(asked, safe=',')}" if asked else page


def link_box() -> None:
    """A button that shows the address, ready to be copied."""
    with st.popover(t("runs.link"), icon=":material/link:"):
        st.caption(t("runs.link_help"))
        st.code(address(), language=None, wrap_lines=True)


def _write(asked: dict[str, str]) -> None:
    """Change what belongs to this page; session and language stay. Writing the same again does nothing."""
    for name in _OWN:
        if name not in asked:
            st.query_params.pop(name, None)
        elif st.query_params.get(name) != asked[name]:
            st.query_params[name] = asked[name]
