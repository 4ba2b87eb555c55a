"""Chat with a knowledge base. Every answer shows the passages that it is based on."""

from dataclasses import replace

import streamlit as st

from chatbot_mvp.api import MAX_QUESTION_CHARS, Turn
from chatbot_mvp.errors import ChatbotError, LimitError
from streamlit_app.chat.answers import show_turn, watch
from streamlit_app.chat.asking import Asking, place_of, show_branch, shown_branch, take_asking
from streamlit_app.chat.composer import mode_and_model, page_script
from streamlit_app.chat.conversation_list import list_conversations, show_gone
from streamlit_app.chat.document_filter import ask_sources
from streamlit_app.chat.keyboard import hidden_buttons, keyboard_button
from streamlit_app.chat.knobs import ask_knobs
from streamlit_app.chat.message_actions import open_message
from streamlit_app.chat.outcomes import show_counts, show_follow_ups, suggestions
from streamlit_app.chat.source_pane import close_pane, panes, show_pane
from streamlit_app.home.tour import show_tour_in_chat
from streamlit_app.knowledge_bases.choice import choose_kb, require_kb
from streamlit_app.knowledge_bases.ready import tell_incomplete
from streamlit_app.knowledge_bases.upload import prepare_kbs, upload_popover
from streamlit_app.knowledge_bases.upload_progress import dismiss_seen, upload_panel
from streamlit_app.knowledge_bases.vectors import vectors_status
from streamlit_app.shared.chat_profile import show_profile
from streamlit_app.shared.i18n import number, t
from streamlit_app.shared.sections import draw_added
from streamlit_app.shared.session import (
    begin_conversation,
    chosen_kbs,
    conversation_to_read,
    current_conversation,
    follow_address,
    session_name,
    write_address,
)
from streamlit_app.shared.state import get_app, show_error

PAGE = "chat", ":material/forum:"

st.title(t("nav.chat"), anchor=False)
draw_added("chat-opened")
in_vain = follow_address()
if (gone := conversation_to_read()) is not None:
    write_address(gone.kb_ids, gone)
    list_conversations(gone)
    show_gone(gone)
    talk, beside = panes()
    page_script("")
    with beside:
        show_pane(gone)
    for turn in gone.branch(shown_branch(gone)):
        with talk.container(key=f"turn-{turn.turn_id}"):
            show_turn(gone, turn, debug=False, asks=False)
    st.stop()
if not chosen_kbs():
    list_conversations(None)  # what was said stays, also without any knowledge base
show_profile()
active = require_kb("chat")
# A container that wraps: columns would cut the texts of the buttons on narrow screens.
bar = st.container(horizontal=True, vertical_alignment="center", gap="small", key="chat-bar")
kb = choose_kb(bar, active, width=210)
with bar:
    kbs, documents = ask_sources(kb)
    upload_popover(kb)
    provider = mode_and_model()
    keyboard_button()
    context, debug = ask_knobs(kb, st.session_state.chat_mode)
context = replace(context, documents=documents, provider=provider)
for one in kbs:
    tell_incomplete(one)

with st.bottom:  # in sight however long the conversation is
    upload_panel(only=kb.kb_id)
vectors_line = st.container()

history, beside = panes()
if (refused := st.session_state.pop("chat_refused", None)) is not None:
    show_error(refused)
if draft := st.session_state.pop("chat_draft", ""):
    st.session_state.chat_input = draft
with st.bottom:
    hint = t("chat.placeholder", count=sum(len(one.files) for one in kbs))
    typed = st.chat_input(hint, key="chat_input", max_chars=MAX_QUESTION_CHARS, on_submit=dismiss_seen)
asking = Asking(typed) if typed else take_asking()
shown: tuple[Turn, ...] = ()
with history:
    conversation, live = current_conversation(kbs)
    page_script(open_message(conversation) if conversation else "")
    hidden_buttons()
    if asking:
        close_pane()
        try:
            prepare_kbs(kbs, context.retrieval)
            conversation_id = conversation.conversation_id if conversation else begin_conversation(kbs)
            own = asking.context(context, get_app().settings.llm_temperature)
            after = place_of(asking, conversation) if conversation else None
            get_app().chat.begin(session_name(), conversation_id, asking.question, own, after)
            show_branch(conversation_id, "")
            conversation, live = current_conversation(kbs)
        except LimitError as error:
            # The question returns to its box, whose text can only be set before it is drawn.
            st.session_state.chat_refused, st.session_state.chat_draft = error, asking.question
            st.rerun()
        except ChatbotError as error:
            show_error(error)
    with beside:
        show_pane(conversation)
    write_address([one.kb_id for one in kbs], conversation)
    list_conversations(conversation)
    if in_vain and conversation is None:
        st.warning(t(in_vain), icon=":material/link_off:")
    if conversation is None or not conversation.turns:
        st.caption(t("chat.hint"))
        first_questions = st.container()
    else:
        if conversation.held:
            st.caption(f":orange[:material/warning:] {t('chat.held')}")
        if conversation.damaged:
            st.caption(f":orange[:material/warning:] {t('chat.damaged', count=number(conversation.damaged))}")
        for turn in conversation.branch(shown_branch(conversation)):
            with st.container(key=f"turn-{turn.turn_id}"):
                if turn.turn_id in live:
                    watch(conversation, turn, live[turn.turn_id], debug)
                else:
                    show_turn(conversation, turn, debug)
        # Read again: answers have just ended.
        found = get_app().chat.conversation(conversation.session, conversation.conversation_id)
        shown = found.branch(shown_branch(found))
        show_counts(replace(found, turns=shown))
    next_questions = st.container()
    show_tour_in_chat(asked=conversation is not None and bool(conversation.turns))
with vectors_line:
    vectors_status([one.kb_id for one in kbs], context.retrieval)
if not shown:
    with first_questions:  # when all else is drawn: their search takes time
        suggestions(kbs, context)
else:
    with next_questions:  # when all else is drawn: their search takes time
        show_follow_ups(kbs, shown, context)
