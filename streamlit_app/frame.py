"""Draws the frame of every page (navigation, language), then the page."""

from pathlib import Path

import streamlit as st

from streamlit_app.home.tour import keep_tour
from streamlit_app.knowledge_bases.upload_progress import dismiss_seen
from streamlit_app.shared.errors import begin_log, watch_errors
from streamlit_app.shared.guard import sign_out_button
from streamlit_app.shared.i18n import LANGUAGE_NAMES, choose_language, current_language, t, words_of_streamlit
from streamlit_app.shared.session import keep_session
from streamlit_app.shared.state import PAGES, get_app
from streamlit_app.shared.style import LOGO, MARK, NAME, frame_style
from streamlit_app.web.outside import stay_on_this_machine
from streamlit_app.web.scripts import FOCUS, run_script, speak
from streamlit_app.web.uploaded import release_all


def draw_page() -> None:
    """Draw the page that the address asks for, with what all pages have around it."""
    stay_on_this_machine()
    st.set_page_config(page_title=NAME, page_icon=str(MARK), layout="wide")
    st.logo(str(LOGO), icon_image=str(MARK), size="large")
    watch_errors()
    begin_log(get_app().settings, str(get_app().settings.errors_log_path))
    keep_session()
    choose_language(get_app().settings.ui_language)
    keep_tour()
    frame_style()
    speak(current_language(), words_of_streamlit(current_language()))
    run_script(FOCUS)

    page = st.navigation(
        [
            st.Page(
                path,
                title=t(f"nav.{name}"),
                icon=icon,
                default=name == "home",
                url_path=Path(path).stem.partition("_")[2],
                visibility="hidden" if name == "document" else "visible",  # it needs an address, which links have
            )
            for name, (path, icon) in PAGES.items()
        ]
    )

    with st.sidebar:
        # What a page draws here stands between the navigation and what all pages have.
        st.session_state.sidebar = st.container(key="sidebar-of-page")
        st.selectbox(t("nav.language"), list(LANGUAGE_NAMES), format_func=LANGUAGE_NAMES.__getitem__, key="language")
        st.caption(t("nav.tagline"))
        sign_out_button()

    if st.session_state.get("page_drawn", page.url_path) != page.url_path:
        release_all()
        dismiss_seen()
    st.session_state.page_drawn = page.url_path
    page.run()
