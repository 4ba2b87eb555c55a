"""List of the knowledge bases with their details, contents and actions."""

from __future__ import annotations

from functools import partial

import streamlit as st

from chatbot_mvp.api import KbContents, KbRecord
from streamlit_app.knowledge_bases.acting import do_asked
from streamlit_app.knowledge_bases.choice import show_deleted
from streamlit_app.knowledge_bases.documents import show_documents
from streamlit_app.knowledge_bases.history import show_history
from streamlit_app.knowledge_bases.ready import languages_of, tell_incomplete
from streamlit_app.knowledge_bases.upload_progress import follow
from streamlit_app.shared.i18n import moment, number, plain, t
from streamlit_app.shared.session import session_name
from streamlit_app.shared.sources import place_text, show_passage
from streamlit_app.shared.state import active_kb, confirm, errors_shown, get_app, leave_for, show_error
from streamlit_app.shared.tables import paged

_PER_PAGE = 10
_VIEWS = ("documents", "history", "chunks")


def kb_list() -> None:
    """Draw every stored knowledge base, newest first."""
    records = get_app().kbs.records()
    current = active_kb()
    for error in get_app().kbs.unreadable().values():
        show_error(error)
    if not records:
        st.caption(t("admin.kb_empty"))
    for record in records:
        with st.container(border=True):
            _entry(record, current is not None and record.kb_id == current.kb_id)
    show_deleted()


def _entry(record: KbRecord, active: bool) -> None:
    # A container that wraps: columns would cut the texts of the buttons on narrow screens.
    row = st.container(horizontal=True, vertical_alignment="center")
    text, bar = row.container(width="stretch", gap=None), row.container(horizontal=True, width="content")
    mark = f" · :green-badge[{t('admin.kb_active')}]" if active else ""
    text.markdown(f"**{plain(record.kb_name)}**{mark}")
    text.caption(" · ".join(_facts(record)))
    if bar.button(t("home.step.ask"), key=f"use-{record.kb_id}", icon=":material/forum:"):
        st.session_state.kb_id = record.kb_id
        leave_for("chat")
    opened = st.session_state.get("kb_open") == record.kb_id
    bar.button(
        t("pane.close" if opened else "admin.kb_look"),
        key=f"look-{record.kb_id}",
        icon=":material/visibility_off:" if opened else ":material/visibility:",
        on_click=_open,
        args=("" if opened else record.kb_id,),
    )
    with bar.popover(t("admin.kb_more")):
        _actions(record)
    tell_incomplete(record)
    if opened:
        with errors_shown():
            _show_open(record)


def _show_open(record: KbRecord) -> None:
    """Draw the part of an open knowledge base that was chosen."""
    do_asked(record.kb_id)
    st.session_state.setdefault(f"view-{record.kb_id}", _VIEWS[0])
    view = st.segmented_control(
        t("admin.kb_look"),
        _VIEWS,
        required=True,
        key=f"view-{record.kb_id}",
        format_func=lambda name: t(f"admin.kb_view.{name}"),
        label_visibility="collapsed",
    )
    if view == "history":
        show_history(record)
    elif view == "chunks":
        _show(record, get_app().kbs.contents(record.kb_id))
    else:
        show_documents(record)


def open_list() -> str:
    """Return the id of the knowledge base whose list of documents is shown, with its jobs; "" for none."""
    opened = st.session_state.get("kb_open")
    kb_id = next((one.kb_id for one in get_app().kbs.records() if one.kb_id == opened), "")
    hidden = st.session_state.get(f"view-{kb_id}", _VIEWS[0]) != _VIEWS[0] or st.session_state.get("kb_document")
    return "" if hidden else kb_id


def _facts(record: KbRecord) -> list[str]:
    steps = (step.entry for step in get_app().kb_changes.history(record.kb_id))
    when = moment(next(step.at for step in steps if step.what != "renamed"))
    facts = [t("admin.kb_line", chars=number(record.chars), language=languages_of(record), when=when)]
    if record.chunks:
        facts.insert(0, t("admin.kb_chunks", count=number(record.chunks)))
    if len(record.files) > 1:
        facts.insert(0, t("admin.kb_files", count=number(len(record.files))))
    return facts


