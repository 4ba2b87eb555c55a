"""Shows the passages that an answer is based on, with the cited sentences highlighted."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import urlencode

import streamlit as st

from chatbot_mvp.api import Source, Whereabouts, age_of, purged_on
from chatbot_mvp.types import Chunk
from streamlit_app.shared.i18n import bare, day, number, plain, t
from streamlit_app.shared.originals import address_of
from streamlit_app.shared.readable import marked_html
from streamlit_app.shared.state import get_app

_STYLE = """<style>
.passage {white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.55; max-height: 28rem; overflow-y: auto;
  scroll-margin-top: 8rem;}
details.source {border: 1px solid color-mix(in srgb, currentColor 22%, transparent); border-radius: 0.6rem;
  margin-bottom: 0.5rem; overflow-wrap: anywhere;}
details.source > summary {cursor: pointer; padding: 0.5rem 0.8rem; border-radius: 0.6rem;}
details.source > summary:hover {background: color-mix(in srgb, currentColor 7%, transparent);}
details.source > summary:focus-visible {outline: 2px solid currentColor; outline-offset: 1px;}
details.source > .passage {padding: 0.4rem 0.9rem;}
details.source > .passage:target {box-shadow: inset 4px 0 0 #0f766e;}
.near {border-left: 3px dashed color-mix(in srgb, currentColor 40%, transparent); padding: 0.1rem 0 0.1rem 0.9rem;
  margin-bottom: 0.8rem; overflow-wrap: anywhere;}
.near > .heading {font-weight: 600; margin: 0;}
.near > .place {font-size: 0.875rem; opacity: 0.8; margin: 0.2rem 0 0;}
details.source > .place {font-size: 0.875rem; opacity: 0.8; padding: 0.2rem 0.9rem 0.7rem; margin: 0;}
details.source > .now {margin: 0 0.9rem 0.7rem; font-size: 0.9rem;}
details.source > p.now {border-left: 3px solid #b45309; padding-left: 0.6rem;}
</style>"""


def show_sources(sources: tuple[Source, ...], anchor: str = "") -> None:
    """Draw one closed disclosure per source, titled with its number and section.

    Uses the browser's ``<details>`` instead of Streamlit's expander, because a link to its content opens it.

    Args:
        anchor: prefix of the HTML ids that ``source_link`` points to; "" for no ids.
    """
    st.html(_STYLE + "".join(_source_html(source, anchor) for source in sources))


def name_of(source: Source) -> str:
    """Return number, knowledge base if there are several, and section of a source, as plain text; of purged text, the
    number."""
    kb_name = f"{source.place.kb_name} · " if source.place and source.place.kb_name else ""
    return f"[{source.number}]" + ("" if purged_on(source.chunk.text) else f" {kb_name}{source.chunk.section}")


def show_passages(passages: Sequence[Source], opened: bool = True) -> None:
    """Draw passages that no answer is based on, without numbers, since nothing cites them.

    Args:
        opened: False for disclosures that are closed, each titled with its section.
    """
    st.html(_STYLE + "".join(_near_html(source, opened) for source in passages))


def source_link(number: int, anchor: str) -> str:
    """Return a citation as a Markdown link that opens its source and scrolls to it."""
    return f'[\\[{number}\\]](#{anchor}-{number} "{t("chat.open_source", number=number)}")'


def show_passage(chunk: Chunk, highlights: tuple[tuple[int, int], ...]) -> None:
    """Draw a passage as plain text with its highlights; Markdown and HTML in it are not interpreted."""
    st.html(_STYLE + passage_html(chunk, highlights))


def place_text(chunk: Chunk, highlights: tuple[tuple[int, int], ...]) -> str:
    """Return, in Markdown, the file, page and section of a passage or of its first highlight."""
    return place_of_source(Source(0, chunk, highlights))


def place_of_source(source: Source) -> str:
    """Return, in Markdown, document, page, version, age and section of a source."""
    file, section = _place(source), t("chat.source_place", section=source.chunk.section)
    return f":material/draft: {plain(file)} · {section}" if file else section


def passage_html(chunk: Chunk, highlights: Sequence[tuple[int, int]], name: str = "") -> str:
    """Return a passage as HTML, without the marks of Markdown.

    Args:
        highlights: (start, end) offsets in the document, in characters, in order and without overlaps.
        name: HTML id, so that a link can point to it; "" for none.
    """
    marks = [(begin - chunk.start, end - chunk.start) for begin, end in highlights]
    # A long passage scrolls, so it needs keyboard focus, and a label for screen readers.
    about = f'role="group" aria-label="{html.escape(chunk.section)}" tabindex="0"'
    own = f' id="{html.escape(name)}"' if name else ""
    return f'<div class="passage" {about}{own}>{marked_html(chunk.text, marks)}</div>'


def _source_html(source: Source, anchor: str) -> str:
    chunk = source.chunk
    name = f"{anchor}-{source.number}" if anchor else ""
    place = _place(source)
    return (
        f'<details class="source"><summary>{html.escape(name_of(source))}</summary>'
        f"{passage_html(chunk, source.highlights, name)}"
        f'<p class="place">{html.escape(place)}{_link_html(source)}</p>{_now_html(source)}</details>'
    )


def _link_html(source: Source) -> str:
    """Return a link to the passage in its document, as it was cited; "" if its version is not known."""
    address = address_of(source)
    if not address:
        return ""
    language = {"lang": st.query_params["lang"]} if "lang" in st.query_params else {}
    where = html.escape(f"Documento?{urlencode({**address, **language})}", quote=True)
    return f' · <a href="{where}" target="_blank">{html.escape(bare("kbdoc.open_at"))}</a>'


def has_changed(source: Source) -> bool:
    """Return whether the cited text says something else by now, or is gone."""
    now = get_app().answering.citation_now(source)
    return now is not None and now.state not in ("same", "moved")


def show_now(source: Source) -> None:
    """Draw what has become of a cited text since; nothing if it stands where it stood."""
    if said := _now_html(source):
        st.html(_STYLE + said)


def _now_html(source: Source) -> str:
    """Return what has become of a cited text since: nothing if it stands where it stood."""
    now = get_app().answering.citation_now(source)
    if now is None or now.state == "same":
        return ""
    said = html.escape(_said_now(now))
    if now.state != "changed":
        return f'<p class="now">{said}</p>'
    chunk = replace(source.chunk, text=now.text, start=now.start, end=now.end)
    return (
        f'<details class="source now"><summary>{said}</summary>{passage_html(chunk, ())}'
        f'<p class="place">{html.escape(_place(Source(0, chunk, (), now.place)))}</p></details>'
    )


def _said_now(now: Whereabouts) -> str:
    file = now.place.file if now.place else ""
    return bare(f"chat.cited.{now.state}", file=file, day=day(now.purged_on))


def _near_html(source: Source, opened: bool) -> str:
    section = html.escape(source.chunk.section)
    text = f'{passage_html(source.chunk, source.highlights)}<p class="place">{html.escape(_place(source))}</p>'
    if opened:
        return f'<div class="near"><p class="heading">{section}</p>{text}</div>'
    return f'<details class="source"><summary>{section or html.escape(_place(source))}</summary>{text}</details>'


def _place(source: Source) -> str:
    """Return the title, page, version and age of the document; "" if they are not known."""
    # Passages that are shown before their answer carry no place.
    place = source.place or get_app().kbs.place(source.chunk.doc_id, source.offset)
    if place is None:
        return ""
    parts = [place.title]
    if place.page:
        parts.append(t("check.page", page=number(place.page)))
    if place.version:
        parts.append(t("chat.source_version", number=number(place.version)))
    unit, count = age_of(place.updated_at)
    if unit:
        when = t(f"ago.{unit.rstrip('s')}", count=number(count))
        parts.append(t("kbdoc.updated", when=when))
    return ", ".join(parts)
