"""The draft of a knowledge base: what it changes, and publishing or dropping it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import streamlit as st

from chatbot_mvp.api import KbRecord
from chatbot_mvp.settings.access import Action
from chatbot_mvp.types import Progress
from streamlit_app.knowledge_bases.acting import ask, said_of
from streamlit_app.knowledge_bases.differences import counts_text, show_differences
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import Markdown, ago, t
from streamlit_app.shared.state import errors_shown, get_app


def show_draft(record: KbRecord) -> str:
    """Draw the draft that waits, if there is one; return the id of its version, "" for none."""
    kb_id, changes = record.kb_id, get_app().kb_changes
    staged = changes.staged(kb_id)
    if staged is None:
        return ""
    with st.container(border=True, key=f"draft-{kb_id}"), errors_shown():
        found = changes.difference(kb_id, staged.base, staged.version_id)
        said = counts_text(found) or t("kbdiff.none")
        st.markdown(f":orange[:material/edit_note:] **{t('kbdraft.title')}** · {ago(staged.at)} · {said}")
        st.caption(t("kbdraft.about"))
        with st.expander(t("detail.in_use_more"), icon=":material/difference:"):
            show_differences(found, f"draft-{kb_id}")
        note = st.text_input(t("kbhistory.note"), key=f"draft-note-{staged.version_id}", max_chars=120)
        with st.container(horizontal=True):
            st.button(
                t("kbdraft.publish"),
                key=f"publish-{kb_id}",
                type="primary",
                icon=":material/publish:",
                on_click=ask,
                args=(kb_id, partial(_publish, kb_id, note)),
                **guarded(Action.CHANGE_KB),
            )
            with st.popover(t("job.discard"), icon=":material/delete:"):
                st.markdown(t("kbdraft.drop_sure"))
                st.button(
                    t("kbdraft.drop_yes"),
                    key=f"drop-{kb_id}",
                    on_click=ask,
                    args=(kb_id, partial(_drop, kb_id)),
                    **guarded(Action.CHANGE_KB),
                )
    return staged.version_id


def _publish(kb_id: str, note: str, progress: Callable[[Progress], None]) -> Markdown:
    return said_of(get_app().kb_changes.publish(kb_id, note, progress), False)


def _drop(kb_id: str, _progress: Callable[[Progress], None]) -> Markdown:
    get_app().kb_changes.drop(kb_id)
    return Markdown(t("kbdraft.dropped"))
