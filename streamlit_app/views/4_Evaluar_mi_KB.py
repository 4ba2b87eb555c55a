"""Evaluate a knowledge base: propose and review questions, run them, choose the evidence threshold."""

import streamlit as st

from chatbot_mvp.errors import ChatbotError
from streamlit_app.knowledge_bases.choice import choose_kb, require_kb
from streamlit_app.mykb.jobs import QUESTIONS, RESULTS, REVIEW, job_panel, take_ended
from streamlit_app.mykb.questions import show_questions
from streamlit_app.mykb.results import show_results
from streamlit_app.mykb.review import show_review
from streamlit_app.shared.i18n import t
from streamlit_app.shared.state import show_error

st.title(t("nav.mykb"))
st.markdown(t("mykb.about"))
active = require_kb("mykb", t("mykb.no_kb"))
which, what = st.columns(2, vertical_alignment="bottom")
kb = choose_kb(which, active)
take_ended(kb)
st.session_state.mykb_step = st.session_state.get("mykb_step", QUESTIONS)
steps = {name: t(f"mykb.step.{name}") for name in (QUESTIONS, RESULTS, REVIEW)}
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
    elif step == REVIEW:
        show_review(kb)
    else:
        show_questions(kb)
except ChatbotError as error:
    show_error(error)
