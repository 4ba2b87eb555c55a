"""The source beside the answer: the page of its document, or its text, with the cited passage marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from chatbot_mvp.api import AnswerRecord, Conversation, Passage, Source, Turn, purged_on
from chatbot_mvp.errors import ChatbotError
from streamlit_app.chat.outcomes import source_count
from streamlit_app.shared.i18n import Markdown, number, plain, t
from streamlit_app.shared.originals import address_of, has_pictures, page_of, show_page, show_text, text_starts
from streamlit_app.shared.sources import has_changed, name_of, place_of_source, show_now, show_passage
from streamlit_app.shared.state import PAGES, error_text, get_app
from streamlit_app.web.scripts import SOURCES, run_script

_OPEN = "chat_source"
"""Key of the session's state: (anchor of the answer, number of the source)."""
_ANCHOR = "source-"
_AROUND = 1_500
"""Characters of a text that are shown before and after a passage."""
_STYLE = """<style>
.st-key-chat-panes {flex-wrap: nowrap; align-items: stretch;}
.st-key-chat-panes > :first-child {flex: 1 1 0 !important; min-width: 0;}
.st-key-chat-panes > :last-child:not(:first-child) {flex: 0 0 46% !important; min-width: 0; align-self: flex-start;
  position: sticky; top: 4.5rem;}
.st-key-chat-panes:not(:has(.st-key-source-pane)) > :last-child:not(:first-child) {display: none;}
.st-key-source-pane {max-height: calc(100vh - 10.5rem); overflow-y: auto; padding: .8rem;
  border: 1px solid color-mix(in srgb, currentColor 22%, transparent); border-radius: .6rem;}
@media (max-width: 1099px) {
  .st-key-chat-panes > :last-child:not(:first-child) {flex: 0 0 0 !important; position: static;}
  .st-key-source-pane {position: fixed; inset: 3.75rem 0 0 0; z-index: 999980; max-height: none; border-radius: 0;
    background: light-dark(#fbfbf8, #111514);}
  /* What is fixed begins where the side bar ends, not under it. */
  [data-testid="stAppViewContainer"] > :has(> [data-testid="stMain"] .st-key-source-pane) {contain: layout;}
}
:is(.st-key-source-before, .st-key-source-after) [data-testid="stMarkdownContainer"] {position: absolute; width: 1px;
  height: 1px; overflow: hidden; clip-path: inset(50%);}
[data-testid="stLayoutWrapper"]:has(> [class*="st-key-cites-"]) {display: none;}
</style>"""


def panes() -> tuple[DeltaGenerator, DeltaGenerator]:
    """Return where the conversation is drawn, and where ``show_pane`` draws beside it; over it on narrow screens."""
    st.html(_STYLE)
    run_script(SOURCES)
    both = st.container(horizontal=True, key="chat-panes", gap="medium")
    return both.container(key="chat-talk"), both.container(key="chat-beside")


def anchor_of(turn: Turn) -> str:
    """Return the prefix of the names that the citations of a turn link to."""
    return f"{_ANCHOR}{turn.turn_id}"


def source_buttons(turn: Turn, answer: AnswerRecord) -> None:
    """Draw the button that opens the first source beside the answer, or closes it, and what is notable of the sources.

    The page has a hidden button for each source as well: a click on its citation clicks it.
    """
    anchor, (said, notes) = anchor_of(turn), source_count(answer)
    opened = st.session_state.get(_OPEN, ("", 0))[0] == anchor
    st.button(
        Markdown(said),
        key=f"sources-{turn.turn_id}",
        type="tertiary",
        on_click=_open,
        args=("", 0) if opened else (anchor, answer.sources[0].number),
    )
    if notes:
        st.caption(Markdown(notes), width="content")
    if changed := [f"[{source.number}]" for source in answer.sources if has_changed(source)]:
        said = t("chat.cited.since", sources=", ".join(changed))
        st.caption(f":orange[:material/history:] {said}", width="content")
    with st.container(key=f"cites-{turn.turn_id}"):
        for source in answer.sources:
            st.button(
                plain(name_of(source)),
                key=f"open-{anchor}-{source.number}",
                on_click=_open,
                args=(anchor, source.number),
            )


def show_pane(conversation: Conversation | None) -> None:
    """Draw the source that was opened, if the conversation has it."""
    anchor, cited = st.session_state.get(_OPEN, ("", 0))
    turns = conversation.turns if conversation else ()
    answer = next((turn.answer for turn in turns if anchor_of(turn) == anchor), None)
    sources = answer.sources if answer else ()
    row = next((row for row, source in enumerate(sources) if source.number == cited), None)
    if conversation is None or row is None:
        close_pane()
        return
    with st.container(key="source-pane"):
        _head(sources, row, anchor)
        if not purged_on(sources[row].chunk.text):
            _show(sources[row], {"c": conversation.conversation_id, "m": anchor.removeprefix(_ANCHOR)})


def close_pane() -> None:
    """Close the source that is open, if one is."""
    st.session_state.pop(_OPEN, None)


def _head(sources: Sequence[Source], row: int, anchor: str) -> None:
    source = sources[row]
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{plain(name_of(source))}**", width="stretch")
        if len(sources) > 1:
            st.caption(t("mykb.of", count=number(row + 1), total=number(len(sources))), width="content")
            for name, to, icon in (("before", row - 1, "chevron_left"), ("after", row + 1, "chevron_right")):
                legal = 0 <= to < len(sources)
                st.button(
                    t(f"pane.{name}"),
                    key=f"source-{name}",
                    icon=f":material/{icon}:",
                    help=t(f"pane.{name}_help"),
                    on_click=_open,
                    args=(anchor, sources[to].number) if legal else (),
                    disabled=not legal,
                )
        st.button(t("pane.close"), key="source-close", icon=":material/close:", on_click=_open, args=("", 0))
    if not purged_on(source.chunk.text):  # else the note says all there is to say
        st.caption(place_of_source(source))
    show_now(source)


def _show(source: Source, back: Mapping[str, str]) -> None:
    """Draw a source in its document; ``back`` is what the address of its page says of the answer one comes from."""
    address = address_of(source)
    if not address:
        show_passage(source.chunk, source.highlights)
        return
    kb_id, path, version = address["kb"], address["document"], address["version"]
    documents = get_app().kb_documents
    try:
        document = documents.find(kb_id, path, version)
        spans = source.highlights or ((source.chunk.start, source.chunk.end),)
        passages = [documents.passage(kb_id, path, version, *span) for span in spans]
        text = documents.text(kb_id, path, version)
    except ChatbotError as error:  # its version is no longer kept; the answer has the passage
        st.info(error_text(error), icon=":material/info:")
        show_passage(source.chunk, source.highlights)
        return
    st.page_link(
        PAGES["document"][0], label=t("kbdoc.open_at"), icon=":material/open_in_full:", query_params={**address, **back}
    )
    if has_pictures(document):
        starts = text_starts(document, text)
        show_page(kb_id, document, version, page_of(starts, passages[0].start), passages)
    else:
        show_text(text, *_around(text, passages), passages, path)


def _around(text: str, passages: Sequence[Passage]) -> tuple[int, int]:
    """Return the span of what is shown of a text: the passages and whole lines around them."""
    first, last = passages[0].start, passages[-1].end
    begin = text.rfind("\n", 0, max(0, first - _AROUND)) + 1 if first > _AROUND else 0
    end = text.find("\n", min(len(text), last + _AROUND))
    return begin, end if end > 0 else len(text)


def _open(anchor: str, cited: int) -> None:
    st.session_state[_OPEN] = (anchor, cited)
