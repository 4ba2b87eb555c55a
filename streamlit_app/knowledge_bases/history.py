"""The history of a knowledge base: its versions, what each changed, any two compared, and restoring one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import streamlit as st

from chatbot_mvp.api import KbRecord, Step
from chatbot_mvp.settings.access import Action
from chatbot_mvp.types import Progress
from streamlit_app.knowledge_bases.acting import ask, round_, said_of
from streamlit_app.knowledge_bases.differences import show_differences
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import Markdown, ago, bare, moment, number, plain, t
from streamlit_app.shared.state import errors_shown, get_app

_PER_PAGE = 8


def show_history(record: KbRecord) -> None:
    """Draw the versions, the newest first, and the comparison of any two."""
    steps = get_app().kb_changes.history(record.kb_id)
    _compare(record, [step for step in steps if step.kept])
    pages = -(-len(steps) // _PER_PAGE)
    first = 0
    if pages > 1:
        first = (st.pagination(pages, key=f"history-page-{record.kb_id}") - 1) * _PER_PAGE
    for row, step in enumerate(steps[first : first + _PER_PAGE], first):
        before = steps[row + 1] if row + 1 < len(steps) else None
        with st.container(border=True):
            _step(record, step, before)


def _step(record: KbRecord, step: Step, before: Step | None) -> None:
    entry, kb_id = step.entry, record.kb_id
    marks = f" :green-badge[{t('kbhistory.current')}]" if step.current else ""
    marks += "" if step.kept else f" :gray-badge[{t('kbhistory.not_kept')}]"
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container(width="stretch", gap=None):
            what = t(f"kbhistory.what.{entry.what}")
            st.markdown(f"**{t('kbhistory.version', number=number(entry.number))}** · {what}{marks}")
            st.caption(" · ".join([moment(entry.at), ago(entry.at), *_counts(step)]))
            if entry.note:
                st.markdown(f":material/sticky_note_2: {plain(entry.note)}")
        look = False
        if before is not None and step.kept and before.kept:
            look = st.toggle(t("kbhistory.look"), key=f"look-{kb_id}-{entry.number}")
        if step.kept and not step.current:
            with st.popover(t("kbhistory.restore"), icon=":material/settings_backup_restore:"):
                st.markdown(t("kbhistory.restore_sure", number=number(entry.number)))
                note = st.text_input(t("kbhistory.note"), key=f"note-{kb_id}-{entry.number}-{round_()}", max_chars=120)
                st.button(
                    t("kbhistory.restore_yes", number=number(entry.number)),
                    key=f"restore-{kb_id}-{entry.number}",
                    type="primary",
                    on_click=ask,
                    args=(kb_id, partial(_restore, kb_id, str(entry.number), note)),
                    **guarded(Action.CHANGE_KB),
                )
    if look and before is not None:
        _show_between(kb_id, before.entry.number, entry.number, f"step-{entry.number}")


def _counts(step: Step) -> list[str]:
    entry = step.entry
    parts = (("added", entry.added), ("changed", entry.changed), ("removed", entry.removed))
    return [t(f"kbdiff.count.{name}", count=number(count)) for name, count in parts if count]


def _compare(record: KbRecord, kept: Sequence[Step]) -> None:
    if len(kept) < 2:
        return
    numbers = {step.entry.number: f"{moment(step.entry.at)}" for step in kept}
    current = kept[0].entry.number
    with st.expander(t("kbhistory.compare"), icon=":material/compare_arrows:", key=f"compare-{record.kb_id}"):

        def label(found: int) -> str:
            name = bare("kbhistory.version", number=number(found))
            return f"{name} · {numbers[found]}" + (f" · {bare('kbhistory.current')}" if found == current else "")

        left, right = st.columns(2)
        known = list(numbers)
        before = left.selectbox(
            t("kbhistory.from"), known, index=1, format_func=label, key=f"from-{record.kb_id}-{current}"
        )
        after = right.selectbox(t("kbhistory.to"), known, format_func=label, key=f"to-{record.kb_id}-{current}")
        _show_between(record.kb_id, before, after, "compare")


def _show_between(kb_id: str, before: int, after: int, key: str) -> None:
    with errors_shown():
        show_differences(get_app().kb_changes.difference(kb_id, str(before), str(after)), f"{key}-{kb_id}")


def _restore(kb_id: str, version: str, note: str, progress: Callable[[Progress], None]) -> Markdown:
    return said_of(get_app().kb_changes.restore(kb_id, version, note, progress), False)
