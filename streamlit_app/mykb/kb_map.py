"""The step *Mapa*: which passages are asked about, cited and never found; a click opens one in its document."""

from __future__ import annotations

from typing import NoReturn

import streamlit as st

from chatbot_mvp.api import PASSAGE_STATES, KbMap, KbRecord
from chatbot_mvp.settings.access import Action
from streamlit_app.pictures.kb_map import CLICKED, clicked, kb_map_picture
from streamlit_app.pictures.palette import palette
from streamlit_app.pictures.picture import show_picture
from streamlit_app.shared.guard import may
from streamlit_app.shared.i18n import bare, number, t
from streamlit_app.shared.permissions import is_protected
from streamlit_app.shared.session import session_name
from streamlit_app.shared.state import get_app, leave_for

_MOST_LISTED = 300
_OPEN = "mykb-map-open"


def show_map(kb: KbRecord) -> None:
    """Draw the map, and a list to open a passage with the keyboard."""
    app = get_app()
    # Without a sign-in everybody may review, and nobody may read the conversations of others.
    everybody = is_protected(app.access) and may(Action.REVIEW)
    found = app.kb_maps.of_all(kb.kb_id) if everybody else app.kb_maps.of_session(kb.kb_id, session_name())
    picture = kb_map_picture(f"map-{kb.kb_id[:40]}", found, palette())
    if picture is None:
        st.info(t("picture.map_none"), icon=":material/info:")
        return
    key = f"mykb-map-{kb.kb_id}"

    def picked() -> None:
        st.session_state[_OPEN] = clicked(st.session_state[key])

    show_picture(picture, key=key, on_select=picked, selection_mode=CLICKED, width="content")
    st.caption(
        t(
            "picture.map_basis_all" if everybody else "picture.map_basis",
            sets=number(found.sets),
            cited=number(found.citations),
        )
    )
    chosen = _choose(found)
    position = st.session_state.pop(_OPEN, None)
    if position is None:
        position = chosen
    if position is not None and position < len(found.passages):
        _open(kb, found, position)


def _choose(found: KbMap) -> int | None:
    """Draw a list of passages, the missed ones first; return the position of the one to open, None for none."""
    order = sorted(
        range(len(found.passages)), key=lambda place: (PASSAGE_STATES.index(found.passages[place].state), place)
    )[:_MOST_LISTED]
    names = {}
    for place in order:
        one = found.passages[place]
        state = bare(f"picture.passage.{one.state}")
        names[place] = f"{number(place + 1)} · {one.path} · {one.section} · {state}"
    with st.container(horizontal=True, vertical_alignment="bottom"):
        chosen = st.selectbox(
            t("picture.map_open"),
            order,
            index=None,
            format_func=names.__getitem__,
            placeholder=t("admin.choose"),
            key="mykb-map-choice",
        )
        pressed = st.button(t("runs.open"), icon=":material/open_in_new:", disabled=chosen is None)
    return chosen if pressed else None


def _open(kb: KbRecord, found: KbMap, position: int) -> NoReturn:
    passage = found.passages[position]
    place = {"kb": kb.kb_id, "document": passage.path, "version": found.version}
    leave_for("document", {**place, "start": str(passage.start), "end": str(passage.end)})
