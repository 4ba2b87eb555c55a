"""Shows the turns of a conversation: questions, answers with their sources, and answers being written."""

from __future__ import annotations

import re
import time

import streamlit as st

from chatbot_mvp.api import AnswerRecord, Conversation, LiveTurn, Turn
from streamlit_app.chat.answer_text import safe_markdown
from streamlit_app.chat.differences import show_differences
from streamlit_app.chat.document_filter import show_filter
from streamlit_app.chat.message_actions import facts_of, show_actions, show_question
from streamlit_app.chat.outcomes import show_hint, show_nearest, show_outcome, show_readings, show_reason
from streamlit_app.chat.source_pane import anchor_of
from streamlit_app.shared.i18n import t
from streamlit_app.shared.sources import show_sources, source_link
from streamlit_app.shared.state import failure_text, get_app
from streamlit_app.shared.style import MARK

_ASKER, _ANSWERER = ":material/person:", str(MARK)

_FRAME_S = 0.04  # seconds between redraws; faster would not be noticed
_ALMOST_DONE_S = 0.05  # seconds; an answer ready this soon is shown at once, without first showing the passages

_CITATION = re.compile(r"\\?\[(\d{1,3})\\?\]")  # plain, or with escaped brackets
_LIST_MARK = re.compile(r"\s*(?:(?:[-*+•]|\d+[.)])\s+)?")


def show_turn(conversation: Conversation, turn: Turn, debug: bool, asks: bool = True) -> None:
    """Draw a finished turn.

    Args:
        asks: whether its buttons may ask; a conversation whose knowledge base is gone can only be read.
    """
    with st.chat_message("user", avatar=_ASKER):
        show_question(turn, asks)
        show_filter(turn.documents)
    with st.chat_message("assistant", avatar=_ANSWERER):
        if turn.answer is None:
            if turn.text:
                st.markdown(safe_markdown(turn.text))
            reason = t("chat.failed", error=failure_text(turn.failure)) if turn.failure else t("chat.interrupted")
            st.warning(reason, icon=":material/warning:")
            show_actions(conversation, turn, asks)
            return
        show_answer(turn, turn.answer, asks)
        show_actions(conversation, turn, asks, facts_of(turn.answer))
        if debug:
            from streamlit_app.chat.debug import show_debug  # its charts load 100 MB, for nobody else

            show_debug(turn.answer)


def show_answer(turn: Turn, answer: AnswerRecord, asks: bool) -> None:
    """Draw the nearest passages, or the text with unsupported sentences highlighted, and the notices.

    Its sources are opened by its citations, and by the row of buttons below it.

    Args:
        asks: as in ``show_turn``.
    """
    if answer.failure:
        st.warning(t("chat.fallback", error=failure_text(answer.failure)), icon=":material/cloud_off:")
    if answer.outcome == "asks" and answer.nearest is not None:
        show_outcome(answer)
        show_readings(turn, answer.nearest, asks)
        return
    if answer.nearest is not None and answer.nearest.passages:
        show_outcome(answer)
        show_nearest(turn, answer.nearest, asks)
        show_hint(answer)
        return
    st.markdown(linked(marked(answer), answer, anchor_of(turn)))
    show_reason(answer)
    if answer.unsupported:
        st.caption(f":orange[:material/warning:] {t('chat.unsupported', count=answer.unsupported)}")
        show_differences(answer)
    if not (answer.from_kb or answer.abstained or answer.is_talk):
        st.caption(f":blue[:material/info:] {t('chat.not_from_kb')}")
    if answer.finish_reason in ("cancelled", "length"):
        st.caption(f":gray[:material/content_cut:] {t(f'chat.finish.{answer.finish_reason}')}")
    if answer.prompt_cut:
        st.caption(f":orange[:material/content_cut:] {t('chat.prompt_cut')}")
    if answer.nearest is not None:
        show_nearest(turn, answer.nearest, asks)
    show_hint(answer)


def watch(conversation: Conversation, turn: Turn, live: LiveTurn, debug: bool) -> None:
    """Draw a turn while it is being answered, until it ends. Leaving the page does not stop it."""
    place = st.empty()
    with place.container():
        with st.chat_message("user", avatar=_ASKER):
            st.text(turn.question)
            show_filter(turn.documents)
        with st.chat_message("assistant", avatar=_ANSWERER):
            text, found, button = st.empty(), st.empty(), st.empty()
            progress = live.wait(0, 0.0)
            if not live.join(_ALMOST_DONE_S):
                text.caption(t("chat.searching"))
                button.button(
                    t("job.stop"),
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
    found.empty(), button.empty()  # what a container had stays below what it has until the page is drawn
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
