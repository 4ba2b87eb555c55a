"""Cards in as many columns as the width has room for: Streamlit's own columns become narrower than their words."""

from __future__ import annotations

import streamlit as st
from streamlit.delta_generator import DeltaGenerator


def card_grid(key: str, narrowest: int = 230) -> DeltaGenerator:
    """A container whose children stand side by side, none narrower than ``narrowest`` pixels.

    Args:
        key: one per grid of a page.
    """
    st.html(
        f"""<style>
.st-key-{key} {{display: grid; gap: 1rem; align-items: stretch;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, {narrowest}px), 1fr));}}
.st-key-{key} > * {{width: 100% !important; min-width: 0; height: 100%;}}
</style>"""
    )
    return st.container(key=key)
