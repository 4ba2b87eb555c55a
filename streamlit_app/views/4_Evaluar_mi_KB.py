"""Evaluate my knowledge base: questions proposed and reviewed, asked, and the evidence threshold that follows."""

import streamlit as st

from chatbot_mvp.errors import ChatbotError
from streamlit_app.ui.i18n import t
from streamlit_app.ui.kb_upload import sample_button, upload_box, upload_panel
from streamlit_app.ui.mykb_jobs import QUESTIONS, RESULTS, job_panel, take_ended
from streamlit_app.ui.mykb_questions import show_questions
from streamlit_app.ui.mykb_results import show_results
from streamlit_app.ui.state import active_kb, get_app, kb_names, show_error

st.title(t("nav.mykb"))
st.markdown(t("mykb.about"))
active = active_kb()
if active is None:
    st.info(t("mykb.no_kb"), icon=":material/info:")
    upload, sample = st.columns([2, 1], gap="large")
    with upload:
        upload_box("mykb")
    with sample:
        sample_button()
        if active_kb() is not None:
            st.rerun()
    upload_panel()
    st.stop()

records = {record.kb_id: record for record in get_app().kbs()}
which, what = st.columns([3, 2], vertical_alignment="bottom")
names = kb_names(list(records.values()))
kb_id = which.selectbox(
    t("chat.kb"),
    list(records),
    index=list(records).index(active.kb_id),
    format_func=names.__getitem__,
)
kb = records[kb_id]
st.session_state.kb_id, st.session_state.kb_name = kb_id, kb.kb_name
take_ended(kb)
st.session_state.mykb_step = st.session_state.get("mykb_step", QUESTIONS)
steps = {name: t(f"mykb.step.{name}") for name in (QUESTIONS, RESULTS)}
step = what.segmented_control(
    t("mykb.step"),
    list(steps),
    required=True,
    key="mykb_step",
    format_func=steps.__getitem__,
)
job_panel(kb)
try:
    if step == RESULTS:
        show_results(kb)
    else:
        show_questions(kb)
except ChatbotError as error:
    show_error(error)
