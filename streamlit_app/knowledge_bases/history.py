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
from streamlit_app.shared.tables import paged

_PER_PAGE = 8
_NAMED = 3


def show_history(record: KbRecord) -> None:
    """Draw the versions, the newest first, and the comparison of any two."""
    steps = get_app().kb_changes.history(record.kb_id)
    _compare(record, [step for step in steps if step.kept])
    for row, step in paged(steps, _PER_PAGE, f"history-page-{record.kb_id}"):
        with st.container(border=True):
            _step(record, step, steps[row] if row < len(steps) else None)


def _step(record: KbRecord, step: Step, before: Step | None) -> None:
    entry, kb_id = step.entry, record.kb_id
    marks = f" :green-badge[{t('kbhistory.current')}]" if step.current else ""
    marks += "" if step.kept else f" :gray-badge[{t('kbhistory.not_kept')}]"
    with st.container(horizontal=True, vertical_alignment="center"):
        with st.container(width="stretch", gap=None):
            what = t(f"kbhistory.what.{entry.what}")
            st.markdown(f"**{t('kbhistory.version', number=number(entry.number))}** · {what}{marks}")
            st.caption(" · ".join([moment(entry.at), ago(entry.at), *_changed(kb_id, step, before)]))
            if entry.note:
                st.markdown(f":material/sticky_note_2: {plain(entry.note)}")
        look = False
        renamed = before is not None and before.entry.number == entry.number
        if before is not None and step.kept and before.kept and not renamed:
            look = st.toggle(t("kbhistory.look"), key=f"look-{kb_id}-{entry.number}")
        if step.kept and not step.current and not renamed:
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


def _changed(kb_id: str, step: Step, before: Step | None) -> list[str]:
    """Return how many documents came, changed and went with a step, and the first ones by name, if that is known."""
    counts = {what: getattr(step.entry, what) for what in ("added", "changed", "removed")}
    named: dict[str, list[str]] = {}
    if any(counts.values()) and step.kept and (before is None or before.kept):
        of = get_app().kb_changes.documents
        now = {one.path: one for one in of(kb_id, step.entry.version_id)}
        old = {one.path: one for one in of(kb_id, before.entry.version_id)} if before else {}
        named["added"] = [path for path in now if path not in old]
        named["changed"] = [path for path in now if path in old and old[path] != now[path]]
        named["removed"] = [path for path in old if path not in now]
    said = {what: t(f"kbdiff.count.{what}", count=number(count)) for what, count in counts.items() if count}
    return [Markdown(f"{text}{_names(named.get(what, ()))}") for what, text in said.items()]


def _names(paths: Sequence[str]) -> str:
    names = [plain(path) for path in paths[:_NAMED]] + ["…"] * (len(paths) > _NAMED)
    return f" ({', '.join(names)})" if names else ""


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
