"""Shows the passages an answer rests on, the cited sentences marked by their offsets."""

from __future__ import annotations

import html
from collections.abc import Sequence

import streamlit as st

from chatbot_mvp.api import Source
from chatbot_mvp.types import Chunk
from streamlit_app.shared.i18n import number, plain, t
from streamlit_app.shared.state import get_app

_STYLE = """<style>
.passage {white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.55; max-height: 28rem; overflow-y: auto;
  scroll-margin-top: 8rem;}
.passage mark {background: #fde68a; color: #1c1f1e; border-radius: 3px; padding: 0 2px;}
details.source {border: 1px solid color-mix(in srgb, currentColor 22%, transparent); border-radius: 0.6rem;
  margin-bottom: 0.5rem; overflow-wrap: anywhere;}
details.source > summary {cursor: pointer; padding: 0.5rem 0.8rem; border-radius: 0.6rem;}
details.source > summary:hover {background: color-mix(in srgb, currentColor 7%, transparent);}
details.source > summary:focus-visible {outline: 2px solid currentColor; outline-offset: 1px;}
details.source > .passage {padding: 0.4rem 0.9rem;}
details.source > .passage:target {box-shadow: inset 4px 0 0 #0f766e;}
details.source > .place {font-size: 0.875rem; opacity: 0.8; padding: 0.2rem 0.9rem 0.7rem; margin: 0;}
</style>"""


def show_sources(sources: tuple[Source, ...], anchor: str = "") -> None:
    """One disclosure per source, closed, named by its number and section.

    The browser's own, not Streamlit's expander: a link to what is inside of it opens it.

    Args:
        anchor: begins the names that ``source_link`` leads to; "" for none.
    """
    st.html(_STYLE + "".join(_source_html(source, anchor) for source in sources))


def source_link(number: int, anchor: str) -> str:
    """A citation in Markdown; a click opens its source and goes there."""
    return f'[\\[{number}\\]](#{anchor}-{number} "{t("chat.open_source", number=number)}")'


def show_passage(chunk: Chunk, highlights: tuple[tuple[int, int], ...]) -> None:
    """A passage with its marks; of blank space and letters, whatever Markdown or HTML it holds."""
    st.html(_STYLE + passage_html(chunk, highlights))


def place_text(chunk: Chunk, highlights: tuple[tuple[int, int], ...]) -> str:
    """The file and page that a passage, or what is marked in it, is from, and its characters, in Markdown."""
    file, said = _place(chunk, highlights)
    return f":material/draft: {plain(file)} · {said}" if file else said


def passage_html(chunk: Chunk, highlights: Sequence[tuple[int, int]], name: str = "") -> str:
    """The passage as HTML; ``highlights`` are offsets in the document.

    Args:
        name: what a link may lead to.
    """
    text, start, position = chunk.text, chunk.start, 0
    # It scrolls where it is long: the keyboard must get there, and a reader be told where it is.
    about = f'role="group" aria-label="{html.escape(chunk.section)}" tabindex="0"'
    parts = [f'<div class="passage" {about}' + (f' id="{html.escape(name)}">' if name else ">")]
    for begin, end in highlights:
        parts.append(html.escape(text[position : begin - start]))
        parts.append(f"<mark>{html.escape(text[begin - start : end - start])}</mark>")
        position = end - start
    parts.append(html.escape(text[position:]) + "</div>")
    return "".join(parts)


def _source_html(source: Source, anchor: str) -> str:
    chunk = source.chunk
    name = f"{anchor}-{source.number}" if anchor else ""
    place = " · ".join(part for part in _place(chunk, source.highlights) if part)
    return (
        f'<details class="source"><summary>[{source.number}] {html.escape(chunk.section)}</summary>'
        f"{passage_html(chunk, source.highlights, name)}"
        f'<p class="place">{html.escape(place)}</p></details>'
    )


def _place(chunk: Chunk, highlights: tuple[tuple[int, int], ...]) -> tuple[str, str]:
    """(file and page, "" where the KB is gone; its characters)."""
    said = t("chat.source_place", start=number(chunk.start), end=number(chunk.end))
    place = get_app().kbs.place(chunk.doc_id, highlights[0][0] if highlights else chunk.start)
    if place is None:
        return "", said
    page = f", {t('chat.source_page', page=number(place.page))}" if place.page else ""
    return f"{place.file}{page}", said
