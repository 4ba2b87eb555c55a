"""One question in a form: the way to add or change one by the keyboard, with the passage chosen from the document."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from chatbot_mvp.api import KbQuestion, KbRecord, QuestionSet, SetQuestion
from chatbot_mvp.types import Chunk
from streamlit_app.shared.i18n import number, t
from streamlit_app.shared.state import get_app

_KINDS = ("answerable", "near", "far", "unknown")
_NEW = "new"


def edit_one(kb: KbRecord, questions: QuestionSet) -> QuestionSet | None:
    """The set with a question that was added or changed just now; None if none was."""
    by_id = {each.question.question_id: each for each in questions.questions if each.question.question_id}
    names = {_NEW: t("mykb.one_new")} | {key: _named(each) for key, each in by_id.items()}
    which = st.selectbox(
        t("mykb.one_which"),
        list(names),
        format_func=names.__getitem__,
        key=f"mykb-one-{questions.set_id}",
    )
    before = by_id.get(which) or SetQuestion(KbQuestion("", "", "answerable"))
    chunks: dict[str, Chunk] = {chunk.chunk_id: chunk for chunk in get_app().kbs.chunks(kb.kb_id)}
    passages = {"": t("mykb.one_chunk_none")}
    passages |= {key: _label(chunk, row) for row, (key, chunk) in enumerate(chunks.items(), 1)}
    kinds = {kind: t(f"mykb.kind.{kind}") for kind in _KINDS}
    place = f"{questions.set_id}-{questions.changed_at}-{which}"
    with st.form(f"mykb-one-form-{place}", border=False):
        text = st.text_area(t("mykb.col.question"), before.question.question, max_chars=500, key=f"mykb-q-{place}")
        kind = st.selectbox(
            t("mykb.col.kind"),
            _KINDS,
            index=_KINDS.index(before.question.kind or "unknown"),
            format_func=kinds.__getitem__,
            key=f"mykb-k-{place}",
        )
        paragraph = st.text_area(
            t("mykb.col.paragraph"),
            before.question.paragraph or "",
            help=t("mykb.col.paragraph_help"),
            key=f"mykb-p-{place}",
        )
        chunk_id = st.selectbox(
            t("mykb.one_chunk"),
            list(passages),
            format_func=passages.__getitem__,
            help=t("mykb.one_chunk_help"),
            key=f"mykb-c-{place}",
        )
        keep = st.checkbox(t("mykb.col.keep"), before.keep, key=f"mykb-x-{place}")
        sent = st.form_submit_button(t("mykb.one_save"), icon=":material/save:", key=f"mykb-one-save-{place}")
    if not sent:
        return None
    if not text.strip():
        st.warning(t("mykb.one_blank"), icon=":material/warning:")
        return None
    chunk = chunks.get(chunk_id)
    question = replace(
        before.question,
        question=" ".join(text.split()),
        kind=None if kind == "unknown" else kind,
        paragraph=chunk.text if chunk else paragraph.strip() or None,
        heading=chunk.section if chunk else before.question.heading,
    )
    made = before.changed_to(question, keep)
    if which == _NEW:
        return replace(questions, questions=(*questions.questions, made))
    return replace(
        questions,
        questions=tuple(made if each.question.question_id == which else each for each in questions.questions),
    )


def _named(each: SetQuestion) -> str:
    return f"{each.question.question_id} · {each.question.question}"


def _label(chunk: Chunk, row: int) -> str:
    return f"{number(row)} · {chunk.section} · {' '.join(chunk.text.split())[:70]}…"
