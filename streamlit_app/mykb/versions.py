"""Keeps what a session has typed into a question set while someone else changes the same set.

A session edits the version that it began with, until it saves or loads another one. Its widgets have the version in
their keys, so drawing another version would empty them.
"""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from chatbot_mvp.api import KbRecord, QuestionSet
from chatbot_mvp.settings.access import Action
from streamlit_app.shared.guard import may
from streamlit_app.shared.i18n import number, t
from streamlit_app.shared.state import errors_shown, get_app


def table_key(questions: QuestionSet) -> str:
    """Return the key of the table: another one for each version, so that saved edits are not applied again."""
    return f"mykb-table-{questions.set_id}-{questions.changed_at}"


def sets_of(kb: KbRecord) -> dict[str, QuestionSet]:
    """Return set id -> set: the saved ones, newest first, and the one being edited even if someone deleted it."""
    sets = {one.set_id: one for one in get_app().question_sets.sets(kb.kb_id)}
    edited = _edited()
    if edited and edited.kb_id == kb.kb_id and edited.set_id not in sets:
        sets[edited.set_id] = edited
    return sets


def version_to_edit(saved: QuestionSet) -> QuestionSet:
    """Return the version of a set that this session edits."""
    edited = _edited()
    if edited is None or (edited.kb_id, edited.set_id) != (saved.kb_id, saved.set_id):
        edited = saved
    st.session_state.mykb_edited = edited
    return edited


def begin_again() -> None:
    """Take the saved version from the next drawing on."""
    st.session_state.pop("mykb_edited", None)


def show_others(questions: QuestionSet) -> bool:
    """Say that someone else saved or deleted the set that is being edited, and what the last save joined.

    Return whether the set was deleted.
    """
    if (both := st.session_state.pop("mykb_joined", None)) is not None:
        text = t("mykb.joined_both", count=number(both)) if both else t("mykb.joined")
        st.info(text, icon=":material/merge:")
    saved = {one.set_id: one.changed_at for one in get_app().question_sets.sets(questions.kb_id)}
    if saved.get(questions.set_id) == questions.changed_at:
        return False
    deleted = questions.set_id not in saved
    st.warning(t("mykb.others_deleted" if deleted else "mykb.others_changed"), icon=":material/group:")
    if st.button(t("mykb.load_deleted" if deleted else "mykb.load"), icon=":material/sync:", key="mykb_load"):
        begin_again()
        st.rerun()
    return deleted


def save(base: QuestionSet, mine: QuestionSet) -> QuestionSet | None:
    """Save edits, joined with what someone else saved in the meantime; return None if an error was shown.

    Args:
        base: the version that was edited.
        mine: the version with the edits.
    """
    with errors_shown():
        saved, both = get_app().question_sets.save_joined(base, mine)
        st.session_state.mykb_joined = both
        begin_again()
        return saved
    return None


def _edited() -> QuestionSet | None:
    """Return the version that the last drawing showed; None if there was none, or if this session may not edit."""
    edited: QuestionSet | None = st.session_state.get("mykb_edited")
    # Its keys are typed as str or int, while all of ours are str.
    state: Mapping[str, object] = st.session_state  # type: ignore[assignment]
    return edited if edited and may(Action.CHANGE_QUESTIONS) and table_key(edited) in state else None
