"""Entry point: serves the pages, and is the script of every page: it draws the frame, then the page."""

import sys
from pathlib import Path

# `streamlit run` of a checkout puts only this script's folder on the path; the packages are one above. An installed
# program has that folder on its path already.
if (root := str(Path(__file__).resolve().parents[1])) not in sys.path:
    sys.path.insert(0, root)

import streamlit as st

if __name__ != "__main__":
    # `streamlit run` finds this assignment, imports the file once to serve it, and runs it as a script for each page.
    from starlette.middleware import Middleware

    from streamlit_app.web.guard import PageGuard
    from streamlit_app.web.outside import stay_on_this_machine
    from streamlit_app.web.presence import swept

    stay_on_this_machine()
    app = st.App(__file__, middleware=[Middleware(PageGuard)], lifespan=swept)
else:
    from streamlit_app.frame import draw_page

    draw_page()
