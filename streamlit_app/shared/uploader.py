"""The file uploader's own words are English whatever the page's language; style puts ours in their place."""

from __future__ import annotations

import json

import streamlit as st


def translate_uploader(button: str) -> None:
    """Give every uploader of the page this text on its button; the limits stand in its label."""
    st.html(
        f"""<style>
[data-testid="stFileUploaderDropzoneInstructions"] {{display: none;}}
[data-testid="stFileUploaderDropzone"] > span button p,
[data-testid="stFileUploaderDropzone"] > button p {{font-size: 0;}}
[data-testid="stFileUploaderDropzone"] > span button p::after,
[data-testid="stFileUploaderDropzone"] > button p::after {{content: {json.dumps(button)}; font-size: 0.875rem;}}
</style>"""
    )
