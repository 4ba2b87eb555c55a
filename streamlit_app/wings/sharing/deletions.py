"""Many deletions at once through the shared folder: they wait until an administrator confirms or undoes them."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.settings.access import Action
from chatbot_mvp.wings.sharing.service import Sharing
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import number, plain, t
from streamlit_app.shared.state import errors_shown, get_app, kb_names

_NAMED = 20


def shared_deletions() -> None:
    """Draw what the last exchange left waiting, and the buttons to confirm or undo it; nothing if nothing waits."""
    waiting = get_app().get(Sharing).waiting
    if not waiting:
        return
    with st.container(border=True, key="shared-deletions"):
        st.warning(
            t("admin.deletions", count=number(len(waiting)), root=get_app().get(Sharing).root),
            icon=":material/folder_delete:",
        )
        _list(waiting)
        # The yes is for this list: the box of another one has another key, and is not ticked.
        sure = st.checkbox(
            t("admin.deletions_sure"), key=f"deletions-sure-{hash(waiting)}", **guarded(Action.CHANGE_KB)
        )
        confirm, undo = st.columns(2)
        if (
            confirm.button(
                t("admin.deletions_apply"),
                key="deletions-apply",
                icon=":material/delete:",
                width="stretch",
                **guarded(Action.CHANGE_KB, disabled=not sure),
            )
            and sure
        ):
            _exchange("apply")
        if undo.button(
            t("admin.deletions_undo"),
            key="deletions-undo",
            icon=":material/undo:",
            width="stretch",
            **guarded(Action.CHANGE_KB, t("admin.deletions_undo_help")),
        ):
            _exchange("undo")


def _list(waiting: tuple[str, ...]) -> None:
    """Draw the names of knowledge bases that are still here, and the paths of all else."""
    named = kb_names(get_app().kbs.records())
    paths = {f"kb/{kb_id}/kb.json": name for kb_id, name in named.items()}
    lines = [f"- {plain(paths.get(path, path))}" for path in waiting[:_NAMED]]
    if len(waiting) > _NAMED:
        lines.append(f"- {t('admin.deletions_more', count=number(len(waiting) - _NAMED))}")
    st.markdown("\n".join(lines))


def _exchange(deletions: str) -> None:
    with errors_shown():
        with st.spinner(t("admin.deletions_busy")):
            get_app().get(Sharing).exchange(deletions)
        get_app().health.forget()  # the home page says that deletions wait
        st.rerun()
