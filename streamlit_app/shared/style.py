"""What the look of the pages needs beyond the theme: a grid of cards, and an uploader in the session's language."""

from __future__ import annotations

import json

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


def translate_uploader(button: str) -> None:
    """Set the text of the button of every uploader on the page. The limits are in the uploader's label."""
    st.html(
        f"""<style>
[data-testid="stFileUploaderDropzoneInstructions"] {{display: none;}}
[data-testid="stFileUploaderDropzone"] > span button p,
[data-testid="stFileUploaderDropzone"] > button p {{font-size: 0;}}
[data-testid="stFileUploaderDropzone"] > span button p::after,
[data-testid="stFileUploaderDropzone"] > button p::after {{content: {json.dumps(button)}; font-size: 0.875rem;}}
</style>"""
    )
