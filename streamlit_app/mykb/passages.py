"""What has become of the passages that a question set expects, and taking the new ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import streamlit as st

from chatbot_mvp.api import QuestionSet, SetCheck
from chatbot_mvp.settings.access import Action
from streamlit_app.mykb.versions import begin_again
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import number, plain, t
from streamlit_app.shared.state import errors_shown, get_app

_STATES: tuple[Literal["changed", "moved", "gone", "purged"], ...] = ("changed", "moved", "gone", "purged")
_MOST_SHOWN = 30
"""Passages that are drawn; the button takes all."""


def show_passages_now(questions: QuestionSet, check: SetCheck) -> None:
    """Draw the expected passages that are not where they were, each with what stands there now."""
    others = check.having(*_STATES)
    if not others:
        return
    counts = {state: len(check.having(state)) for state in _STATES}
    parts = [t(f"mykb.passages.{state}", count=number(count)) for state, count in counts.items() if count]
    with st.expander(f"{t('mykb.passages')}: {' · '.join(parts)}", icon=":material/difference:"):
        asked = {each.question.question_id: each.question for each in questions.questions}
        for key in others[:_MOST_SHOWN]:
            now, question = check.passages[key], asked[key]
            st.markdown(f"**{plain(question.question)}** · {t(f'mykb.place.{now.state}')}")
            st.caption(f"{t('mykb.passages.before')}: {plain(question.paragraph or '')}")
            if now.text and now.place:
                st.caption(f"{t('mykb.passages.now', file=now.place.file)}: {plain(now.text)}")
            if now.state in ("changed", "moved"):
                _take(questions, [key], f"mykb_take_{key}", t("mykb.passages.take"))
        if len(takable := check.having("changed", "moved")) > 1:
            _take(questions, takable, "mykb_take_all", t("mykb.passages.take_all", count=number(len(takable))))


def _take(questions: QuestionSet, wanted: Sequence[str], key: str, label: str) -> None:
    pressed = st.button(label, icon=":material/content_paste_go:", key=key, **guarded(Action.CHANGE_QUESTIONS))
    if not pressed:
        return
    with errors_shown():
        get_app().question_sets.take_new(questions, wanted)
        begin_again()
        st.rerun()
