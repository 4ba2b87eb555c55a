"""The one row below an answer: its outcome, its sources and small buttons; and the button that edits a question."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from chatbot_mvp.api import MAX_QUESTION_CHARS, AnswerRecord, Conversation, Turn
from streamlit_app.chat.asking import Asking, ask, show_branch
from streamlit_app.chat.outcomes import outcome_words
from streamlit_app.chat.rating import ask_rating, rating_words
from streamlit_app.chat.sharing import copy_button, share_popover
from streamlit_app.chat.source_pane import source_buttons
from streamlit_app.shared.i18n import current_language, number, plain, t
from streamlit_app.shared.state import get_app

_OTHER = {"es": "en", "en": "es"}


def show_question(turn: Turn, asks: bool) -> None:
    """Draw a question with the button that edits it, if buttons may ask; while it is edited, a form in its place."""
    if not asks:
        st.text(turn.question)
        return
    if st.session_state.get("chat_editing") == turn.turn_id:
        _edit_form(turn)
        return
    with st.container(horizontal=True, vertical_alignment="center", key=f"question-{turn.turn_id}"):
        st.text(turn.question, width="content")
        _button("edit", turn, "edit", _edit, turn.turn_id)


def show_actions(conversation: Conversation, turn: Turn, asks: bool, facts: str = "") -> None:
    """Draw the row below an answer, or below what came in place of one: outcome, sources, buttons.

    Args:
        asks: whether there are buttons that ask.
        facts: how the answer came about, in Markdown, for the button with the details; "" for no such button.
    """
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key=f"actions-{turn.turn_id}"):
        if turn.answer is not None:
            if words := outcome_words(turn, turn.answer):
                st.caption(words, width="content")
            if turn.answer.sources:
                source_buttons(turn, turn.answer)
        with st.container(horizontal=True, width="content", vertical_alignment="center", key=f"tools-{turn.turn_id}"):
            _tools(conversation, turn, asks, facts)
        rating_words(turn)


def _button(name: str, turn: Turn, icon: str, on_click: Callable[..., None], given: object) -> None:
    st.button(
        t(f"message.{name}"),
        key=f"{name}-{turn.turn_id}",
        icon=f":material/{icon}:",
        type="tertiary",
        help=t(f"message.{name}_help"),
        on_click=on_click,
        args=(given,),
    )


def _tools(conversation: Conversation, turn: Turn, asks: bool, facts: str) -> None:
    if turn.text:
        st.html(copy_button(turn, "answer", t("message.copy"), question=False), width="content")
    if asks:
        _button("again", turn, "refresh", ask, Asking(turn.question, turn.after, again=True))
    _alternatives(conversation, turn)
    if turn.answer is not None:
        if asks:
            _other_language(turn, turn.answer)
        share_popover(conversation, turn)
        if facts:
            with st.popover(t("message.details"), icon=":material/info:", type="tertiary"):
                st.markdown(f"**{t('message.details')}**")
                st.caption(facts)
        ask_rating(conversation, turn)


def _alternatives(conversation: Conversation, turn: Turn) -> None:
    """Draw "2/3" between buttons that lead to the other branches at this place; nothing if there is one only.

    Behind the newest answer of the conversation as shown it says which other one has messages behind it.
    """
    others = [one.turn_id for one in conversation.alternatives(turn)]
    if len(others) == 1:
        return
    at = others.index(turn.turn_id)
    behind = [_behind(conversation, one) for one in others]

    def step(name: str, icon: str, to: int) -> None:
        st.button(
            t(f"message.{name}"),
            key=f"{name}-{turn.turn_id}",
            icon=icon,
            type="tertiary",
            disabled=not 0 <= to < len(others),
            help=t(f"message.{name}"),
            on_click=show_branch,
            args=(conversation.conversation_id, others[to % len(others)]),
        )

    step("previous", ":material/chevron_left:", at - 1)
    st.caption(f"{number(at + 1)}/{number(len(others))}", width="content")
    step("next", ":material/chevron_right:", at + 1)
    if not behind[at] and any(behind):
        longest = behind.index(max(behind))
        said = t("message.goes_on", at=number(longest + 1), count=number(behind[longest]))
        st.caption(said, width="content")


def _behind(conversation: Conversation, turn_id: str) -> int:
    """Return how many questions follow an answer in its branch."""
    branch = [one.turn_id for one in conversation.branch(turn_id)]
    return len(branch) - branch.index(turn_id) - 1


def _other_language(turn: Turn, answer: AnswerRecord) -> None:
    """Draw the button for an answer in the other language; nothing if no language model answers."""
    if answer.outcome != "answered" or answer.model in ("", "demo"):
        return
    other = _OTHER.get(turn.answer_in or get_app().answering.language_of(answer.text, current_language()), "es")
    st.button(
        t(f"message.in.{other}"),
        key=f"language-{turn.turn_id}",
        icon=":material/translate:",
        type="tertiary",
        help=t(f"message.in.{other}"),
        on_click=ask,
        args=(Asking(turn.question, turn.after, answer_in=other),),
    )


def open_message(conversation: Conversation) -> str:
    """Show the message that the address names, once; return its turn, "" for none of this conversation."""
    wanted = st.query_params.pop("m", "")
    if wanted and any(turn.turn_id == wanted for turn in conversation.turns):
        show_branch(conversation.conversation_id, wanted)
        return str(wanted)
    return ""


def _edit(turn_id: str) -> None:
    st.session_state.chat_editing = turn_id


def _edit_form(turn: Turn) -> None:
    with st.form(f"edit-form-{turn.turn_id}", border=False):
        text = st.text_area(
            t("message.edit"), turn.question, max_chars=MAX_QUESTION_CHARS, key=f"edited-{turn.turn_id}"
        )
        with st.container(horizontal=True):
            sent = st.form_submit_button(t("home.step.ask"), type="primary")
            cancelled = st.form_submit_button(t("message.edit_cancel"), type="tertiary")
    if sent and text.strip():
        ask(Asking(text.strip(), turn.after))
        st.rerun()
    if cancelled:
        st.session_state.pop("chat_editing", None)
        st.rerun()


def facts_of(answer: AnswerRecord) -> str:
    """Return how an answer came about, as a list in Markdown."""
    return "\n".join(f"- {fact}" for fact in _facts(answer))


def _facts(answer: AnswerRecord) -> list[str]:
    facts, quality = [], answer.quality
    if answer.model:
        facts.append(t("chat.model_demo") if answer.model == "demo" else plain(answer.model))
    if answer.cached:
        facts.append(t("chat.cached"))
    if quality.average_relevance is not None:
        facts.append(t("chat.average_relevance", score=number(quality.average_relevance, 2)))
    if (proof := answer.debug.get("proof")) is None:
        facts.append(t("chat.evidence", score=number(quality.evidence, 2)))
    else:  # then the evidence decides nothing
        facts.append(t("chat.proof", score=number(proof, 2)))
    if answer.decided_by == "relevance" and quality.relevance is not None:
        facts.append(t("chat.relevance", score=number(quality.relevance, 0)))
    elif answer.decided_by == "undecided":
        facts.append(t("chat.undecided"))
    facts.append(t("chat.expanded.yes" if quality.query_expanded else "chat.expanded.no"))
    facts.append(t("chat.reranked.yes" if quality.reranked else "chat.reranked.no"))
    if answer.search_how:
        facts.append(t(f"chat.followup.{answer.search_how}"))
    if answer.vectors_share is not None and answer.vectors_share < 1:
        facts.append(t("chat.vectors", percent=number(100 * answer.vectors_share, 0)))
    facts.append(f"{number(quality.seconds, 2)} s")
    return facts
