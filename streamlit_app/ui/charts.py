"""What the charts have in common."""

from __future__ import annotations

import streamlit as st

_INK = {"light": "#1c1f1e", "dark": "#e8ebe9"}
_EITHER = "#7d8482"


def ink() -> str:
    """The colour of words and lines in a chart, which Altair's own black is not on a dark page."""
    return _INK.get(str(st.context.theme.type), _EITHER)
