"""Home: introduction, guided first run, status of the configured parts, last runs."""

import streamlit as st

from streamlit_app.admin.providers.table import providers_table
from streamlit_app.home.last_runs import show_last_runs
from streamlit_app.home.tiles import show_state
from streamlit_app.home.tour import show_tour
from streamlit_app.shared.i18n import t

PAGE = "home", ":material/home:"

st.title(t("home.title"))
st.markdown(t("home.what"))
show_tour()

st.subheader(t("home.state"))
show_state()
providers = st.expander(t("home.all_providers"), icon=":material/dns:", key="home-providers", on_change="rerun")
if providers.open:  # its table needs pandas, which the first visit does not wait for
    with providers:
        providers_table()

st.subheader(t("home.last_runs"))
show_last_runs()
