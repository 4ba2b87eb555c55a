"""Shows the turns of a conversation: questions, answers with their sources, and answers being written."""

from __future__ import annotations

import re
import time

import streamlit as st

from chatbot_mvp.api import KINDS, AnswerRecord, Conversation, LiveTurn, Turn
from chatbot_mvp.errors import ChatbotError
from streamlit_app.chat.answer_text import safe_markdown
from streamlit_app.chat.debug import show_debug
from streamlit_app.chat.document_filter import show_filter
from streamlit_app.chat.outcomes import show_hint, show_nearest, show_outcome
from streamlit_app.shared.i18n import number, t
from streamlit_app.shared.sources import show_sources, source_link
from streamlit_app.shared.state import errors_shown, failure_text, get_app, show_error

_UNKNOWN = "unknown"

_FRAME_S = 0.04  # seconds between redraws; faster would not be noticed
_ALMOST_DONE_S = 0.05  # seconds; an answer ready this soon is shown at once, without first showing the passages

_CITATION = re.compile(r"\\?\[(\d+)\\?\]")  # plain, or with escaped brackets
_LIST_MARK = re.compile(r"\s*(?:(?:[-*+•]|\d+[.)])\s+)?")


def show_turn(conversation: Conversation, turn: Turn, debug: bool) -> None:
    """Draw a finished turn."""
    with st.chat_message("user"):
        st.text(turn.question)
        show_filter(turn.documents)
    with st.chat_message("assistant"):
        if turn.answer is None:
            if turn.text:
                st.markdown(safe_markdown(turn.text))
            reason = t("chat.failed", error=failure_text(turn.failure)) if turn.failure else t("chat.interrupted")
            st.warning(reason, icon=":material/warning:")
            return
        show_answer(turn.answer, f"source-{turn.turn_id}")
        _ask_feedback(conversation, turn)
        if debug:
            show_debug(turn.answer)


def show_answer(answer: AnswerRecord, anchor: str) -> None:
    """Draw the text with unsupported sentences highlighted, the notices about it, and sources or nearest passages.

    Args:
        anchor: unique on the page; links citations in the text to their sources.
    """
    if answer.failure:
        st.warning(t("chat.fallback", error=failure_text(answer.failure)), icon=":material/cloud_off:")
    st.markdown(linked(marked(answer), answer, anchor))
    show_outcome(answer)
    if answer.unsupported:
        said = t(
            "chat.unsupported_one" if answer.unsupported == 1 else "chat.unsupported",
            count=answer.unsupported,
        )
        st.caption(f":orange[:material/warning:] {said}")
    if not answer.from_kb and not answer.abstained:
        st.caption(f":blue[:material/info:] {t('chat.not_from_kb')}")
    if answer.finish_reason in ("cancelled", "length"):
        st.caption(f":gray[:material/content_cut:] {t(f'chat.finish.{answer.finish_reason}')}")
    st.caption(" · ".join(_facts(answer)))
    if answer.sources:
        st.markdown(f"**{t('chat.sources')}**")
        show_sources(answer.sources, anchor)
    if answer.nearest is not None:
        show_nearest(answer.nearest, anchor)
    show_hint(answer)


def watch(conversation: Conversation, turn: Turn, live: LiveTurn, debug: bool) -> None:
    """Draw a turn while it is being answered, until it ends. Leaving the page does not stop it."""
    place = st.empty()
    with place.container():
        with st.chat_message("user"):
            st.text(turn.question)
            show_filter(turn.documents)
        with st.chat_message("assistant"):
            text, found, button = st.empty(), st.empty(), st.empty()
            progress = live.wait(0, 0.0)
            if not live.join(_ALMOST_DONE_S):
                text.caption(t("chat.searching"))
                button.button(
                    t("chat.stop"),
                    key=f"stop-{turn.turn_id}",
                    icon=":material/stop_circle:",
                    on_click=get_app().chat.stop,
                    args=(conversation.session, conversation.conversation_id),
                )
            shown = False
            while not live.join(0.0):
                if progress.found and not shown:
                    shown = True
                    with found.container():
                        st.caption(t("chat.found"))
                        show_sources(progress.found)
                if progress.text:
                    text.markdown(f"{safe_markdown(progress.text)} ▌")
                elif progress.found is not None:
                    text.caption(t("chat.writing"))
                time.sleep(_FRAME_S)
                progress = live.wait(progress.version, 0.5)
    ended = get_app().chat.conversation(conversation.session, conversation.conversation_id)
    with place.container():
        show_turn(ended, ended.turn(turn.turn_id), debug)


