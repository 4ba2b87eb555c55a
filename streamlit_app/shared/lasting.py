"""Values of widgets that stay: Streamlit drops that of a widget which a run of the script does not draw."""

from __future__ import annotations

from typing import Any

import streamlit as st


def lasting(key: str, usual: Any = None, kept: str = "") -> str:
    """Give a widget the value that it had when it was last drawn, else ``usual``; return its key, to draw it with.

    A value that is there is not written: what is written goes back to the browser, and undoes what was typed meanwhile.

    Args:
        kept: name of the value, by which a widget with another key finds it; by default that of its key.
    """
    state, kept = st.session_state, kept or f"{key}-kept"
    if key in state:
        state[kept] = state[key]
    else:
        state[key] = state.get(kept, usual)
    return key


def following(key: str, usual: Any) -> str:
    """As ``lasting``; a value that nobody has changed here follows ``usual``, such as that of a setting."""
    state, before = st.session_state, f"{key}-usual"
    if state[lasting(key, usual)] == state.get(before, usual) != usual:
        state[key] = state[f"{key}-kept"] = usual
    state[before] = usual
    return key


def forget(prefix: str) -> None:
    """Forget all that the session knows under keys with this beginning."""
    for key in [key for key in st.session_state if str(key).startswith(prefix)]:
        del st.session_state[key]
