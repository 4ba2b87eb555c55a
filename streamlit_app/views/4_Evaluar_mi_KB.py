"""Evaluate a knowledge base: ask and review questions, run them, choose the evidence threshold."""

import streamlit as st

from streamlit_app.knowledge_bases.choice import choose_kb, require_kb
from streamlit_app.mykb.jobs import MAP, QUESTIONS, RESULTS, job_panel, take_ended
from streamlit_app.mykb.kb_map import show_map
from streamlit_app.mykb.questions import show_questions
from streamlit_app.mykb.results import show_results
from streamlit_app.shared.i18n import plain, t
from streamlit_app.shared.sections import with_added
from streamlit_app.shared.series import series_panel
from streamlit_app.shared.state import errors_shown

PAGE = "mykb", ":material/fact_check:"

st.title(t("nav.mykb"))
st.markdown(t("mykb.about"))
active = require_kb("mykb")
which, what = st.container(), st.container()
kb = choose_kb(which, active)
take_ended(kb)
steps = with_added(
    "mykb",
    {
        QUESTIONS: (10, t("mykb.step.questions"), show_questions),
        RESULTS: (20, t("mykb.step.results"), show_results),
        MAP: (40, t("mykb.step.map"), show_map),
    },
)
asked = st.session_state.get("mykb_step")
st.session_state.mykb_step = asked if asked in steps else QUESTIONS
step = what.segmented_control(
    t("mykb.step"),
    list(steps),
    required=True,
    key="mykb_step",
    label_visibility="collapsed",
    format_func=lambda name: plain(steps[name][0]),
)
job_panel(kb)
series_panel()
with errors_shown():
    steps[step or QUESTIONS][1](kb)
