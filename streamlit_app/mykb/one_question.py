"""Form to add or change one question with the keyboard, choosing its passage from the document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

import streamlit as st

from chatbot_mvp.api import KbQuestion, KbRecord, QuestionSet, SetQuestion
from chatbot_mvp.settings.access import Action
from chatbot_mvp.text import fold
from chatbot_mvp.types import Chunk
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import number, t
from streamlit_app.shared.state import get_app
from streamlit_app.shared.tables import distinct

_KINDS = ("answerable", "near", "far", "unknown")
_NEW = "new"
_MOST_CHUNKS = 300
"""Chunks offered at a time: the browser receives the label of each with every interaction."""


def edit_one(kb: KbRecord, questions: QuestionSet) -> QuestionSet | None:
    """Draw the form; return the changed set if a question was just saved, otherwise None."""
    by_id = {each.question.question_id: each for each in questions.questions if each.question.question_id}
    texts = distinct((each.question.question, key) for key, each in by_id.items())
    names = {_NEW: t("mykb.one_new"), **dict(zip(by_id, texts, strict=True))}
    which = st.selectbox(
        t("mykb.one_which"), list(names), format_func=names.__getitem__, key=f"mykb-one-{questions.set_id}"
    )
    before = by_id.get(which) or SetQuestion(KbQuestion("", "", "answerable"))
    chunks: dict[str, Chunk] = {chunk.chunk_id: chunk for chunk in get_app().kbs.contents(kb.kb_id).chunks}
    passages = {"": t("mykb.one_chunk_none"), **_labels(list(chunks.values()), questions.set_id)}
    kinds = {kind: t(f"mykb.kind.{kind}") for kind in _KINDS}
    place = f"{questions.set_id}-{questions.changed_at}-{which}"
    with st.form(f"mykb-one-form-{place}", border=False):
        text = st.text_area(t("eval.col.question"), before.question.question, max_chars=500, key=f"mykb-q-{place}")
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
        answer = st.text_input(
            t("eval.answer"),
            "; ".join(before.question.answers),
            max_chars=200,
            help=t("mykb.one_answer_help"),
            key=f"mykb-a-{place}",
        )
        keep = st.checkbox(t("providers.use"), before.keep, key=f"mykb-x-{place}")
        sent = st.form_submit_button(
            t("mykb.one_save"), icon=":material/save:", key=f"mykb-one-save-{place}", **guarded(Action.CHANGE_QUESTIONS)
        )
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
        answers=tuple(part.strip() for part in answer.split(";") if part.strip()),
    )
    made = before.changed_to(question, keep)
    if which == _NEW:
        return replace(questions, questions=(*questions.questions, made))
    return replace(
        questions, questions=tuple(made if each.question.question_id == which else each for each in questions.questions)
    )


def _labels(chunks: Sequence[Chunk], place: str) -> dict[str, str]:
    """Return chunk id -> label of the chunks to choose from. Of many chunks, a search box selects those shown."""
    wanted = ""
    if len(chunks) > _MOST_CHUNKS:
        label = t("mykb.one_search", shown=number(_MOST_CHUNKS), count=number(len(chunks)))
        wanted = fold(st.text_input(label, key=f"mykb-search-{place}"))
    found = ((row, chunk) for row, chunk in enumerate(chunks, 1) if not wanted or wanted in fold(chunk.index_text))
    return {
        chunk.chunk_id: f"{number(row)} · {chunk.section} · {' '.join(chunk.text.split())[:70]}…"
        for row, chunk in islice(found, _MOST_CHUNKS)
    }
