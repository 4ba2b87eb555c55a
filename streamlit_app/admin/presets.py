"""Presets of a run: choose one, save the current parameters as one, delete a saved one."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import SYSTEMS, Preset
from chatbot_mvp.errors import ChatbotError
from streamlit_app.admin.run_fields import beyond, changed, fill_fields
from streamlit_app.shared.i18n import Markdown, code, plain, t
from streamlit_app.shared.state import error_text, errors_shown, get_app

_AS_IS = ""


def preset_bar() -> None:
    """Draw the list of presets and the buttons to save and delete."""
    presets = {_key(preset): preset for preset in get_app().presets.all()}
    if st.session_state.get("run_preset", _AS_IS) not in presets:
        st.session_state.run_preset = _AS_IS
    choose, keep = st.columns([3, 1.4], vertical_alignment="bottom")
    choose.selectbox(
        t("admin.preset"),
        [_AS_IS, *presets],
        format_func=lambda key: _label(presets[key]) if key else t("admin.preset.title.default"),
        key="run_preset",
        help=t("admin.preset_help"),
        on_change=_apply,
    )
    with keep.popover(t("admin.preset.own"), icon=":material/bookmark:", width="stretch"):
        _save()
        chosen = presets.get(st.session_state.run_preset)
        if chosen is not None and chosen.own:
            st.button(
                t("admin.preset.delete", name=chosen.name),
                icon=":material/delete:",
                key="run_preset_delete",
                width="stretch",
                on_click=_delete,
                args=(chosen.name,),
            )
    if problem := st.session_state.pop("run_preset_problem", ""):
        st.error(plain(problem), icon=":material/error:")
    chosen = presets.get(st.session_state.run_preset)
    if chosen is not None and not chosen.own:
        st.caption(t(f"admin.preset.about.{chosen.name}"))
    if more := beyond():
        settings = ", ".join(code(f"{name.upper()}={found}") for name, found in sorted(more.items()))
        st.caption(t("admin.preset.beyond", settings=Markdown(settings)))


def chosen_system() -> str:
    """Return the name of the system that was chosen as a preset; "" if none was."""
    kind, _, name = str(st.session_state.get("run_preset", _AS_IS)).partition(":")
    return name if kind == "built-in" and name in SYSTEMS else ""


def _save() -> None:
    name = st.text_input(t("admin.data.col.name"), max_chars=60, key="run_preset_name")
    st.caption(t("admin.preset.save_help"))
    if st.button(
        t("admin.preset.save"),
        icon=":material/save:",
        key="run_preset_save",
        width="stretch",
        disabled=not name.strip(),
    ):
        with errors_shown():
            kept = get_app().presets.save(name, changed())
            st.success(t("admin.preset.saved", name=plain(kept)), icon=":material/check_circle:")


def _apply() -> None:
    chosen = st.session_state.run_preset
    presets = {_key(preset): preset for preset in get_app().presets.all()}
    try:
        fill_fields(presets[chosen].changes if chosen in presets else {})
    except ChatbotError as error:
        st.session_state.run_preset_problem = error_text(error)


def _delete(name: str) -> None:
    try:
        get_app().presets.delete(name)
        st.session_state.run_preset = _AS_IS
    except ChatbotError as error:
        st.session_state.run_preset_problem = error_text(error)


def _key(preset: Preset) -> str:
    return f"{'own' if preset.own else 'built-in'}:{preset.name}"


def _label(preset: Preset) -> str:
    return preset.name if preset.own else t(f"admin.preset.title.{preset.name}")
