"""A document of a knowledge base, as an address names it. Citations lead here; the navigation does not list it."""

import streamlit as st

from streamlit_app.knowledge_bases.cited import show_cited
from streamlit_app.shared.i18n import t

PAGE = "document", ":material/description:"

st.title(t("nav.document"))
show_cited()
