"""Global styles that the theme's settings cannot express."""

from __future__ import annotations

import streamlit as st

# Streamlit always uses white text on primary buttons and on the chosen items of a multiselect. The accent of the dark
# theme is light, so that it is legible as text (links, chosen options); text on it must be dark.
_STYLE = """<style>
.stApp button[kind="primary"]:not(:disabled), .stApp button[kind="primaryFormSubmit"]:not(:disabled),
.stApp [data-testid="stMultiSelect"] [data-tag] * {
  color: light-dark(#ffffff, #07201c);
}
</style>"""


def frame_style() -> None:
    """Add the global styles. Called on every page."""
    st.html(_STYLE)
