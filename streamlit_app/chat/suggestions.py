"""Questions to begin with, from the knowledge base's own headings."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import KbRecord
from chatbot_mvp.errors import ChatbotError
from streamlit_app.shared.grid import card_grid
from streamlit_app.shared.i18n import plain
from streamlit_app.shared.state import get_app


def suggestions(kb: KbRecord) -> None:
    """A button for each; it asks its question in the run that its click causes."""
    try:
        questions = get_app().kbs.suggested_questions(kb.kb_id)
    except ChatbotError:
        return  # the answer to a question will say what is wrong
    grid = card_grid("suggestions", narrowest=320)
    for row, question in enumerate(questions):
        grid.button(
            plain(question),
            key=f"suggested-{row}",
            icon=":material/lightbulb:",
            width="stretch",
            on_click=_ask,
            args=(question,),
        )


def _ask(question: str) -> None:
    st.session_state.chat_suggested = question
