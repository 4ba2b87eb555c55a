"""Lets this session's chat search with the configuration of a run: the button, the notice, and the way back."""

from __future__ import annotations

from typing import Any

import streamlit as st

from chatbot_mvp.api import ChatProfile
from chatbot_mvp.errors import ChatbotError
from streamlit_app.shared.configuration import value_text
from streamlit_app.shared.i18n import code, plain, t
from streamlit_app.shared.state import PAGES, get_app, show_error

_KEY = "chat_profile"


def profile_button(run_id: str) -> None:
    """Draw a button to search in the chat as this run did; disabled, with the reason, if that is not possible."""
    try:
        profile = get_app().details.chat_profile(run_id)
    except ChatbotError as error:
        show_error(error)
        return
    refused = profile.refused
    why = t(f"detail.left.{refused.reason}", run=plain(refused.run), chat=plain(refused.chat)) if refused else None
    pressed = st.button(
        t("detail.use_in_chat"),
        icon=":material/forum:",
        key=f"use-in-chat-{run_id}",
        disabled=refused is not None,
        help=why or t("detail.use_in_chat_help"),
    )
    if why:
        st.caption(why)
    if pressed:
        _use(profile)
        st.switch_page(PAGES["chat"][0])


def chat_retrieval() -> tuple[tuple[str, Any], ...]:
    """Return the search taken from a run, for ``UserContext``; () if the chat uses the settings."""
    profile: ChatProfile | None = st.session_state.get(_KEY)
    return profile.retrieval if profile else ()


def show_profile() -> None:
    """Show which run's configuration the chat uses; nothing if it uses the settings."""
    profile: ChatProfile | None = st.session_state.get(_KEY)
    if profile is None:
        return
    with st.container(border=True):
        text, more, back = st.columns([5, 2.4, 2.6], vertical_alignment="center")
        text.markdown(
            f":material/tune: {t('detail.in_use', strategy=plain(profile.strategy), run=plain(profile.run_id))}"
        )
        with more.popover(t("detail.in_use_more"), icon=":material/difference:", width="stretch"):
            _show_taken(profile)
        back.button(
            t("detail.back_to_own"),
            icon=":material/restart_alt:",
            key="chat-profile-back",
            width="stretch",
            on_click=_forget,
        )


def _show_taken(profile: ChatProfile) -> None:
    st.markdown(f"**{t('detail.taken')}**")
    if profile.changes:
        st.markdown("\n".join(f"- {code(name)} = {plain(value_text(value))}" for name, value in profile.changes))
    else:
        st.caption(t("detail.taken_nothing"))
    st.markdown(f"**{t('detail.not_taken')}**")
    lines = [
        t(f"detail.left.{item.reason}", run=plain(item.run or item.name), chat=plain(item.chat or "–"))
        for item in profile.not_taken
    ]
    # The chat always keeps its own instructions: those of a run ask for one or two words.
    st.markdown("\n".join(f"- {line}" for line in [*lines, t("detail.left_prompts")]))


def _use(profile: ChatProfile) -> None:
    st.session_state[_KEY] = profile
    _forget_knobs()


def _forget() -> None:
    st.session_state.pop(_KEY, None)
    _forget_knobs()


def _forget_knobs() -> None:
    """Reset the knobs: values chosen before belong to the previous search."""
    for key in [key for key in st.session_state if str(key).startswith("knob-")]:
        del st.session_state[key]
