"""Admin tab for settings: shows value, meaning and source of each, and changes those that may be changed."""

from __future__ import annotations

from typing import Any

import streamlit as st

from chatbot_mvp.api import GROUPS, SettingRow
from streamlit_app.admin.setting_field import choice_text, setting_field, setting_help, widget_value
from streamlit_app.shared.configuration import setting_label, value_text
from streamlit_app.shared.i18n import plain, t
from streamlit_app.shared.lasting import following
from streamlit_app.shared.state import errors_shown, get_app
from streamlit_app.shared.tables import choose_one, draw_table, fitting_height


def settings_section() -> None:
    """Draw the search, the table, and a form for one setting."""
    st.caption(t("admin.settings.about"))
    rows = get_app().live.rows()
    search, group, origin = st.columns([3, 2, 2], vertical_alignment="bottom")
    wanted = search.text_input(
        t("runs.search"), placeholder=t("admin.settings.search_hint"), key="settings_search"
    ).casefold()
    groups = ["", *GROUPS]
    chosen_group = group.selectbox(
        t("admin.settings.group"),
        groups,
        format_func=lambda name: t(f"admin.group.{name or 'all'}"),
        key="settings_group",
    )
    changed_only = origin.toggle(t("admin.settings.changed_only"), key="settings_changed")
    shown = [
        row
        for row in rows
        if all(part in _searched(row) for part in wanted.split())
        and chosen_group in ("", row.form.group)
        and not (changed_only and row.source == "default")
    ]
    if not shown:
        st.info(t("admin.settings.none"), icon=":material/search_off:")
        return
    draw_table(
        [
            {
                t("admin.settings.col.meaning"): setting_help(row.form.name).replace("`", ""),  # not read as Markdown
                t("eval.value"): _value(row),
                t("admin.settings.col.source"): t(f"admin.source.{row.source}"),
                t("admin.settings.group"): t(f"admin.group.{row.form.group}"),
                t("admin.settings.col.variable"): row.form.variable,
            }
            for row in shown
        ],
        {t("admin.settings.col.meaning"): 440, t("eval.value"): 140, t("admin.settings.col.variable"): 230},
        height=fitting_height(len(shown), 440),
    )
    by_name = {row.form.name: row for row in shown}
    # Drop the previous choice if the search no longer lists it.
    if st.session_state.get("settings_one") not in by_name:
        st.session_state.settings_one = None
    names = {name: f"{setting_label(name)} · {row.form.variable}" for name, row in by_name.items()}
    name = choose_one(t("admin.settings.one"), names, "settings_one")
    if name:
        _one(by_name[name])


def _searched(row: SettingRow) -> str:
    parts = (row.form.variable, setting_help(row.form.name), t(f"admin.group.{row.form.group}"), _value(row))
    return " ".join(parts).casefold()


def _value(row: SettingRow) -> str:
    if row.form.kind == "secret":
        return t("admin.settings.set" if row.is_set else "admin.settings.not_set")
    return value_text(row.value)


def _one(row: SettingRow) -> None:
    form = row.form
    with st.container(border=True):
        st.markdown(f"**{plain(form.variable)}** · {plain(setting_help(form.name))}")
        if not row.changeable:
            outside = row.source not in ("default", "admin")
            st.caption(t("admin.settings.outside" if outside else "admin.settings.at_start", variable=form.variable))
            return
        current = widget_value(form, row.value)
        key = following(f"setting-{form.name}", current)
        field, save, reset = st.columns([4, 1.5, 2], vertical_alignment="bottom")
        with field:
            value = _field(row, key)
        if save.button(
            t("talk.save"), icon=":material/save:", key="settings_save", width="stretch", disabled=value == current
        ):
            with errors_shown():
                get_app().live.change(form.name, value)
                st.rerun()
        if row.source == "admin" and reset.button(
            t("admin.settings.reset"), icon=":material/restart_alt:", key="settings_reset", width="stretch"
        ):
            with errors_shown():
                get_app().live.reset(form.name)
                st.rerun()
        st.caption(t("admin.settings.default", value=_shown_default(row)))


def _field(row: SettingRow, key: str) -> Any:
    if row.form.name == "retrieval_strategy":
        strategies = list(get_app().runs.strategies())
        if st.session_state[key] not in strategies:
            strategies.append(st.session_state[key])
        return st.selectbox(t("eval.value"), strategies, key=key)
    return setting_field(row.form, t("eval.value"), key)


def _shown_default(row: SettingRow) -> str:
    default = row.form.default
    return plain(choice_text(str(default)) if row.form.kind == "choice" else value_text(default))
