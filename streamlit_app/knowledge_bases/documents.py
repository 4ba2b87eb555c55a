"""The documents of a knowledge base: searched, chosen, opened, and moved, tagged or removed together."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from chatbot_mvp.api import Change, Describe, KbDocument, KbRecord, Move, Remove, lacks
from chatbot_mvp.text import fold
from streamlit_app.knowledge_bases.acting import apply_buttons, round_
from streamlit_app.knowledge_bases.document_page import facts_of, show_document
from streamlit_app.knowledge_bases.draft import show_draft
from streamlit_app.knowledge_bases.upload import upload_box
from streamlit_app.knowledge_bases.upload_progress import panel_of
from streamlit_app.shared.i18n import number, plain, t
from streamlit_app.shared.state import errors_shown, get_app
from streamlit_app.shared.tables import paged

_PER_PAGE = 15


def show_documents(record: KbRecord) -> None:
    """Draw the draft that waits, the box for files, and the documents; or the one that is open."""
    kb_id = record.kb_id
    version = record.version
    if draft := show_draft(record):
        st.session_state.setdefault(f"kb-of-{kb_id}", "current")
        shown = st.segmented_control(
            t("runs.view"),
            ("current", "draft"),
            required=True,
            key=f"kb-of-{kb_id}",
            format_func=lambda name: t(f"kbdoc.which.{name}"),
        )
        version = draft if shown == "draft" else version
    with errors_shown():
        documents = get_app().kb_changes.documents(kb_id, version)
        opened = st.session_state.get("kb_document", "")
        if opened in [one.path for one in documents]:
            st.button(
                t("filter.all"), key="kb_document_close", type="tertiary", icon=":material/arrow_back:", on_click=_close
            )
            show_document(record, opened, version, version == draft)
            return
        upload_box("documents", record, "current", draft if version == draft else "")
        panel_of(kb_id)
        _list(record, documents, version, version == draft)


def _list(record: KbRecord, documents: Sequence[KbDocument], version: str, staged: bool) -> None:
    kb_id = record.kb_id
    bar = st.container(horizontal=True, vertical_alignment="bottom")
    words = fold(bar.text_input(t("kbdoc.search"), key=f"search-{kb_id}", icon=":material/search:", width=300)).split()
    folders = sorted({one.folder for one in documents if one.folder})
    folder = ""
    if folders:
        options = ["", *(f"{one}/" for one in folders)]
        folder = bar.selectbox(
            t("kbdoc.folder"),
            options,
            format_func=lambda one: one or t("kbdoc.folder_all"),
            key=f"folder-{kb_id}-{len(folders)}",
            width=220,
        )
    found = [one for one in documents if one.path.startswith(folder) and _matches(one, words)]
    st.caption(t("kbdoc.count", count=number(len(found)), total=number(len(documents))))
    picked = [one for one in found if one.path in _picked()]
    _actions(kb_id, picked, found, documents, version, staged)
    above = None
    for _, document in paged(found, _PER_PAGE, f"documents-page-{kb_id}"):
        if document.folder != above and folders:
            above = document.folder
            st.caption(f":material/folder: {plain(above) if above else t('kbdoc.no_folder')}")
        _row(kb_id, document)
    if not found:
        st.caption(t("kbdoc.none"))


def _row(kb_id: str, document: KbDocument) -> None:
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.checkbox(
            t("kbdoc.pick", path=document.path),
            value=document.path in _picked(),
            key=_key(kb_id, document.path),
            on_change=_pick,
            args=(kb_id, [document.path]),
            label_visibility="collapsed",
        )
        with st.container(width="stretch", gap=None):
            name = document.path.rpartition("/")[2]
            title = f" · {plain(document.title)}" if document.title else ""
            tags = "".join(f" :gray-badge[{plain(tag)}]" for tag in document.tags)
            unread = f" :orange-badge[{t('kbdoc.lacks')}]" if lacks(document) else ""
            st.markdown(f"**{plain(name)}**{title}{tags}{unread}")
            st.caption(facts_of(document))
        st.button(
            t("runs.open"),
            key=f"open-{kb_id}-{document.path}",
            icon=":material/description:",
            type="tertiary",
            on_click=_open,
            args=(document.path,),
        )


def _actions(
    kb_id: str,
    picked: Sequence[KbDocument],
    found: Sequence[KbDocument],
    documents: Sequence[KbDocument],
    version: str,
    staged: bool,
) -> None:
    """Draw what can be done with the chosen documents."""
    paths, at = [one.path for one in picked], round_()
    with st.container(horizontal=True, vertical_alignment="center"):
        every = len(picked) == len(found) and bool(found)
        st.button(
            t("kbdoc.pick_none" if every else "kbdoc.pick_all", count=number(len(found))),
            key=f"all-{kb_id}",
            icon=":material/remove_done:" if every else ":material/done_all:",
            type="tertiary",
            on_click=_pick_all,
            args=(kb_id, [one.path for one in found], not every),
            disabled=not found,
        )
        if not picked:
            return
        st.markdown(t("kbdoc.picked", count=number(len(picked))))
        with st.popover(t("kbdoc.move"), icon=":material/drive_file_move:", key=f"move-pop-{kb_id}-{at}"):
            moves: list[Change] = []
            if len(picked) == 1:
                to = st.text_input(t("kbdoc.path"), paths[0], key=f"to-{kb_id}-{paths[0]}-{at}", max_chars=300)
                moves = [Move(paths[0], to.strip())] if to.strip() not in ("", paths[0]) else []
            else:
                to = st.text_input(t("kbdoc.to_folder"), key=f"to-{kb_id}-{at}", help=t("kbdoc.to_folder_help"))
                inside = "/".join(part for part in to.strip().split("/") if part)
                wanted = {path: f"{inside}/{path.rpartition('/')[2]}".lstrip("/") for path in paths}
                moves = [Move(path, new) for path, new in wanted.items() if new != path]
            apply_buttons(kb_id, version, staged, moves, "move")
        with st.popover(t("kbdoc.tag"), icon=":material/sell:", key=f"tag-pop-{kb_id}-{at}"):
            known = sorted({tag for one in documents for tag in one.tags})
            had = sorted({tag for one in picked for tag in one.tags})
            more = st.multiselect(
                t("kbdoc.tags_add"),
                known,
                accept_new_options=True,
                key=f"tags-{kb_id}-{at}",
                placeholder=t("runs.tags_hint"),
            )
            less = st.multiselect(t("kbdoc.tags_remove"), had, key=f"untag-{kb_id}-{at}", placeholder="") if had else []
            described: list[Change] = []
            added = [tag for one in more if (tag := " ".join(one.split())[:40])]
            for one in picked:
                tags = tuple(dict.fromkeys([tag for tag in one.tags if tag not in less] + added))
                described += [Describe(one.path, {"tags": tags})] if tags != one.tags else []
            apply_buttons(kb_id, version, staged, described, "tag")
        with st.popover(t("kbdoc.remove"), icon=":material/delete:", key=f"remove-pop-{kb_id}-{at}"):
            st.markdown(t("kbdoc.remove_sure", count=number(len(paths))))
            shown = [f"- {plain(path)}" for path in paths[:8]]
            st.markdown("\n".join([*shown, "- …"] if len(paths) > 8 else shown))
            st.caption(t("kbdoc.remove_help"))
            apply_buttons(kb_id, version, staged, [Remove(path) for path in paths], "remove")


def _matches(document: KbDocument, words: Sequence[str]) -> bool:
    text = fold(" ".join([document.path, document.title, document.author, *document.tags]))
    return all(word in text for word in words)


def _picked() -> set[str]:
    picked: set[str] = st.session_state.setdefault("kb_picked", set())
    return picked


def _key(kb_id: str, path: str) -> str:
    return f"pick-{kb_id}-{round_()}-{path}"


def _pick(kb_id: str, paths: Sequence[str]) -> None:
    for path in paths:
        (_picked().add if st.session_state.get(_key(kb_id, path)) else _picked().discard)(path)


def _pick_all(kb_id: str, paths: Sequence[str], chosen: bool) -> None:
    for path in paths:
        (_picked().add if chosen else _picked().discard)(path)
        st.session_state[_key(kb_id, path)] = chosen


def _open(path: str) -> None:
    st.session_state.kb_document = path


def _close() -> None:
    st.session_state.pop("kb_document", None)
