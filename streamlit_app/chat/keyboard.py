"""The list of the keys that the page Chat knows. The page's script hears them and clicks the buttons that they name."""

from __future__ import annotations

import streamlit as st

from streamlit_app.shared.i18n import t
from streamlit_app.shared.session import new_conversation

_KEYS = {
    "/": "input",
    "n": "new",
    "g": "again",
    "e": "edit",
    "k": "copy",
    "[": "before",
    "]": "after",
    "Esc": "stop",
    "?": "list",
}
"""Key -> name of what it does, as in the table of ``chat_page.js``; the brackets are heard by ``web/scripts.py``."""


def keys_are_on() -> bool:
    """Return whether keys without a modifier do something: who speaks to the computer may need them off."""
    return bool(st.session_state.get("chat_keys", True))


def keyboard_button() -> None:
    """Draw the button that opens the list; the key ? clicks it."""
    if st.button(
        t("keys.title"), key="keys-help", icon=":material/keyboard:", type="tertiary", help=f"{t('keys.title')} (?)"
    ):
        _show_keys()


def hidden_buttons() -> None:
    """Draw, unseen, what a key does for which no button is always on the page."""
    with st.container(key="keys-hidden"):
        st.button(t("talk.new"), key="keys-new", on_click=new_conversation)


def _show_keys() -> None:
    @st.dialog(t("keys.title"))
    def dialog() -> None:
        rows = "\n".join(f"| `{key}` | {t(f'keys.{name}')} |" for key, name in _KEYS.items())
        st.markdown(f"| {t('keys.key')} | {t('keys.does')} |\n|---|---|\n{rows}")
        on = st.toggle(t("keys.on"), value=keys_are_on(), help=t("keys.on_help"))
        if on != keys_are_on():
            st.session_state.chat_keys = on
            st.rerun()

    dialog()
