"""The search of a run in the chat of this session: taking it over, saying so, and the way back."""

from __future__ import annotations

from typing import Any

import streamlit as st

from chatbot_mvp.api import ChatProfile
from chatbot_mvp.errors import ChatbotError
from streamlit_app.shared.configuration import value_text
from streamlit_app.shared.i18n import plain, t
from streamlit_app.shared.state import PAGES, get_app, show_error

_KEY = "chat_profile"


def profile_button(run_id: str) -> None:
    """Search in Chat as this run did; disabled, with the reason, where that cannot be."""
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
    """The search that this session's chat has been given, for ``UserContext``; () for the settings' own."""
    profile: ChatProfile | None = st.session_state.get(_KEY)
    return profile.retrieval if profile else ()


def show_profile() -> None:
    """A line on the page Chat that says which run's configuration is in use; nothing where it is the settings' own."""
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
        st.markdown("\n".join(f"- `{name}` = {plain(value_text(value))}" for name, value in profile.changes))
    else:
        st.caption(t("detail.taken_nothing"))
    st.markdown(f"**{t('detail.not_taken')}**")
    lines = [
        t(f"detail.left.{item.reason}", run=plain(item.run or item.name), chat=plain(item.chat or "–"))
        for item in profile.not_taken
    ]
    # Whatever the run, the instructions are the chat's: a benchmark asks for a word or two.
    st.markdown("\n".join(f"- {line}" for line in [*lines, t("detail.left_prompts")]))


def _use(profile: ChatProfile) -> None:
    st.session_state[_KEY] = profile
    _forget_knobs()


def _forget() -> None:
    st.session_state.pop(_KEY, None)
    _forget_knobs()


def _forget_knobs() -> None:
    """Knobs that were moved before belong to the search that was in use then."""
    for key in [key for key in st.session_state if str(key).startswith("knob-")]:
        del st.session_state[key]
