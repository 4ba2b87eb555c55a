"""One document: its original, its text, its chunks, what is known of it, and what this visitor asked of it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import partial

import streamlit as st

from chatbot_mvp.api import Change, Describe, KbDocument, KbRecord, Move, Passage, lost_of
from streamlit_app.knowledge_bases.acting import apply_buttons
from streamlit_app.knowledge_bases.upload_progress import pages_of
from streamlit_app.shared.i18n import Markdown, ago, date_format, moment, number, plain, t
from streamlit_app.shared.originals import has_pictures, page_of, show_page, show_text, text_starts
from streamlit_app.shared.session import conversations
from streamlit_app.shared.sources import place_text, show_passage
from streamlit_app.shared.state import get_app
from streamlit_app.shared.tables import paged

_VIEWS = ("text", "original", "chunks", "about", "asked")
_PER_PAGE = 10


def facts_of(document: KbDocument) -> Markdown:
    """Return size, pages and age of a document in one line."""
    facts: list[str] = (
        [_size(document.bytes)] if document.bytes else [t("upload.chars", chars=number(document.original_chars))]
    )
    if document.page_starts:
        facts.append(pages_of(len(document.page_starts)))
    facts.append(t("kbdoc.updated", when=ago(document.updated_at)))
    return Markdown(" · ".join(facts))


def losses_of(document: KbDocument) -> str:
    """Return what of a document's file is not in its text, in one line; "" if it is all there."""
    found = lost_of(document).items()
    what = ", ".join(t(f"kbdoc.lost.{kind}", count=number(count)) for kind, count in found)
    return t("kbdoc.lost", what=Markdown(what)) if what else ""


def show_document(
    record: KbRecord, path: str, version: str, staged: bool = False, passage: Passage | None = None, change: bool = True
) -> None:
    """Draw one document.

    Args:
        version: id of the version that has it.
        staged: whether that version is the draft.
        passage: what is marked, and shown first.
        change: whether what is known of it can be changed here.
    """
    document = get_app().kb_documents.find(record.kb_id, path, version)
    st.markdown(f"## {plain(document.title or path.rpartition('/')[2])}")
    known = [plain(document.path), facts_of(document), plain(document.author)]
    st.caption(" · ".join(one for one in known if one))
    if losses := losses_of(document):
        st.caption(losses)
    view = st.segmented_control(
        t("kbdoc.view"),
        [name for name in _VIEWS if change or name != "about"],
        default="original" if passage and has_pictures(document) else "text",
        required=True,
        key=f"kb-document-view-{record.kb_id}" + (f"-{passage.start}-{passage.end}" if passage else ""),
        format_func=lambda name: t(f"kbdoc.view.{name}"),
        label_visibility="collapsed",
    )
    if view == "original":
        _original(record.kb_id, document, version, passage)
    elif view == "chunks":
        _chunks(record.kb_id, document, version)
    elif view == "about":
        _about(record.kb_id, document, version, staged)
    elif view == "asked":
        _asked(record, document)
    else:
        _text(record.kb_id, document, version, passage)


def _original(kb_id: str, document: KbDocument, version: str, passage: Passage | None) -> None:
    if not document.original:
        st.info(t("kbdoc.no_original"), icon=":material/info:")
        return
    st.download_button(
        t("kbdoc.download", size=_size(document.bytes)),
        data=partial(get_app().kb_documents.original, kb_id, document.path, version),
        file_name=document.path.rpartition("/")[2],
        mime="application/octet-stream",
        icon=":material/download:",
        on_click="ignore",
    )
    if has_pictures(document):
        page = _asked_page(kb_id, document, document.page_starts, passage)
        show_page(kb_id, document, version, page, [passage] if passage else [])


def _text(kb_id: str, document: KbDocument, version: str, passage: Passage | None) -> None:
    text = get_app().kb_documents.text(kb_id, document.path, version)
    starts = text_starts(document, text)
    page = _asked_page(kb_id, document, starts, passage)
    show_text(text, starts[page - 1], (*starts, len(text))[page], [passage] if passage else [], document.path)