def _open(kb_id: str) -> None:
    st.session_state.kb_open = kb_id
    for name in ("kb_document", "kb_picked", "kb_told"):
        st.session_state.pop(name, None)


def _actions(record: KbRecord) -> None:
    name = st.text_input(t("admin.data.col.name"), record.kb_name, max_chars=120, key=f"name-{record.kb_id}")
    if st.button(
        t("admin.kb_rename"),
        key=f"rename-{record.kb_id}",
        icon=":material/edit:",
        width="stretch",
        disabled=not name.strip() or name == record.kb_name,
    ):
        with errors_shown():
            get_app().kbs.rename(record.kb_id, name)
            st.rerun()
    if st.button(
        t("admin.kb_reindex"),
        key=f"reindex-{record.kb_id}",
        icon=":material/refresh:",
        help=t("admin.kb_reindex_help"),
        width="stretch",
    ):
        with errors_shown():
            follow(get_app().uploads.reindex(record.kb_id, session_name()))
            st.rerun()
    if st.button(t("admin.kb_delete_title"), key=f"delete-{record.kb_id}", icon=":material/delete:", width="stretch"):
        _confirm_delete(record)
    _purge(record)


def _show(record: KbRecord, contents: KbContents) -> None:
    """Draw its repeated chunks, and its chunks page by page."""
    if contents.repeated:
        with st.expander(t("kb.repeated", count=number(len(contents.repeated))), icon=":material/content_copy:"):
            for repeated in contents.repeated[:_PER_PAGE]:
                st.caption(f"{t('kb.times', count=number(repeated.times))} · {plain(repeated.chunk.section)}")
                show_passage(repeated.chunk, ())
    else:
        st.caption(t("kb.no_repeats"))
    for row, chunk in paged(contents.chunks, _PER_PAGE, f"page-{record.kb_id}"):
        with st.expander(f"{number(row)} · {plain(chunk.section)}"):
            show_passage(chunk, ())
            st.caption(place_text(chunk, ()))


def _confirm_delete(record: KbRecord) -> None:
    sets = len(get_app().question_sets.sets(record.kb_id))
    sure = t("admin.kb_delete_sure", name=plain(record.kb_name), documents=number(len(record.files)), sets=number(sets))
    delete = partial(get_app().kbs.delete, record.kb_id, undoable=True)
    confirm(t("admin.kb_delete_title"), sure, "delete-yes", delete)


def _purge(record: KbRecord) -> None:
    """Draw the choice of documents and the button that asks before it purges them."""
    with errors_shown():
        changes = get_app().kb_changes
        paths = changes.purgeable(record.kb_id)
        chosen = st.multiselect(
            t("kb.purge_which"), paths, key=f"purge-paths-{record.kb_id}", help=t("kb.purge_help"), placeholder=""
        )
        if st.button(
            t("kb.purge"),
            key=f"purge-{record.kb_id}",
            icon=":material/delete_forever:",
            width="stretch",
            disabled=not chosen,
        ):
            _confirm_purge(record, chosen)


def _confirm_purge(record: KbRecord, paths: list[str]) -> None:
    def purge() -> None:
        report = get_app().kb_changes.purge(record.kb_id, paths)
        counts = {"versions": number(report.versions), "files": number(report.files), "cached": number(report.cached)}
        st.toast(t("kb.purged", **counts), icon=":material/delete_forever:")

    plan = get_app().kb_changes.purge_plan(record.kb_id, paths)
    sure = t("kb.purge_sure", paths=", ".join(plan.paths), name=plain(record.kb_name))
    if plan.equal:
        sure += " " + t("kb.purge_equal", paths=", ".join(plan.equal))
    confirm(t("kb.purge"), sure, "purge_yes", purge)
