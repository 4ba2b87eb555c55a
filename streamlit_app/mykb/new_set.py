"""Creates a set of questions: proposed, from a file, copied from another knowledge base, or empty."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import KbRecord
from chatbot_mvp.settings.access import Action
from streamlit_app.mykb.jobs import busy, follow
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import number, plain, t
from streamlit_app.shared.state import errors_shown, get_app, kb_names
from streamlit_app.shared.style import translate_uploader

_COUNTS = (12, 20, 40, 60, 80, 120, 200)
_USUAL = 40


def new_set(kb: KbRecord) -> None:
    """Draw an expander with all the ways."""
    with st.expander(t("mykb.new"), icon=":material/add_circle:"):
        ways = {"propose": _propose, "file": _upload, "copy": _copy, "empty": _empty}
        for tab, draw in zip(st.tabs([t(f"mykb.new.{way}") for way in ways]), ways.values(), strict=True):
            with tab:
                draw(kb)


def _propose(kb: KbRecord) -> None:
    evaluation = get_app().kb_evaluation
    model = evaluation.proposer()
    st.markdown(t("mykb.by_model", model=plain(model)) if model else t("mykb.by_rules"))
    name, count = st.columns(2)
    named = name.text_input(t("mykb.name"), t("mykb.name_usual"), max_chars=80, key="mykb_name")
    many = count.select_slider(
        t("mykb.count"), _COUNTS, _USUAL, format_func=number, help=t("mykb.count_help"), key="mykb_count"
    )
    use_model = bool(model) and st.toggle(t("mykb.use_model", model=plain(model)), value=True, key="mykb_use_model")
    if st.button(
        t("mykb.propose"),
        type="primary",
        icon=":material/lightbulb:",
        key="mykb_propose",
        **guarded(Action.PROPOSE, disabled=busy(kb)),
    ):
        with errors_shown():
            follow(evaluation.propose(kb.kb_id, named.strip() or t("mykb.name_usual"), int(many), use_model))
            st.rerun()


def _upload(kb: KbRecord) -> None:
    translate_uploader(t("admin.upload_button"))
    # A new key after each file, so that a rerun does not import it again.
    taken = st.session_state.get("mykb_files", 0)
    file = st.file_uploader(
        t("mykb.file"),
        type=["jsonl"],
        key=f"mykb_file-{taken}",
        **guarded(Action.CHANGE_QUESTIONS, t("mykb.file_help")),
    )
    if file is None:
        return
    with errors_shown():
        made = get_app().question_sets.import_set(kb.kb_id, file.name, file.getvalue())
        st.session_state.mykb_files = taken + 1
        _show_made(made.set_id)


def _copy(kb: KbRecord) -> None:
    app = get_app()
    records = app.kbs.records()
    kbs = kb_names(records)
    others = {
        (record.kb_id, one.set_id): f"{kbs[record.kb_id]} · {one.name}"
        for record in records
        if record.kb_id != kb.kb_id
        for one in app.question_sets.sets(record.kb_id)
    }
    st.caption(t("mykb.copy_help"))
    if not others:
        st.caption(t("mykb.copy_none"))
        return
    chosen = st.selectbox(t("mykb.copy_which"), list(others), format_func=others.__getitem__, key="mykb_copy_which")
    if st.button(t("mykb.copy"), icon=":material/content_copy:", key="mykb_copy", **guarded(Action.CHANGE_QUESTIONS)):
        with errors_shown():
            made = app.question_sets.copy_set(*chosen, kb.kb_id)
            _show_made(made.set_id)


def _empty(kb: KbRecord) -> None:
    named = st.text_input(t("mykb.name"), t("mykb.name_own"), max_chars=80, key="mykb_empty_name")
    if st.button(t("mykb.empty"), icon=":material/note_add:", key="mykb_empty", **guarded(Action.CHANGE_QUESTIONS)):
        with errors_shown():
            made = get_app().question_sets.empty_set(kb.kb_id, named.strip() or t("mykb.name_own"))
            _show_made(made.set_id)


def _show_made(set_id: str) -> None:
    st.session_state.mykb_take_set = set_id
    st.rerun()
