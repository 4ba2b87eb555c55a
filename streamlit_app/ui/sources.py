"""Shows the passages an answer rests on, the cited sentences marked by their offsets."""

from __future__ import annotations

import html

import streamlit as st

from chatbot_mvp.app import Source
from chatbot_mvp.types import Chunk
from streamlit_app.ui.i18n import number, plain, t
from streamlit_app.ui.state import get_app

_STYLE = """<style>
.passage {white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.55; max-height: 28rem; overflow-y: auto;}
.passage mark {background: #fde68a; color: #1c1f1e; border-radius: 3px; padding: 0 2px;}
</style>"""


def show_sources(sources: tuple[Source, ...]) -> None:
    """One expander per source, closed, named by its number and section."""
    for source in sources:
        with st.expander(f"[{source.number}] {source.chunk.section}", icon=":material/description:"):
            show_passage(source.chunk, source.highlights)
            st.caption(place_text(source.chunk, source.highlights))


def show_passage(chunk: Chunk, highlights: tuple[tuple[int, int], ...]) -> None:
    """A passage with its marks; of blank space and letters, whatever Markdown or HTML it holds."""
    st.html(_STYLE + passage_html(chunk.text, chunk.start, highlights))


def place_text(chunk: Chunk, highlights: tuple[tuple[int, int], ...]) -> str:
    """The file and page that a passage, or what is marked in it, is from, and its characters."""
    said = t("chat.source_place", start=number(chunk.start), end=number(chunk.end))
    place = get_app().library.place(chunk.doc_id, highlights[0][0] if highlights else chunk.start)
    if place is None:
        return said
    page = f", {t('chat.source_page', page=number(place.page))}" if place.page else ""
    return f":material/draft: {plain(place.file)}{page} · {said}"


def passage_html(text: str, start: int, highlights: tuple[tuple[int, int], ...]) -> str:
    """The passage as HTML. ``start`` is its offset in the document, to which ``highlights`` refer as well."""
    parts = ['<div class="passage">']
    position = 0
    for begin, end in highlights:
        parts.append(html.escape(text[position : begin - start]))
        parts.append(f"<mark>{html.escape(text[begin - start : end - start])}</mark>")
        position = end - start
    parts.append(html.escape(text[position:]) + "</div>")
    return "".join(parts)
