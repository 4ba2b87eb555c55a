"""The visitor's conversations in the side bar: search, open, rename, pin, export, delete."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from functools import partial
from itertools import groupby

import streamlit as st

from chatbot_mvp.api import Conversation, found_in
from chatbot_mvp.settings.access import Action
from chatbot_mvp.text import fold
from streamlit_app.shared.guard import may, offer_undo
from streamlit_app.shared.i18n import current_language, local_time, number, plain, t
from streamlit_app.shared.session import new_conversation, open_conversation, session_name
from streamlit_app.shared.state import confirm, errors_shown, get_app

_PART = 50
"""So many conversations are shown at first, and so many more with each click."""
_SHOWN = "talk_shown"
_WEEK_DAYS = 7
_STYLE = """<style>
.st-key-sidebar-of-page {padding-bottom: 1.5rem;}
.st-key-sidebar-of-page [data-testid="stCaptionContainer"] {padding-top: 0.6rem;}
[class*="st-key-talk-row-"] {flex-wrap: nowrap; gap: 0; margin-bottom: -0.6rem;}
[class*="st-key-talk-row-"] > :first-child {flex: 1 1 0; min-width: 0;}
[class*="st-key-talk-open-"] button {justify-content: flex-start; min-height: 2rem; padding: 0.2rem 0.5rem;}
[class*="st-key-talk-open-"] button * {min-width: 0;}
[class*="st-key-talk-open-"] button > div, [class*="st-key-talk-open-"] button > div > span {width: 100%;}
[class*="st-key-talk-open-"] [data-testid="stMarkdownContainer"] {display: block; width: 100%;}
[class*="st-key-talk-open-"] button p {display: block; overflow: hidden; text-overflow: ellipsis; white-space: nowrap;
  text-align: left; line-height: 1.3;}
