"""Step 1: review the questions of a set, in a table or one by one; save, export and run them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from chatbot_mvp.api import KbQuestion, KbRecord, QuestionSet, SetCheck, SetQuestion
from chatbot_mvp.settings.access import Action
from streamlit_app.mykb.jobs import busy, run_set, set_names
from streamlit_app.mykb.new_set import new_set
from streamlit_app.mykb.one_question import edit_one
from streamlit_app.mykb.own_questions import show_own
from streamlit_app.mykb.passages import show_passages_now
from streamlit_app.mykb.versions import begin_again, save, sets_of, show_others, table_key, version_to_edit
from streamlit_app.shared.guard import guarded, may, offer_undo
from streamlit_app.shared.i18n import Markdown, number, plain, t
from streamlit_app.shared.state import confirm, errors_shown, get_app

KIND_NAMES = ("answerable", "near", "far", "unknown")
_ROWS_SHOWN = 12


def show_questions(kb: KbRecord) -> None:
    """Draw the box for one's own questions, other ways to create a set, then the chosen set."""
    if not may(Action.CHANGE_QUESTIONS):
        st.caption(f":material/lock: {t('admin.guard.read_only')}")
    if show_own(kb):
        return
    sets = sets_of(kb)
    new_set(kb)
    for one in get_app().question_sets.deleted(kb.kb_id):
        undo = partial(get_app().question_sets.undelete_set, kb.kb_id, one.set_id)
        offer_undo(one.name, one.set_id, Action.CHANGE_QUESTIONS, undo)
    if not sets:
        return
    # Kept under its own key in the state, because a widget that is not drawn loses its value.
    taken = st.session_state.pop("mykb_take_set", None) or st.session_state.get("mykb_set")
    if taken not in sets:
        own = get_app().own_questions.own_set(kb.kb_id)
        taken = own.set_id if own and own.set_id in sets else next(iter(sets))
    st.session_state.mykb_set = taken
    names = set_names((one.set_id, one.name, one.changed_at) for one in sets.values())
    chosen = st.selectbox(
        t("eval.queries"), list(sets), index=list(sets).index(st.session_state.mykb_set), format_func=names.__getitem__
    )
    st.session_state.mykb_set = chosen
    _show_set(kb, version_to_edit(sets[chosen]))


def _show_set(kb: KbRecord, questions: QuestionSet) -> None:
    question_sets = get_app().question_sets
    check = question_sets.check(questions)
    deleted = show_others(questions)
    reviewed = _show_state(questions, check)
    edited = _table(questions, check)
    if reviewed:
        _save(questions, replace(edited, kb_sha256=kb.sha256))
    changed = edited.questions != questions.questions
    if changed:
        st.caption(f":orange[:material/edit:] {t('mykb.unsaved')}")
    first, run, export, more = st.columns([1.2, 1.4, 1.2, 1.2])
    if first.button(
        t("mykb.save"),
        icon=":material/save:",
        key="mykb_save",
        width="stretch",
        **guarded(Action.CHANGE_QUESTIONS, disabled=not changed and not deleted),
    ):
        _save(questions, edited)
    if run.button(
        t("mykb.run", count=number(len(edited.kept))),
        type="primary",
        icon=":material/play_arrow:",
        key="mykb_run",
        width="stretch",
        **guarded(Action.MEASURE, disabled=busy(kb) or not edited.kept),
    ):
        saved = save(questions, edited) if changed else questions
        if saved:
            run_set(kb, saved.set_id)
    export.download_button(
        t("talk.export"),
        question_sets.export(edited),
        f"{questions.name}.jsonl",
        icon=":material/download:",
        help=t("mykb.export_help"),
        disabled=not edited.kept,
        width="stretch",
    )
    with more.popover(t("admin.kb_more"), width="stretch"):
        _actions(kb, questions, edited)
    with st.expander(t("mykb.one"), icon=":material/edit_note:"):
        if (made := edit_one(kb, edited)) is not None:
            _save(questions, made)


def _show_state(questions: QuestionSet, check: SetCheck) -> bool:
    """Draw the number of questions of each kind, and what no longer matches the document.

    Return whether the user just said that the questions are reviewed.
    """
    counts = questions.counts()
    parts = [f"{t(f'mykb.kind.{kind}')}: {number(counts[kind])}" for kind in KIND_NAMES if counts[kind]]
    st.caption(t("mykb.counts", parts=Markdown(" · ".join(parts))) if parts else t("mykb.counts_none"))
    if dropped := {reason: count for reason, count in questions.dropped.items() if count}:
        told = ", ".join(f"{t(f'mykb.dropped.{reason}')} ({number(count)})" for reason, count in dropped.items())
        st.caption(t("mykb.dropped", parts=told))
    if questions.automatic:
        st.caption(t("mykb.rules_note"))
    if check.lost:
        st.warning(t("mykb.lost", count=number(len(check.lost))), icon=":material/find_in_page:")
    show_passages_now(questions, check)
    if not check.kb_changed:
        return False
    st.warning(t("mykb.kb_changed"), icon=":material/difference:")
    return st.button(
        t("mykb.accept_kb"), icon=":material/done_all:", key="mykb_accept", **guarded(Action.CHANGE_QUESTIONS)
    )


