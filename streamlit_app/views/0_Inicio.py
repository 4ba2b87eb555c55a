"""Home: what this is, the guided first run, what is configured and answers, the last runs at a glance."""

import streamlit as st

from streamlit_app.ui.home_state import show_state
from streamlit_app.ui.i18n import t
from streamlit_app.ui.last_runs import show_last_runs
from streamlit_app.ui.providers import providers_table
from streamlit_app.ui.tour import show_tour

st.title(t("home.title"))
st.markdown(t("home.what"))
show_tour()

st.subheader(t("home.state"))
show_state()
with st.expander(t("home.all_providers"), icon=":material/dns:"):
    providers_table()

st.subheader(t("home.last_runs"))
show_last_runs()
