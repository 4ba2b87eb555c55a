"""How far strict mode can be trusted, in words: over the questions that people asked, never over proposed ones."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import ENOUGH_OWN, KbResult, StrictOutcome
from streamlit_app.mykb.jobs import QUESTIONS
from streamlit_app.shared.i18n import Markdown, number, t
from streamlit_app.shared.runs import other_model

_ORDER: tuple[StrictOutcome, ...] = ("right", "declined", "near", "unsure", "missed", "elsewhere", "made_up")


def show_headline(own: KbResult, other: KbResult | None = None) -> None:
    """Draw the share of one's own questions of which strict mode makes the right thing, and what the others are.

    Args:
        own: the questions of people alone.
        other: those of the result that it is compared with.
    """
    share = own.strict.right
    if not own.rows:
        with st.container(border=True, horizontal=True, vertical_alignment="center", key="no-own"):
            st.markdown(f":material/person_search: {t('mykb.no_own')}")
            st.button(
                t("mykb.to_own"), type="primary", icon=":material/edit_note:", key="mykb_to_own", on_click=_to_questions
            )
        return
    if not share.total:
        older = own.min_proof is None
        st.info(t("mykb.strict_unknown" if older else "mykb.strict_unscored"), icon=":material/replay:")
        return
    st.markdown(f"## {t('mykb.strict', right=number(share.count), total=number(share.total))}")
    if said := other_model(own.model or own.provider):
        st.markdown(f":material/swap_horiz: {said}")
    if other is not None and (before := other.strict.right).total:
        st.markdown(t("mykb.strict_other", right=number(before.count), total=number(before.total)))
    counts = own.strict.counts
    parts = [t(f"mykb.strict.{name}", count=number(counts[name])) for name in _ORDER if counts[name]]
    st.markdown(f"{Markdown(' · '.join(parts))}.")
    low, high = share.interval or (0.0, 1.0)
    few = [t("mykb.strict_few", missing=number(ENOUGH_OWN - share.total))] if share.total < ENOUGH_OWN else []
    st.caption(" ".join([t("mykb.strict_span", low=number(100 * low), high=number(100 * high)), *few]))


def _to_questions() -> None:
    st.session_state.mykb_step = QUESTIONS
