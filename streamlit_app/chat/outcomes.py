"""What the chat shows around an answer: its outcome, the nearest passages, and questions to ask with one click."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from chatbot_mvp.api import OUTCOMES, AnswerRecord, Conversation, DocumentFilter, KbRecord, Nearest
from chatbot_mvp.errors import ChatbotError
from streamlit_app.shared.i18n import Markdown, number, plain, t
from streamlit_app.shared.sources import show_passages
from streamlit_app.shared.state import get_app
from streamlit_app.shared.style import card_grid

_ICONS = {
    "answered": ":green[:material/check_circle:]",
    "nearest": ":orange[:material/contact_support:]",
    "refused": ":red[:material/block:]",
}
_REASONS = ("relevance", "declined", "unsupported")
"""Reasons that a reader cannot see otherwise; the evidence is in the facts of every answer."""


_SUGGESTIONS = 4
"""Suggested questions at most, shared among the knowledge bases; each has at least one."""


def show_outcome(answer: AnswerRecord) -> None:
    """Draw one line with icon, outcome and number of passages. Draws nothing in general mode."""
    if answer.mode != "strict":
        return
    passages = answer.sources if answer.outcome == "answered" else answer.nearest.passages if answer.nearest else ()
    said = t(f"outcome.{answer.outcome}")
    if passages:
        count = len(passages)
        said += f" · {t(f'outcome.passages.{answer.outcome}.{_form(count)}', count=number(count))}"
    st.caption(f"{_ICONS[answer.outcome]} **{said}**")
    if answer.why in _REASONS:
        st.caption(t(f"outcome.why.{answer.why}"))


def show_nearest(nearest: Nearest, key: str) -> None:
    """Draw the nearest passages, the words that they lack, and buttons for what may have been meant.

    Args:
        key: unique on the page.
    """
    if nearest.passages:
        st.markdown(f"**{t('nearest.title')}**")
        st.caption(t("nearest.no_answer"))
        show_passages(nearest.passages)
    if nearest.missing:
        words = Markdown(", ".join(f"**{plain(word)}**" for word in nearest.missing))
        st.markdown(f":material/search_off: {t('nearest.missing', words=words)}")
    if nearest.did_you_mean:
        st.markdown(t("nearest.meant"))
        with st.container(horizontal=True, key=f"meant-{key}"):
            for row, suggestion in enumerate(nearest.did_you_mean):
                st.button(
                    plain(suggestion.question),
                    key=f"meant-{key}-{row}",
                    icon=":material/spellcheck:" if suggestion.kind == "spelling" else ":material/toc:",
                    on_click=_ask,
                    args=(suggestion.question,),
                )


def show_hint(answer: AnswerRecord) -> None:
    """Draw the hint to rephrase a question that got a fixed reply."""
    if answer.abstained:
        st.caption(f":material/edit: {t('nearest.rephrase')}")


def show_counts(conversation: Conversation) -> None:
    """Draw how many questions of a conversation had each outcome. Draws nothing before the first answer."""
    counts = conversation.outcomes
    if any(counts.values()):
        said = {name: t(f"outcome.turns.{name}.{_form(counts[name])}", count=number(counts[name])) for name in OUTCOMES}
        st.caption(" · ".join(f"{_ICONS[name]} {text}" for name, text in said.items()))


def _form(count: int) -> str:
    return "one" if count == 1 else "many"


def suggestions(kbs: Sequence[KbRecord], documents: DocumentFilter) -> None:
    """Draw one button per suggestion about the chosen documents; clicking it asks the question."""
    each = max(1, _SUGGESTIONS // len(kbs))
    try:
        asked = [get_app().kbs.suggested_questions(kb.kb_id, each, documents) for kb in kbs]
    except ChatbotError:
        return  # the user will see the error when asking a question
    questions = dict.fromkeys(question for some in asked for question in some)
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
