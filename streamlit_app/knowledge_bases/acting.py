"""Changes that a visitor asks for: kept with the version that was seen, made when the page is drawn again, and told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

import streamlit as st

from chatbot_mvp.api import Change, KbRecord
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.settings.access import Action
from chatbot_mvp.types import Progress
from streamlit_app.knowledge_bases.upload_progress import dismiss_of
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import Markdown, number, t
from streamlit_app.shared.jobs import phase_text, share_done
from streamlit_app.shared.state import error_text, get_app

Act = Callable[[Callable[[Progress], None]], Markdown]
"""Does something, tells how far it is, and returns what is said of it."""


def ask(kb_id: str, act: Act) -> None:
    """Let ``act`` be done when the page is drawn again, where its progress can be shown. For callbacks of widgets."""
    st.session_state.kb_asked = (kb_id, act)


def change(kb_id: str, seen: str, changes: Iterable[Change], stage: bool) -> None:
    """Ask for changes to documents. For callbacks of widgets.

    Args:
        seen: id of the version that the visitor looked at: what others did since stays, or the change is refused.
    """
    ask(kb_id, partial(_change, kb_id, seen, list(changes), stage))


def apply_buttons(kb_id: str, seen: str, staged: bool, changes: Iterable[Change], key: str) -> None:
    """Draw the two ways to make changes: at once, and as a draft. What is seen of a draft changes the draft alone."""
    wanted = list(changes)
    with st.container(horizontal=True):
        if not staged:
            st.button(
                t("kbdoc.now"),
                key=f"{key}-now-{kb_id}",
                type="primary",
                on_click=change,
                args=(kb_id, seen, wanted, False),
                **guarded(Action.CHANGE_KB, disabled=not wanted),
            )
        st.button(
            t("kbdoc.stage"),
            key=f"{key}-stage-{kb_id}",
            type="primary" if staged else "secondary",
            icon=":material/edit_note:",
            on_click=change,
            args=(kb_id, seen, wanted, True),
            **guarded(Action.CHANGE_KB, t("kbdraft.about"), disabled=not wanted),
        )


def do_asked(kb_id: str) -> None:
    """Do what was asked of a knowledge base, and draw the page anew; say once how the last thing ended."""
    asked = st.session_state.get("kb_asked")
    if asked is not None and asked[0] == kb_id:
        del st.session_state["kb_asked"]
        bar = st.empty()

        def show(progress: Progress) -> None:
            if progress.total:
                bar.progress(share_done(progress), phase_text(progress))

        try:
            with st.spinner(t("kbdoc.working")):
                st.session_state.kb_told = (kb_id, True, asked[1](show))
        except ChatbotError as error:
            st.session_state.kb_told = (kb_id, False, error_text(error))
        st.session_state.kb_round = round_() + 1
        st.session_state.pop("kb_picked", None)
        dismiss_of(kb_id)
        st.rerun()
    told = st.session_state.get("kb_told")
    if told is not None and told[0] == kb_id:
        _, good, text = told
        (st.success if good else st.error)(text, icon=":material/check_circle:" if good else ":material/error:")
        del st.session_state["kb_told"]


def round_() -> int:
    """Return a number for the keys of widgets, another one after each change, so that they are as new."""
    return int(st.session_state.get("kb_round", 0))


def said_of(record: KbRecord, staged: bool) -> Markdown:
    """Return what is said of a change that was made."""
    return Markdown(t("kbdoc.staged") if staged else t("kbdoc.done", number=number(record.number)))


def _change(
    kb_id: str, seen: str, changes: list[Change], stage: bool, progress: Callable[[Progress], None]
) -> Markdown:
    changed = get_app().kb_changes.change(kb_id, changes, stage=stage, progress=progress, base=seen)
    return said_of(changed, stage)
