"""Helpers shared by all charts: colour of text, number format and width."""

from __future__ import annotations

from typing import Any

import altair as alt
import streamlit as st

from streamlit_app.shared.i18n import current_language

Chart = alt.Chart | alt.LayerChart | alt.FacetChart

# Vega's number format per language: separators and digits per group. English is Vega's default.
_NUMBERS = {"es": {"decimal": ",", "thousands": ".", "grouping": [3], "currency": ["", " US$"]}}

_INK = {"light": "#1c1f1e", "dark": "#e8ebe9"}
_EITHER = "#7d8482"


def ink() -> str:
    """Return a colour for text and lines that is legible in the current theme; Altair's default is black."""
    return _INK.get(str(st.context.theme.type), _EITHER)


def show_chart(chart: Chart, **options: Any) -> Any:
    """Draw a chart in the full available width, with numbers in the session's language.

    Args:
        options: passed to ``st.altair_chart``, whose result is returned.
    """
    number = _NUMBERS.get(current_language())
    spoken = chart.configure(locale={"number": number}) if number else chart
    return st.altair_chart(spoken, width="stretch", **options)
