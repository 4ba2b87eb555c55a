"""Starts the pages: ``python -m streamlit_app [options of streamlit run]``. Used by ``chatbot-mvp ui``."""

from __future__ import annotations

import sys
from pathlib import Path

from streamlit.web import cli

from chatbot_mvp.ending import whole_ending
from streamlit_app.web.connections import bound_connections
from streamlit_app.web.outside import stay_on_this_machine

if __name__ == "__main__":
    stay_on_this_machine()
    bound_connections()
    sys.argv = ["streamlit", "run", str(Path(__file__).with_name("Inicio.py")), *sys.argv[1:]]
    with whole_ending():
        cli.main()
