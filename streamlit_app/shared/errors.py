"""Handles uncaught exceptions: shows the user an id and a next step, and logs the same id with the traceback.

It replaces Streamlit's own handler, the only place that sees all exceptions: those of fragments, dialogs and widget
callbacks do not pass through the page's code.
"""

from __future__ import annotations

import logging
import secrets
from collections.abc import Callable

import streamlit as st
from streamlit import error_util
from streamlit.runtime.scriptrunner import get_script_run_ctx

from chatbot_mvp import logs
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.settings.model import Settings
from streamlit_app.shared.i18n import t
from streamlit_app.shared.state import error_text

ERROR_KEY = "unexpected-error"  # prefix of the key of a message's container

_log = logging.getLogger(__name__)


def watch_errors() -> None:
    """Replace Streamlit's error display and its console print, which does not mask secrets. Safe to call repeatedly."""
    error_util.invoke_script_error_handler = _tell
    error_util._log_uncaught_app_exception = _print_nothing


@st.cache_resource(show_spinner=False, max_entries=1)
def begin_log(_settings: Settings, path: str) -> None:
    """Send the log to stderr and its errors to ``path``, once per server."""
    logs.configure(_settings.log_format, secrets=_settings.secret_values, errors_path=_settings.errors_log_path)


def _tell(ex: Exception, on_script_error: Callable[[Exception], bool | None] | None) -> bool:
    """Log and show an exception; return True, so that Streamlit shows nothing itself."""
    reference = secrets.token_hex(4)
    _log.error("page error %s: %s", reference, ex, exc_info=ex, extra={"event": {"error_id": reference}})
    known = t("home.error.known", error=error_text(ex), id=reference) if isinstance(ex, ChatbotError) else ""
    context = get_script_run_ctx()
    if context is not None and not context.has_script_started:
        # A callback failed: the page is not redrawn, and an element written now would replace its title.
        st.toast(known or t("home.error.action", id=reference), icon=":material/error:", duration="infinite")
        return True
    with st.container(key=f"{ERROR_KEY}-{reference}"):
        st.error(known or t("home.error.unexpected", id=reference), icon=":material/error:")
    return True


def _print_nothing(ex: BaseException) -> None:
    """Print nothing: ``_tell``, called next, logs the exception."""