[class*="st-key-talk-open-"] button[kind="secondary"] p:first-child {font-weight: 600;}
[class*="st-key-talk-menu-"] button {min-height: 2rem; padding: 0.2rem;}
[class*="st-key-talk-menu-"] button p {font-size: 0;}
[class*="st-key-talk-menu-"] button > div > [aria-hidden] {display: none;}
</style>"""


def list_conversations(current: Conversation | None) -> None:
    """Draw all conversations of the visitor: those that are pinned, then the others by the day of the last question.

    Args:
        current: the open one; None for a new one.
    """
    with st.session_state.sidebar:
        st.html(_STYLE)
        st.button(
            t("talk.new"),
            icon=":material/add_comment:",
            width="stretch",
            key="talk-new",
            disabled=current is None,
            on_click=new_conversation,
        )
        every = _heads()
        if not every:
            _show_deleted()
            return
        search = t("talk.search")
        wanted = st.text_input(search, key="talk_search", placeholder=search, label_visibility="collapsed")
        found = _heads(wanted) if wanted else every
        if not found:
            st.caption(t("talk.none_found"))
        shown = found[: st.session_state.get(_SHOWN, _PART)]
        names = _names(every)
        for group, heads in _groups(found, len(shown)):
            st.caption(f"**{t(f'talk.group.{group}')}**")
            for head in heads:
                _row(head, names, current is not None and head.conversation_id == current.conversation_id, wanted)
        if len(shown) < len(found):
            st.button(
                t("talk.more", count=number(len(found) - len(shown))), key="talk-more", type="tertiary", on_click=_more
            )
        _show_deleted()


def _show_deleted() -> None:
    """Draw the conversations whose deletion can be undone, folded, since their titles are to be out of sight."""
    if deleted := get_app().chat.deleted(session_name()):
        with st.expander(t("talk.deleted", count=number(len(deleted))), icon=":material/delete:"):
            for head in deleted:
                own = head.conversation_id
                undo = partial(get_app().chat.undelete, session_name(), own)
                offer_undo(head.title, own, Action.DELETE_CONVERSATION, undo)


def show_gone(conversation: Conversation) -> None:
    """Say that a conversation can only be read, and why."""
    known = {record.kb_id for record in get_app().kbs.records()}
    names = [name or "–" for kb_id, name in conversation.kb_names.items() if kb_id not in known]
    st.header(plain(conversation.title), anchor=False)
    st.info(t("talk.gone", names=", ".join(names)), icon=":material/folder_off:")


def _heads(wanted: str = "") -> list[Conversation]:
    """Return the conversations with a question, as ``ChatSessions.heads`` does."""
    return [head for head in get_app().chat.heads(session_name(), wanted) if head.turns]


def _groups(found: Sequence[Conversation], most: int) -> Iterator[tuple[str, list[Conversation]]]:
    """Yield the first conversations as they are shown: (name of the group, its conversations)."""
    today = datetime.now().date()
    in_order = sorted(found, key=lambda head: not head.pinned)
    for name, heads in groupby(in_order[:most], lambda head: "pinned" if head.pinned else _day(head.last_at, today)):
        yield name, list(heads)


def _day(at: str, today: date) -> str:
    local = local_time(at)
    days = (today - local.date()).days if local else _WEEK_DAYS
    return "today" if days <= 0 else "yesterday" if days == 1 else "week" if days < _WEEK_DAYS else "before"


def _names(every: Sequence[Conversation]) -> Mapping[str, str]:
    """Return the id of each knowledge base -> its name now, if the conversations do not all ask the same."""
    if len({head.kb_ids for head in every}) < 2:
        return {}
    found = {kb_id: name for head in reversed(every) for kb_id, name in head.kb_names.items()}
    return found | {record.kb_id: record.kb_name for record in get_app().kbs.records()}


def _row(head: Conversation, names: Mapping[str, str], is_open: bool, wanted: str) -> None:
    own, title = head.conversation_id, plain(head.title)
    turn_id, said = found_in(head, wanted)
    asked = " + ".join(names[kb_id] for kb_id in head.kb_ids) if names else ""
    if said and fold(said) != fold(head.title):
        asked = f"…{said}"
    with st.container(horizontal=True, vertical_alignment="center", key=f"talk-row-{own}"):
        st.button(
            f"{title}\n\n:small[:gray[{plain(asked)}]]" if asked else title,
            key=f"talk-open-{own}",
            type="secondary" if is_open else "tertiary",
            width="stretch",
            help=title,
            on_click=_open,
            args=(own, turn_id),
        )
        acts = ["rename", "unpin" if head.pinned else "pin", "export"]
        if may(Action.DELETE_CONVERSATION):
            acts.append("delete")
        chosen = st.menu_button(
            t("talk.menu", title=head.title),
            acts,
            key=f"talk-menu-{own}",
            icon=":material/more_vert:",
            type="tertiary",
            format_func={act: t(f"talk.{act}") for act in acts}.__getitem__,
        )
    if chosen == "rename":
        _ask_title(head)
    elif chosen in ("pin", "unpin"):
        with errors_shown():
            get_app().chat.pin(session_name(), own, chosen == "pin")
            st.rerun()
    elif chosen == "export":
        _offer_files(head)
    elif chosen == "delete":
        sure = t("talk.delete_sure", title=head.title)
        confirm(t("talk.delete"), sure, "talk-delete-yes", partial(_delete, own, is_open))


def _open(conversation_id: str, turn_id: str) -> None:
    # One that another tab has just deleted is no longer in the list.
    if open_conversation(conversation_id) and turn_id:
        st.query_params["m"] = turn_id


def _ask_title(head: Conversation) -> None:
    @st.dialog(t("talk.rename"))
    def dialog() -> None:
        with st.form("talk-title", border=False):
            title = st.text_input(t("talk.title"), head.title, help=t("talk.title_help"), key="talk_title")
            sent = st.form_submit_button(t("talk.save"), type="primary")
        if sent:
            with errors_shown():
                get_app().chat.rename(session_name(), head.conversation_id, title)
                st.rerun()

    dialog()


def _offer_files(head: Conversation) -> None:
    place, language = (head.session, head.conversation_id), current_language()

    @st.dialog(t("talk.export"))
    def dialog() -> None:
        st.markdown(plain(head.title))
        for form, suffix, mime in (("markdown", "md", "text/markdown"), ("json", "json", "application/json")):
            st.download_button(
                t(f"talk.export.{form}"),
                # Built on click, not each time the dialog is drawn.
                data=partial(get_app().chat.export, *place, form, language),
                file_name=f"{head.kb_id}-{head.conversation_id}.{suffix}",
                mime=mime,
                icon=":material/download:",
                on_click="ignore",
                width="stretch",
            )

    dialog()


def _delete(conversation_id: str, is_open: bool) -> None:
    get_app().chat.delete(session_name(), conversation_id, undoable=True)
    if is_open:
        new_conversation()


def _more() -> None:
    st.session_state[_SHOWN] = st.session_state.get(_SHOWN, _PART) + _PART
