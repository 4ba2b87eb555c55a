"""Shows documents as they are: pages of a PDF as pictures, texts as they were read, with passages marked on them."""

from __future__ import annotations

import base64
import html
from collections.abc import Iterable, Mapping, Sequence

import streamlit as st

from chatbot_mvp.api import KbDocument, Passage, Source
from chatbot_mvp.errors import ChatbotError
from streamlit_app.shared.i18n import bare, t
from streamlit_app.shared.readable import marked_html
from streamlit_app.shared.state import error_text, get_app
from streamlit_app.web.scripts import SOURCES, run_script

_STYLE = """<style>
.kbtext {white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.6; max-width: 46rem;
  max-height: 34rem; overflow-y: auto; padding: .6rem .9rem; border-radius: .6rem;
  border: 1px solid color-mix(in srgb, currentColor 18%, transparent);}
.kbpage {position: relative; max-width: 56rem; line-height: 0; border-radius: .4rem; overflow: hidden;
  border: 1px solid color-mix(in srgb, currentColor 25%, transparent); background: #fff;}
.kbpage img {width: 100%; height: auto;}
.kbpage span {position: absolute; background: #fde047; mix-blend-mode: multiply; border-radius: 2px;}
</style>"""
_PAGE_CHARS = 12_000


def has_pictures(document: KbDocument) -> bool:
    """Return whether the pages of a document can be drawn."""
    return bool(document.page_starts and document.original) and document.path.lower().endswith(".pdf")


def text_starts(document: KbDocument, text: str) -> list[int]:
    """Return where each page of a text begins; for formats without pages, where each piece that is shown begins."""
    return list(document.page_starts) or list(range(0, max(1, len(text)), _PAGE_CHARS))


def page_of(starts: Sequence[int], offset: int) -> int:
    """Return the number, from 1, of the page or piece that has a character."""
    return max(1, sum(start <= offset for start in starts))


def show_page(kb_id: str, document: KbDocument, version: str, page: int, passages: Sequence[Passage] = ()) -> None:
    """Draw a page of a PDF with the passages that stand on it marked; why it cannot be drawn, if so."""
    try:
        with st.spinner(t("kbdoc.drawing"), show_time=False):
            picture = get_app().kb_documents.picture(kb_id, document.path, page, version, passages)
    except ChatbotError as error:
        st.warning(error_text(error), icon=":material/image_not_supported:")
        return
    sought = any(page in one.pages for one in passages)
    if sought and not picture.marks:
        st.info(t("kbdoc.not_marked"), icon=":material/info:")
    said = bare("kbdoc.page_alt", page=page, pages=len(document.page_starts), path=document.path)
    if picture.marks:
        said += f" {bare('kbdoc.page_alt_marked')}"
    marks = "".join(
        f'<span{"" if row else " data-first-mark=1"} style="left:{100 * one.left:.2f}%;top:{100 * one.top:.2f}%;'
        f'width:{100 * (one.right - one.left):.2f}%;height:{100 * (one.bottom - one.top):.2f}%"></span>'
        for row, one in enumerate(picture.marks)
    )
    source = f"data:image/png;base64,{base64.b64encode(picture.png).decode()}"
    width, height = picture.size  # the page has its height before the picture is there
    image = f'<img src="{source}" width="{width}" height="{height}" alt="{html.escape(said, quote=True)}">'
    st.html(f'{_STYLE}<div class="kbpage">{image}{marks}</div>')
    run_script(SOURCES)


def show_text(text: str, begin: int, end: int, passages: Iterable[Passage], path: str) -> None:
    """Draw the characters of a text from ``begin`` to ``end``, without the marks of Markdown, with passages marked."""
    shown = text[begin:end].lstrip("\n")
    begin = end - len(shown)
    marks = [(one.start - begin, one.end - begin) for one in passages]
    inside = marked_html(shown.rstrip("\n"), marks, " data-first-mark=1")
    label = html.escape(bare("kbdoc.text_label", path=path), quote=True)
    st.html(f'{_STYLE}<div class="kbtext" role="group" tabindex="0" aria-label="{label}">{inside}</div>')
    run_script(SOURCES)


def address_of(source: Source) -> Mapping[str, str]:
    """Return what the address of the page Documento says of a citation; nothing if its version is not known."""
    place = source.place
    if place is None or not place.version_id:
        return {}
    spans = source.highlights or ((source.chunk.start, source.chunk.end),)
    return {
        "kb": source.chunk.doc_id,
        "document": place.file,
        "version": place.version_id,
        "start": str(spans[0][0]),
        "end": str(spans[-1][1]),
    }
