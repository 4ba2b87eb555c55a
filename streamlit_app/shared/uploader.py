"""Translates Streamlit's file uploader, whose texts are always in English, with CSS."""

from __future__ import annotations

import json

import streamlit as st


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
