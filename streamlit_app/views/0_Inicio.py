"""Home: the box to ask, or to upload where there is nothing to ask; guided first run, last runs, configured parts."""

import streamlit as st

from chatbot_mvp.api import MAX_QUESTION_CHARS
from streamlit_app.chat.asking import Asking, ask
from streamlit_app.home.last_runs import show_last_runs
from streamlit_app.home.tiles import show_state
from streamlit_app.home.tour import show_tour
from streamlit_app.knowledge_bases.choice import bring_one
from streamlit_app.knowledge_bases.upload_progress import upload_panel
from streamlit_app.shared.i18n import t
from streamlit_app.shared.session import new_conversation
from streamlit_app.shared.state import active_kb, leave_for

PAGE = "home", ":material/home:"

st.title(t("home.title"))
if (kb := active_kb()) is None:
    bring_one("home")
else:
    if "kb_job" in st.session_state:
        upload_panel()
    with st.container():  # outside of one, the box would stand at the bottom of the window
        typed = st.chat_input(
            t("chat.placeholder", count=len(kb.files)), key="home_input", max_chars=MAX_QUESTION_CHARS
        )
    st.caption(t("home.asked", name=kb.kb_name))
    if typed:
        st.session_state.kb_id = kb.kb_id
        new_conversation()
        ask(Asking(typed))
        leave_for("chat")
st.markdown(t("home.what"))
show_tour()

st.header(t("home.last_runs"))
show_last_runs()

show_state()
