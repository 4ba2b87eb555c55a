"""Lets this session's chat search as a run or a system does: the choice, the notice, and the way back."""

from __future__ import annotations

from typing import Any

import streamlit as st

from chatbot_mvp.api import SYSTEMS, ChatProfile
from streamlit_app.shared.configuration import value_text
from streamlit_app.shared.i18n import code, plain, t
from streamlit_app.shared.lasting import forget
from streamlit_app.shared.runs import spoken
from streamlit_app.shared.state import errors_shown, get_app, leave_for

_KEY = "chat_profile"
_PROBLEM = "chat_system_refused"
"""Key of the session's state: name of the system that was chosen last and cannot be used."""
_CHANGES = "chat_profile_changes"
_OWN, _RUN = "default", "run"


@errors_shown()
def profile_button(run_id: str) -> None:
    """Draw a button to search in the chat as this run did; disabled, with the reason, if that is not possible."""
    profile = get_app().details.chat_profile(run_id)
    why = _why_refused(profile)
    pressed = st.button(
        t("detail.use_in_chat"),
        icon=":material/forum:",
        key=f"use-in-chat-{run_id}",
        disabled=why is not None,
        help=why or t("detail.use_in_chat_help"),
    )
    if why:
        st.caption(why)
    if pressed:
        _use(profile)
        leave_for("chat")


def system_choice() -> None:
    """Draw the list of the systems as which this session's chat can work, and why the last one chosen cannot be."""
    profile: ChatProfile | None = st.session_state.get(_KEY)
    # The profile decides: it can also change by the buttons of a run and of the notice.
    key = f"chat_system-{profile_changes()}"
    st.session_state[key] = _OWN if profile is None else profile.system or _RUN
    names = [*SYSTEMS, *([_RUN] if profile is not None and not profile.system else [])]
    titles = {name: _system_title(name) for name in names}
    st.selectbox(
        t("knobs.system"),
        names,
        format_func=titles.__getitem__,
        key=key,
        help=t("knobs.system_help"),
        on_change=_choose_system,
        args=(key,),
    )
    if refused := st.session_state.get(_PROBLEM):
        why = _why_refused(get_app().answering.system_profile(refused)) or ""
        st.warning(f"**{_system_title(refused)}**: {why}", icon=":material/block:")


def _system_title(name: str) -> str:
    return t("knobs.system_of_run") if name == _RUN else t(f"admin.preset.title.{name}")


def profile_changes() -> int:
    """Return how often this session's search was changed; a part of the keys of widgets that follow the search.

    A widget in a closed popover does not hear of a value that the page sets, and would send its former one again.
    """
    return int(st.session_state.get(_CHANGES, 0))


def _choose_system(key: str) -> None:
    chosen = st.session_state[key]
    st.session_state.pop(_PROBLEM, None)
    if chosen == _OWN:
        _forget()
    elif chosen != _RUN:
        profile = get_app().answering.system_profile(chosen)
        if _why_refused(profile):
            st.session_state[_CHANGES] = profile_changes() + 1
            st.session_state[_PROBLEM] = chosen
        else:
            _use(profile)


def _why_refused(profile: ChatProfile) -> str | None:
    refused = profile.refused
    return t(f"detail.left.{refused.reason}", run=plain(refused.run), chat=plain(refused.chat)) if refused else None


def chat_retrieval() -> tuple[tuple[str, Any], ...]:
    """Return the search taken from a run or a system, for ``UserContext``; () if the chat uses the settings."""
    profile: ChatProfile | None = st.session_state.get(_KEY)
    return profile.retrieval if profile else ()


def show_profile() -> None:
    """Show which run's or system's configuration the chat uses; nothing if it uses the settings."""
    profile: ChatProfile | None = st.session_state.get(_KEY)
    if profile is None:
        return
    with st.container(border=True):
        text, more, back = st.columns([5, 2.4, 2.6], vertical_alignment="center")
        if profile.system:
            said = t("detail.in_use_system", system=_system_title(profile.system), strategy=spoken(profile.strategy))
        else:
            said = t("detail.in_use", strategy=spoken(profile.strategy))
        text.markdown(f":material/tune: {said}", help=code(" · ".join((profile.strategy, profile.run_id))))
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
    st.markdown(f"**{t('detail.in_use_more' if profile.system else 'detail.taken')}**")
    if profile.changes:
        st.markdown("\n".join(f"- {code(name)} = {plain(value_text(value))}" for name, value in profile.changes))
    else:
        st.caption(t("detail.taken_nothing"))
    lines = [
        t(f"detail.left.{item.reason}", run=plain(item.run or item.name), chat=plain(item.chat or "–"))
        for item in profile.not_taken
    ]
    # The chat always keeps its own instructions: those of a run ask for one or two words.
    if not profile.system:
        lines.append(t("detail.left_prompts"))
    if lines:
        st.markdown(f"**{t('detail.not_taken')}**")
        st.markdown("\n".join(f"- {line}" for line in lines))


def _use(profile: ChatProfile) -> None:
    st.session_state[_KEY] = profile
    _forget_knobs()


def _forget() -> None:
    st.session_state.pop(_KEY, None)
    st.session_state.pop(_PROBLEM, None)
    _forget_knobs()


def _forget_knobs() -> None:
    """Reset the knobs: values chosen before belong to the previous search."""
    st.session_state[_CHANGES] = profile_changes() + 1
    forget("knob-")
