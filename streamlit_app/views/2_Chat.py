"""Chat with a knowledge base; every answer shows the passages it rests on."""

import streamlit as st

from chatbot_mvp.app import Answer, Mode, UserContext
from chatbot_mvp.errors import ChatbotError
from streamlit_app.ui.i18n import current_language, number, t
from streamlit_app.ui.sources import show_sources
from streamlit_app.ui.state import PAGES, active_kb, get_app, prepare_kb, show_error

MODES: list[Mode] = ["strict", "general"]


def show_answer(answer: Answer) -> None:
    """Text, provider and evidence, sources."""
    st.markdown(answer.text.replace("$", r"\$"))
    parts = []
    if answer.completion:
        parts.append(t(f"chat.model.{answer.completion.model}"))
    if answer.trace.evidence is not None:
        parts.append(t("chat.evidence", score=number(answer.trace.evidence, 2)))
    parts.append(t("chat.seconds", seconds=number(answer.seconds, 2)))
    st.caption(" · ".join(parts))
    if answer.sources:
        st.markdown(f"**{t('chat.sources')}**")
        show_sources(answer.sources)


st.title(t("nav.chat"))
kb = active_kb()
if kb is None:
    st.info(t("chat.no_kb"), icon=":material/info:")
    if st.button(t("chat.go_admin"), icon=PAGES["admin"][1], type="primary"):
        st.switch_page(PAGES["admin"][0])
    st.stop()

records = {record.kb_id: record for record in get_app().kbs()}
left, right = st.columns([2, 1], vertical_alignment="bottom")
kb_id = left.selectbox(
    t("chat.kb"),
    list(records),
    index=list(records).index(kb.kb_id),
    format_func=lambda key: records[key].kb_name,
)
st.session_state.kb_id, st.session_state.kb_name = kb_id, records[kb_id].kb_name
mode = right.segmented_control(
    t("chat.mode"),
    MODES,
    default="strict",
    required=True,
    format_func=lambda name: t(f"chat.mode.{name}"),
    help=t("chat.mode_help"),
)
if records[kb_id].kb_truncated:
    st.warning(
        t("kb.truncated", kept=number(records[kb_id].chars), original=number(records[kb_id].original_chars)),
        icon=":material/content_cut:",
    )

history = st.session_state.setdefault("chat_history", {}).setdefault(kb_id, [])
if not history:
    st.caption(t("chat.hint"))
for past_question, past_answer in history:
    with st.chat_message("user"):
        st.text(past_question)
    with st.chat_message("assistant"):
        show_answer(past_answer)

if question := st.chat_input(t("chat.placeholder")):
    with st.chat_message("user"):
        st.text(question)
    with st.chat_message("assistant"):
        try:
            prepare_kb(records[kb_id])
            with st.spinner(t("chat.searching")):
                new_answer = get_app().ask(kb_id, question, UserContext(mode, current_language()))
        except ChatbotError as error:
            show_error(error)
        else:
            history.append((question, new_answer))
            show_answer(new_answer)

if history and st.button(t("chat.clear"), icon=":material/delete_sweep:", type="tertiary"):
    history.clear()
    st.rerun()
