"""What leaves a conversation: a message as text, addresses of its sources, a file of the whole, and added ways."""

from __future__ import annotations

import html
import json
from functools import partial
from urllib.parse import urlencode

import streamlit as st

from chatbot_mvp.api import Conversation, Source, Turn, turn_markdown
from streamlit_app.shared.i18n import current_language, t
from streamlit_app.shared.originals import address_of
from streamlit_app.shared.sections import draw_added
from streamlit_app.shared.sources import name_of
from streamlit_app.shared.state import get_app


def share_popover(conversation: Conversation, turn: Turn) -> None:
    """Draw the button with all ways to share a message."""
    with st.popover(t("message.share"), icon=":material/share:", type="tertiary"):
        st.markdown(t("message.for_others"))
        st.html(copy_button(turn, "shared", t("message.copy_markdown"), question=True, said=True))
        links = [_source_link(source) for source in (turn.answer.sources if turn.answer else ()) if address_of(source)]
        if links:
            st.markdown(t("message.source_links"))
            st.html("".join(links))
        draw_added("chat-share", conversation, turn)
        st.markdown(t("message.address"))
        address = page_address("Chat", kb=conversation.kb_id, c=conversation.conversation_id, m=turn.turn_id)
        st.code(address, language=None, wrap_lines=True)
        st.markdown(t("message.whole"))
        place = (conversation.session, conversation.conversation_id)
        st.download_button(
            t("talk.export.markdown"),
            # Built on click, not each time the page is drawn.
            data=partial(get_app().chat.export, *place, "markdown", current_language()),
            file_name=f"{conversation.kb_id}-{conversation.conversation_id}.md",
            mime="text/markdown",
            key=f"download-{turn.turn_id}",
            icon=":material/download:",
            on_click="ignore",
        )


def copy_button(turn: Turn, name: str, label: str, *, question: bool, said: bool = False) -> str:
    """Return, as HTML, a button that copies an answer as Markdown; the page's script hears the click.

    Args:
        name: what it is, for its class.
        question: whether its question stands above it.
        said: whether its label is shown beside the icon.
    """
    return _copies(turn_markdown(turn, current_language(), question), name, label, said)


def page_address(page: str, **asked: str) -> str:
    """Return the address of one of the pages, as the visitor's browser reaches them."""
    here = str(st.context.url or "").partition("?")[0]
    return f"{here.rpartition('/')[0]}/{page}?{urlencode(asked)}"


def _source_link(source: Source) -> str:
    link = page_address("Documento", **address_of(source))
    return _copies(link, "source", name_of(source), said=True)


def _copies(text: str, name: str, label: str, said: bool) -> str:
    escaped = html.escape(label)
    # As JSON without angle brackets: the browser's sanitizer drops an attribute that has, for example, "-->".
    copied = html.escape(json.dumps(text).replace("<", "\\u003c").replace(">", "\\u003e"))
    shown = f"<span>{escaped}</span>" if said else ""
    about = "" if said else f' aria-label="{escaped}" title="{escaped}"'
    return (
        f'<button type="button" class="chat-copy copy-{name}" data-copies="{copied}"{about}>'
        f'<span class="icon" aria-hidden="true">content_copy</span>{shown}</button>'
    )
