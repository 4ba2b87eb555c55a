"""State shared by the pages: the App (one per server), the paths of the pages, the session's knowledge base."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from chatbot_mvp.api import Failure, FileState, KbRecord
from chatbot_mvp.app import App, build_app
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.settings.model import load_settings
from streamlit_app.shared.i18n import moment, t, t_or
from streamlit_app.shared.permissions import gated
from streamlit_app.web.presence import PRESENCE

_FOLDER = Path(__file__).resolve().parent.parent


def _pages() -> Iterator[tuple[str, tuple[str, str]]]:
    for path in sorted((_FOLDER / "views").glob("[0-9]*_*.py")):
        body = ast.parse(path.read_text("utf-8")).body
        said = next(node for node in body if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PAGE")
        name, icon = ast.literal_eval(said.value)
        yield name, (str(path), icon)


PAGES = dict(_pages())
"""Name of a page -> its file and icon, in the order of the files. ``PAGE`` in a view says both; it is read without
running the view, because that would draw the page."""


def leave_for(page: str, query_params: Mapping[str, str] | None = None) -> NoReturn:
    """Go on with another page, a key of ``PAGES``.

    A part that draws itself each second may have been asked for meanwhile, by a browser far away that does not know yet
    of the other page. Streamlit would draw it when the other page is done, in its place: a blank page.
    """
    if context := get_script_run_ctx():
        context.fragment_storage.clear()
    st.switch_page(PAGES[page][0], query_params=query_params)


@st.cache_resource(show_spinner=False)
def get_app() -> App:
    """Return the App, shared by all sessions of this server. It owns the job thread and the indexes, no user data.

    Its calls check who makes them: see ``permissions``.
    """
    app = build_app(load_settings())
    app.start()
    PRESENCE.tell(app.chat.end_unattended)
    return gated(app)


def error_text(error: ChatbotError) -> str:
    """Return the text of an error in the session's language; in English if what was added brings no text for it."""
    return t_or(f"error.{error.code}", str(error), **_in_words(error.params))


_SYSTEM_SAYS = {
    "name or service not known": "unknown_host",
    "temporary failure in name resolution": "unknown_host",
    "no address associated": "unknown_host",
    "connection refused": "refused",
    "network is unreachable": "unknown_host",
    "timed out": "timeout",
}
"""What the operating system and HTTP clients say, always in English -> what a reader of the page is told."""


def _in_words(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of an error, its reason in the session's language if the system gave it."""
    reason = str(params.get("reason", "")).lower()
    said = next((name for text, name in _SYSTEM_SAYS.items() if text in reason), "")
    return {**params, "reason": t(f"reason.{said}")} if said else dict(params)


def show_error(error: ChatbotError) -> None:
    """Show an error in the session's language."""
    st.error(error_text(error), icon=":material/error:")


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show an error of the App instead of raising it; what follows it in the block, or the function, is left out."""
    try:
        yield
    except ChatbotError as error:
        show_error(error)


def confirm(label: str, question: str, key: str, act: Callable[[], object]) -> None:
    """Ask in a dialog, in red, whether to ``act``; draw the page again once that is done or not wanted."""

    @st.dialog(label)
    def dialog() -> None:
        st.markdown(question)
        with st.container(horizontal=True, key="confirm"):
            sure = st.button(label, type="primary", key=key)
            if st.button(t("message.edit_cancel"), key="confirm-no"):
                st.rerun()
        if sure:
            with errors_shown(), st.spinner(label):
                act()
                st.rerun()

    dialog()


def failure_text(failure: Failure | FileState) -> str:
    """Return why something failed, as ``error_text`` does."""
    return t_or(f"error.{failure.code}", failure.message, **_in_words(failure.params))


def active_kb() -> KbRecord | None:
    """Return the session's knowledge base: the chosen one, else the newest; None if there is none."""
    records = get_app().kbs.records()
    chosen = st.session_state.get("kb_id")
    return next((record for record in records if record.kb_id == chosen), records[0] if records else None)


def kb_names(records: Sequence[KbRecord]) -> dict[str, str]:
    """Return kb_id -> name; names used more than once are completed with date and id.

    Streamlit sends a selection as its text, so two equal texts could not be told apart.
    """
    counts = Counter(record.kb_name for record in records)
    names = {
        record.kb_id: record.kb_name
        if counts[record.kb_name] == 1
        else f"{record.kb_name} · {moment(record.added_at)} · {record.kb_id[-4:]}"
        for record in records
    }
    # A name can be chosen to look like another one that was completed.
    while max((counts := Counter(names.values())).values(), default=1) > 1:
        names = {kb_id: name if counts[name] == 1 else f"{name} · {kb_id}" for kb_id, name in names.items()}
    return names
