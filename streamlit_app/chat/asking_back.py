"""What the chat shows where a question could mean several things: a button for each, and where it leads."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import Nearest, Turn
from streamlit_app.chat.asking import Asking, ask
from streamlit_app.shared.i18n import plain, t
from streamlit_app.shared.sources import show_passages


def show_readings(turn: Turn, readings: Nearest, asks: bool) -> None:
    """Draw the readings of a question; a click asks the clear question.

    Args:
        asks: whether the buttons may ask.
    """
    st.caption(t("outcome.readings"))
    pairs = zip(readings.did_you_mean, readings.passages, strict=True)
    for row, (reading, passage) in enumerate(pairs):
        st.button(
            plain(reading.question),
            key=f"reading-{turn.turn_id}-{row}",
            icon=":material/subdirectory_arrow_right:",
            disabled=not asks,
            on_click=ask,
            args=(Asking(reading.question, turn.after, is_reading=True),),
        )
        show_passages([passage])