def _asked_page(kb_id: str, document: KbDocument, starts: Sequence[int], passage: Passage | None) -> int:
    """Draw the numbers of the pages, and return the chosen one, at first that of the passage."""
    if len(starts) < 2:
        return 1
    key = f"text-page-{kb_id}-{document.sha256[:8]}" + (f"-{passage.start}" if passage else "")
    return st.pagination(len(starts), default=page_of(starts, passage.start) if passage else 1, key=key)


def _chunks(kb_id: str, document: KbDocument, version: str) -> None:
    chunks = get_app().kb_documents.chunks(kb_id, document.path, version)
    if not chunks:
        st.warning(t("kbdoc.no_room"), icon=":material/content_cut:")
        return
    st.caption(t("admin.kb_chunks", count=number(len(chunks))))
    for row, chunk in paged(chunks, _PER_PAGE, f"chunk-page-{kb_id}-{document.sha256[:8]}"):
        with st.expander(f"{number(row)} · {plain(chunk.section)}"):
            show_passage(chunk, ())


def _about(kb_id: str, document: KbDocument, version: str, staged: bool) -> None:
    """Draw what is known of it, as fields that can be changed."""
    key = f"{kb_id}-{document.path}-{version}"
    left, right = st.columns(2)
    path = left.text_input(t("kbdoc.path"), document.path, key=f"about-path-{key}", max_chars=300)
    title = right.text_input(t("talk.title"), document.title, key=f"about-title-{key}", max_chars=200)
    author = left.text_input(t("kbdoc.author"), document.author, key=f"about-author-{key}", max_chars=200)
    source = right.text_input(t("kbdoc.source"), document.source, key=f"about-source-{key}", max_chars=500)
    day = left.date_input(
        t("kbdoc.created"),
        _day(document.created),
        min_value=date(1000, 1, 1),
        key=f"about-created-{key}",
        format=date_format(),
    )
    known = sorted({tag for one in get_app().kb_changes.documents(kb_id, version) for tag in one.tags})
    tags = right.multiselect(
        t("runs.tags"),
        known,
        list(document.tags),
        accept_new_options=True,
        key=f"about-tags-{key}",
        placeholder=t("runs.tags_hint"),
    )
    about = {
        "title": title.strip(),
        "author": author.strip(),
        "source": source.strip(),
        "created": day.isoformat() if isinstance(day, date) else "",
        "tags": tuple(tags),
    }
    described = {name: value for name, value in about.items() if value != getattr(document, name)}
    changes: list[Change] = [Describe(document.path, described)] if described else []
    if path.strip() not in ("", document.path):
        changes.append(Move(document.path, path.strip()))
    apply_buttons(kb_id, version, staged, changes, "about")
    st.caption(
        t(
            "kbdoc.content",
            sha=document.sha256[:12],
            when=moment(document.updated_at),
            chars=number(document.original_chars),
            encoding=document.encoding or "–",
        )
    )


def _asked(record: KbRecord, document: KbDocument) -> None:
    """Draw the questions of this visitor whose answers cite the document."""
    found = 0
    for conversation in conversations(record):
        for turn in conversation.turns:
            sources = turn.answer.sources if turn.answer else ()
            own = [one for one in sources if one.chunk.doc_id == record.kb_id]
            cited = [one for one in own if one.place is not None and one.place.file == document.path]
            if not cited:
                continue
            found += 1
            with st.expander(f"{plain(turn.question)} · {ago(turn.asked_at)}"):
                for source in cited:
                    st.caption(place_text(source.chunk, source.highlights))
                    show_passage(source.chunk, source.highlights)
    st.caption(t("kbdoc.asked", count=number(found)) if found else t("kbdoc.asked_none"))


def _day(iso: str) -> date | None:
    try:
        return date.fromisoformat(iso[:10])
    except ValueError:
        return None


def _size(count: int) -> Markdown:
    if count < 1_000_000:
        return Markdown(f"{number(max(count / 1_000, 0.1), 1 if count < 10_000 else 0)} kB")
    return Markdown(f"{number(count / 1_000_000, 1)} MB")
