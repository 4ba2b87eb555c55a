"""Choose documents of a knowledge base, of any version, and purge them."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import KbRecord
from streamlit_app.shared.i18n import number, plain, t
from streamlit_app.shared.state import confirm, errors_shown, get_app


def show_purge(record: KbRecord) -> None:
    """Draw the choice of documents and the button that asks before it purges them."""
    with errors_shown():
        changes = get_app().kb_changes
        paths = changes.purgeable(record.kb_id)
        chosen = st.multiselect(
            t("kb.purge_which"), paths, key=f"purge-paths-{record.kb_id}", help=t("kb.purge_help"), placeholder=""
        )
        if st.button(
            t("kb.purge"),
            key=f"purge-{record.kb_id}",
            icon=":material/delete_forever:",
            width="stretch",
            disabled=not chosen,
        ):
            _confirm(record, chosen)


def _confirm(record: KbRecord, paths: list[str]) -> None:
    def purge() -> None:
        report = get_app().kb_changes.purge(record.kb_id, paths)
        counts = {"versions": number(report.versions), "files": number(report.files), "cached": number(report.cached)}
        st.toast(t("kb.purged", **counts), icon=":material/delete_forever:")

    plan = get_app().kb_changes.purge_plan(record.kb_id, paths)
    sure = t("kb.purge_sure", paths=", ".join(plan.paths), name=plain(record.kb_name))
    if plan.equal:
        sure += " " + t("kb.purge_equal", paths=", ".join(plan.equal))
    confirm(t("kb.purge"), sure, t("kb.purge_yes"), "purge_yes", purge)
