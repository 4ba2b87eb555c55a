"""The document that an address names, at the passage that was cited: for links that are kept and shared."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import FilePlace, KbRecord, Passage, Source
from chatbot_mvp.errors import KbChangeError
from chatbot_mvp.types import Chunk
from streamlit_app.knowledge_bases.document_page import show_document
from streamlit_app.shared.i18n import moment, number, t
from streamlit_app.shared.sources import show_now
from streamlit_app.shared.state import PAGES, errors_shown, get_app

_MOST_DIGITS = 10


def show_cited() -> None:
    """Draw the document of the address: ``?kb=ID&document=PATH&version=ID&start=N&end=N``. None of it is trusted.

    ``c`` and ``m`` name the conversation and the answer that somebody comes from, and goes back to.
    """
    kb_id = st.query_params.get("kb", "")
    record = next((one for one in get_app().kbs.records() if one.kb_id == kb_id), None)
    back = {name: st.query_params[name] for name in ("c", "m") if name in st.query_params}
    st.page_link(PAGES["chat"][0], label=t("kbdoc.to_chat"), icon=":material/arrow_back:", query_params=back)
    if record is None:
        st.info(t("kbdoc.kb_gone" if kb_id else "kbdoc.none_named"), icon=":material/info:")
        return
    with errors_shown():
        _show(record, st.query_params.get("document", ""), st.query_params.get("version", ""))


def _show(record: KbRecord, path: str, version: str) -> None:
    kb_id = record.kb_id
    try:
        get_app().kb_documents.find(kb_id, path, version)
    except KbChangeError as error:
        if error.code != "kb_version_not_found":
            raise
        st.warning(t("kbdoc.version_gone"), icon=":material/history_toggle_off:")
        show_document(record, path, record.version, change=False)
        return
    facts = [t("admin.dataset_kb", name=record.kb_name)]
    entry = next((one.entry for one in get_app().kb_changes.history(kb_id) if one.entry.version_id == version), None)
    if entry is not None and version != record.version:
        facts.append(
            t("kbdoc.of_version", number=number(entry.number), when=moment(entry.at), now=number(record.number))
        )
    st.caption(" · ".join(facts))
    passage = None
    with errors_shown():
        passage = _passage(kb_id, path, version)
    if passage is not None and version:
        # As a citation of this version, so that it is said what has become of it.
        start, end = _span()
        chunk = Chunk("", kb_id, "", passage.text, start, end)
        show_now(Source(0, chunk, (), FilePlace(path, None, version_id=version)))
    show_document(record, path, version or record.version, passage=passage, change=False)


def _passage(kb_id: str, path: str, version: str) -> Passage | None:
    start, end = _span()
    return get_app().kb_documents.passage(kb_id, path, version, start, end) if end else None


def _span() -> tuple[int, int]:
    """Return (start, end) as the address has them; zeros if they are no numbers."""
    said = [st.query_params.get(name, "") for name in ("start", "end")]
    if all(one.isascii() and one.isdigit() and len(one) < _MOST_DIGITS for one in said):
        return int(said[0]), int(said[1])
    return 0, 0
