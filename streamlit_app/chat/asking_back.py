"""What the chat shows where a question could mean several things: a button for each, and where it leads."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import AnswerRecord, Nearest, Turn
from streamlit_app.chat.asking import Asking, ask
from streamlit_app.shared.i18n import number, plain, t
from streamlit_app.shared.metrics import dollars
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


def request_fact(answer: AnswerRecord) -> str:
    """Return what a model said when it was asked what the question could mean, and what that took; "" if none was."""
    asked = answer.asked_back
    if asked is None:
        return ""
    tokens = (asked["prompt_tokens"] or 0) + (asked["completion_tokens"] or 0)
    parts = [t("job.tokens", count=number(tokens))] if tokens else []
    if asked["cached"]:
        parts.append(t("chat.cached"))
    elif asked["cost_usd"] is not None:
        parts.append(dollars(asked["cost_usd"]))
    parts.append(t("chat.seconds", seconds=number(asked["seconds"], 2)))
    said = t(f"chat.asked_back.{asked['said']}")
    return f"{said} ({' · '.join(parts)})"
