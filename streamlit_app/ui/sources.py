"""Shows the passages an answer rests on, the cited sentences marked by their offsets."""

from __future__ import annotations

import html

import streamlit as st

from chatbot_mvp.app import Source
from streamlit_app.ui.i18n import t

_STYLE = """<style>
.passage {white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.55; max-height: 28rem; overflow-y: auto;}
.passage mark {background: #fde68a; color: #1c1f1e; border-radius: 3px; padding: 0 2px;}
</style>"""


def show_sources(sources: tuple[Source, ...]) -> None:
    """One expander per source, closed, named by its number and section."""
    for source in sources:
        with st.expander(f"[{source.number}] {source.chunk.section}", icon=":material/description:"):
            st.html(_STYLE + passage_html(source.chunk.text, source.chunk.start, source.highlights))
            st.caption(t("chat.source_place", start=source.chunk.start, end=source.chunk.end))


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


def plain(text: str) -> str:
    """Text of a data set as text: nothing in it is Markdown."""
    for char in "\\`*_[]#$:<>~|":
        text = text.replace(char, f"\\{char}")
    return text
