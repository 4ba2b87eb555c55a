"""Draws the widget of a setting according to its kind and range, with label and help in the session's language."""

from __future__ import annotations

from typing import Any

import streamlit as st

from chatbot_mvp.api import SettingForm
from streamlit_app.shared.i18n import t_or, word


def setting_help(name: str) -> str:
    """Return a one-line description of a setting."""
    return t_or(f"admin.setting.{name}", name.upper())


def choice_text(value: str) -> str:
    """Return the text of a choice; its name if it has no text."""
    return word("admin.choice", value or "empty")


def setting_field(form: SettingForm, label: str, key: str, *, disabled: bool = False) -> Any:
    """Draw the widget and return its value. Its initial value must be in the session's state under ``key``."""
    tip = setting_help(form.name)
    if form.kind == "switch":
        return st.toggle(label, key=key, help=tip, disabled=disabled)
    if form.kind == "choice":
        return st.selectbox(label, form.choices, format_func=choice_text, key=key, help=tip, disabled=disabled)
    if form.kind == "whole":
        low, high = (None if bound is None else int(bound) for bound in (form.low, form.high))
        return st.number_input(label, low, high, step=1, key=key, help=tip, disabled=disabled)
    if form.kind == "number":
        least, most = (None if bound is None else float(bound) for bound in (form.low, form.high))
        step = 0.05 if most is not None and most <= 2 else 0.5
        return st.number_input(label, least, most, step=step, key=key, help=tip, disabled=disabled)
    return st.text_input(label, key=key, help=tip, disabled=disabled)


def widget_value(form: SettingForm, value: Any) -> Any:
    """Convert a setting's value to the value of its widget."""
    if form.kind == "number":
        return float(value)
    return str(value) if form.kind == "text" else value
