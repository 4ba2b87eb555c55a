"""A grid of cards with as many columns as fit. Streamlit's own columns may become narrower than their text."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator


def card_grid(key: str, narrowest: int = 230) -> DeltaGenerator:
    """Return a container that places its children side by side, none narrower than ``narrowest`` pixels.

    Args:
        key: unique key of the grid on its page.
    """
    st.html(
        f"""<style>
.st-key-{key} {{display: grid; gap: 1rem; align-items: stretch;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, {narrowest}px), 1fr));}}
.st-key-{key} > * {{width: 100% !important; min-width: 0; height: 100%;}}
</style>"""
    )
    return st.container(key=key)