def _table(questions: QuestionSet, check: SetCheck) -> QuestionSet:
    """Draw the table; return the set with the user's edits."""
    kinds = {kind: t(f"mykb.kind.{kind}") for kind in KIND_NAMES}
    by_id = {each.question.question_id: each for each in questions.questions}
    frame = pd.DataFrame(
        [
            {
                "keep": each.keep,
                "question": each.question.question,
                "kind": kinds[each.question.kind or "unknown"],
                "paragraph": each.question.paragraph or "",
                "heading": each.question.heading or "",
                "place": t(f"mykb.place.{_place(each, check)}"),
                "origin": t(f"mykb.origin.{each.origin}"),
                "id": each.question.question_id,
            }
            for each in questions.questions
        ],
        columns=["keep", "question", "kind", "paragraph", "heading", "place", "origin", "id"],
    ).astype({"keep": bool})
    column = st.column_config
    shown: pd.DataFrame = st.data_editor(
        frame,
        key=table_key(questions),
        num_rows="dynamic",
        disabled=not may(Action.CHANGE_QUESTIONS),
        hide_index=True,
        width="stretch",
        height=min(_ROWS_SHOWN, len(frame) + 2) * 36 + 4,
        column_config={
            "keep": column.CheckboxColumn(t("providers.use"), default=True, width="small"),
            "question": column.TextColumn(t("eval.col.question"), required=True, width="large", max_chars=500),
            "kind": column.SelectboxColumn(
                t("mykb.col.kind"),
                options=list(kinds.values()),
                default=kinds["answerable"],
                required=True,
                help=t("mykb.col.kind_help"),
            ),
            "paragraph": column.TextColumn(t("mykb.col.paragraph"), width="large", help=t("mykb.col.paragraph_help")),
            "heading": column.TextColumn(t("mykb.col.heading")),
            "place": column.TextColumn(t("mykb.col.place"), disabled=True, width="small"),
            "origin": column.TextColumn(t("admin.data.col.place"), disabled=True, width="small"),
            "id": None,
        },
    )
    kind_of = {label: kind for kind, label in kinds.items()}
    rows = [_row(row, by_id, kind_of) for row in shown.to_dict("records")]
    return replace(questions, questions=tuple(row for row in rows if row is not None))


def _row(row: dict[Any, Any], by_id: dict[str, SetQuestion], kind_of: dict[str, str]) -> SetQuestion | None:
    """Convert a row of the table to a question; None for a row without text."""
    text = " ".join(_text(row["question"]).split())
    if not text:
        return None
    before = by_id.get(_text(row["id"]))
    kind = kind_of.get(_text(row["kind"]), "answerable")
    paragraph = _text(row["paragraph"])
    question = KbQuestion(
        before.question.question_id if before else "",
        text if before is None or text != " ".join(before.question.question.split()) else before.question.question,
        None if kind == "unknown" else kind,
        paragraph or None,
        _text(row["heading"]) or None,
        before.question.answers if before else (),
        before.question.document if before else None,
    )
    keep = bool(row["keep"])
    return before.changed_to(question, keep) if before else SetQuestion(question, keep)


def _text(value: object) -> str:
    """Return the text of a cell; an empty cell is None or NaN."""
    return value if isinstance(value, str) else ""


def _place(each: SetQuestion, check: SetCheck) -> str:
    if each.question.kind != "answerable" and not each.question.paragraph:
        return "not_needed"
    if not each.question.paragraph:
        return "none"
    now = check.passages.get(each.question.question_id)
    return "found" if now is None or now.state == "same" else now.state


def _actions(kb: KbRecord, questions: QuestionSet, edited: QuestionSet) -> None:
    name = st.text_input(t("mykb.name"), questions.name, max_chars=80, key=f"mykb-name-{questions.set_id}")
    renamed = st.button(
        t("admin.kb_rename"),
        icon=":material/edit:",
        key="mykb_rename",
        width="stretch",
        **guarded(Action.CHANGE_QUESTIONS),
    )
    if renamed and name.strip():
        _save(questions, replace(edited, name=name.strip()))
    from_chat: tuple[SetQuestion, ...] = ()
    with errors_shown():
        from_chat = get_app().question_sets.chat_questions(kb.kb_id)
    if from_chat and st.button(
        t("mykb.from_chat", count=number(len(from_chat))),
        icon=":material/forum:",
        key="mykb_from_chat",
        width="stretch",
        **guarded(Action.CHANGE_QUESTIONS, t("mykb.from_chat_help")),
    ):
        _save(questions, edited.with_added(from_chat))
    if st.button(
        t("mykb.delete"),
        icon=":material/delete:",
        key="mykb_delete",
        width="stretch",
        **guarded(Action.CHANGE_QUESTIONS),
    ):
        _confirm_delete(questions)


def _save(questions: QuestionSet, edited: QuestionSet) -> None:
    if save(questions, edited):
        st.rerun()


def _confirm_delete(questions: QuestionSet) -> None:
    def delete() -> None:
        get_app().question_sets.delete_set(questions.kb_id, questions.set_id, undoable=True)
        begin_again()

    sure = t("mykb.delete_sure", name=plain(questions.name))
    confirm(t("mykb.delete"), sure, "mykb_delete_yes", delete)
