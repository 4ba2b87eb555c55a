"""What the charts have in common."""

from __future__ import annotations

from typing import Any

import altair as alt
import streamlit as st

from streamlit_app.shared.i18n import current_language

Chart = alt.Chart | alt.LayerChart | alt.FacetChart

# As Vega writes them: separators, and how many figures stand between two. English is what it writes by itself.
_NUMBERS = {"es": {"decimal": ",", "thousands": ".", "grouping": [3], "currency": ["", " US$"]}}

_INK = {"light": "#1c1f1e", "dark": "#e8ebe9"}
_EITHER = "#7d8482"


def ink() -> str:
    """The colour of words and lines in a chart, which Altair's own black is not on a dark page."""
    return _INK.get(str(st.context.theme.type), _EITHER)


def show_chart(chart: Chart, **options: Any) -> Any:
    """Draw a chart over the width of its place, its numbers in the session's language.

    Args:
        options: of ``st.altair_chart``; the value is what that gives.
    """
    number = _NUMBERS.get(current_language())
    spoken = chart.configure(locale={"number": number}) if number else chart
    return st.altair_chart(spoken, width="stretch", **options)
