"""Tags and note of a run, edited in place. Each change is saved at once and merged with those of other users."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import NO_NOTE, NOTE_CHARS
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.settings.access import Action
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import t
from streamlit_app.shared.state import get_app, show_error


def show_note(run_id: str) -> None:
    """Draw the editable tags and note of a run."""
    notes = get_app().archive.notes()
    note = notes.get(run_id, NO_NOTE)
    tags_key, note_key, seen_key = _keys(run_id)
    problem = st.session_state.pop("runs-problem", None)
    # Show what is saved, including changes by other users; a text that could not be saved stays as typed.
    st.session_state[tags_key] = list(note.tags)
    if not problem or note_key not in st.session_state:
        st.session_state[note_key] = note.note
    st.session_state[seen_key] = (note.tags, note.note)
    if problem:
        show_error(problem)
    left, right = st.columns(2, gap="large")
    left.multiselect(
        t("runs.tags"),
        sorted({tag for each in notes.values() for tag in each.tags} | set(note.tags), key=str.casefold),
        key=tags_key,
        accept_new_options=True,
        placeholder=t("runs.tags_hint"),
        on_change=_keep_tags,
        args=(run_id,),
        **guarded(Action.NOTE, t("runs.tags_help")),
    )
    right.text_area(
        t("runs.note"),
        key=note_key,
        height=100,
        max_chars=NOTE_CHARS,
        placeholder=t("runs.note_hint"),
        on_change=_keep_note,
        args=(run_id,),
        **guarded(Action.NOTE),
    )


def _keys(run_id: str) -> tuple[str, str, str]:
    return f"runs-tags-{run_id}", f"runs-note-{run_id}", f"runs-seen-{run_id}"


def _keep_tags(run_id: str) -> None:
    """Save only this user's changes, so that tags added by others in the meantime are kept."""
    tags_key, _, seen_key = _keys(run_id)
    now, before = st.session_state[tags_key], st.session_state[seen_key][0]
    try:
        get_app().archive.tag(
            run_id, [tag for tag in now if tag not in before], [tag for tag in before if tag not in now]
        )
    except ChatbotError as error:
        st.session_state["runs-problem"] = error


def _keep_note(run_id: str) -> None:
    _, note_key, seen_key = _keys(run_id)
    try:
        get_app().archive.write_note(run_id, st.session_state[note_key], st.session_state[seen_key][1])
    except ChatbotError as error:
        st.session_state["runs-problem"] = error
