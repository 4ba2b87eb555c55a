"""What the theme's settings cannot say, as style of the whole document."""

from __future__ import annotations

import streamlit as st

# Streamlit writes on a primary button, and on what is chosen of several, in white, whatever the colour. The dark
# theme's accent is light, as it must be to be read as text (a chosen option, a link): it wants dark letters on it.
_STYLE = """<style>
.stApp button[kind="primary"]:not(:disabled), .stApp button[kind="primaryFormSubmit"]:not(:disabled),
.stApp [data-testid="stMultiSelect"] [data-tag] * {
  color: light-dark(#ffffff, #07201c);
}
</style>"""


def frame_style() -> None:
    """On every page."""
    st.html(_STYLE)