def linked(text: str, answer: AnswerRecord, anchor: str) -> str:
    """Turn citations in Markdown into links to their sources; numbers without a source are left unchanged."""
    numbers = {source.number for source in answer.sources}

    def link(match: re.Match[str]) -> str:
        cited = int(match[1])
        return source_link(cited, anchor) if cited in numbers else match[0]

    return _CITATION.sub(link, text)


def marked(answer: AnswerRecord) -> str:
    """Return the answer's text with a coloured background for unsupported sentences."""
    whole = all(statement.supported for statement in answer.statements)
    parts: list[str] = []
    position = 0
    for statement in answer.statements:
        if statement.supported or statement.start < position:
            continue
        sentence = answer.text[statement.start : statement.end]
        mark = _LIST_MARK.match(sentence)
        skip = mark.end() if mark else 0
        parts.append(safe_markdown(answer.text[position : statement.start + skip], whole))
        words = " ".join(sentence[skip:].split())
        parts.append(f":orange-background[{safe_markdown(words, whole)}] :orange[:material/warning:]" if words else "")
        position = statement.end
    return "".join(parts) + safe_markdown(answer.text[position:], whole)


def _facts(answer: AnswerRecord) -> list[str]:
    """Return the quality of the answer and how it came about, in the words of the line below it."""
    facts, quality = [], answer.quality
    if answer.model:
        facts.append(t("chat.model_demo") if answer.model == "demo" else t("chat.model", name=answer.model))
    if answer.cached:
        facts.append(t("chat.cached"))
    if quality.average_relevance is not None:
        facts.append(t("chat.average_relevance", score=number(quality.average_relevance, 2)))
    facts.append(t("chat.evidence", score=number(quality.evidence, 2)))
    if answer.decided_by == "relevance" and quality.relevance is not None:
        facts.append(t("chat.relevance", score=number(quality.relevance, 0)))
    elif answer.decided_by == "undecided":
        facts.append(t("chat.undecided"))
    facts.append(t("chat.expanded.yes" if quality.query_expanded else "chat.expanded.no"))
    facts.append(t("chat.reranked.yes" if quality.reranked else "chat.reranked.no"))
    if answer.search_how:
        facts.append(t(f"chat.followup.{answer.search_how}"))
    if answer.vectors_share == 0:
        facts.append(t("chat.vectors_none"))
    elif answer.vectors_share is not None and answer.vectors_share < 1:
        facts.append(t("chat.vectors", percent=number(100 * answer.vectors_share, 0)))
    facts.append(t("chat.seconds", seconds=number(quality.seconds, 2)))
    return facts


def _ask_feedback(conversation: Conversation, turn: Turn) -> None:
    """Draw the thumbs with their last value and, after a thumb down, a form."""
    key = f"thumbs-{turn.turn_id}"
    rated = turn.feedback
    if turn.answer is not None and turn.mode == "strict":
        st.caption(t(f"feedback.ask.{turn.answer.outcome}"))
    st.feedback(
        "thumbs",
        key=key,
        default=None if rated is None else int(rated.good),
        on_change=_rate,
        args=(conversation, turn, key),
    )
    if rated is not None and not rated.good:
        with st.popover(t("feedback.tell"), icon=":material/edit_note:"):
            _feedback_form(conversation, turn)


def _rate(conversation: Conversation, turn: Turn, key: str) -> None:
    value = st.session_state.get(key)
    if value is not None:
        note = turn.feedback.note if turn.feedback else ""
        with errors_shown():
            get_app().chat.rate(conversation.session, conversation.conversation_id, turn.turn_id, bool(value), note)


def _feedback_form(conversation: Conversation, turn: Turn) -> None:
    with st.form(f"feedback-{turn.turn_id}", border=False):
        note = st.text_area(t("feedback.note"), turn.feedback.note if turn.feedback else "", max_chars=2_000)
        add = st.checkbox(t("feedback.add"), help=t("feedback.add_help"))
        kind = st.selectbox(t("feedback.kind"), [_UNKNOWN, *KINDS], format_func=lambda name: t(f"feedback.kind.{name}"))
        answer = st.text_input(t("feedback.answer"), max_chars=1_000)
        sent = st.form_submit_button(t("feedback.send"), type="primary")
    if not sent:
        return
    service = get_app().chat
    place = (conversation.session, conversation.conversation_id, turn.turn_id)
    chosen = next((name for name in KINDS if name == kind), None)
    try:
        service.rate(*place, False, note)
        added = add and service.add_question(*place, chosen, answer)
    except ChatbotError as error:
        show_error(error)
        return
    if not add:
        st.success(t("feedback.thanks"), icon=":material/check_circle:")
        return
    path = service.questions_path(conversation.kb_of(turn))
    st.success(t("feedback.added" if added else "feedback.known", path=path), icon=":material/check_circle:")
