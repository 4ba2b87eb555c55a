"""Shows how far the vectors of knowledge bases are computed, until all are there."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from chatbot_mvp.api import OtherSearch
from chatbot_mvp.errors import ChatbotError
from streamlit_app.shared.i18n import duration, number, t
from streamlit_app.shared.jobs import phase_text, share_done
from streamlit_app.shared.state import error_text, get_app


def vectors_status(kb_ids: Sequence[str], search: OtherSearch) -> None:
    """Draw one line while vectors are missing. It refreshes itself, and goes when all are there."""
    under_way = get_app().kbs.vectors_under_way(kb_ids, search)
    if under_way is not None:
        st.fragment(_line, run_every="1s" if under_way.growing else None)(kb_ids, search)


def _line(kb_ids: Sequence[str], search: OtherSearch) -> None:
    try:
        under_way = get_app().kbs.vectors_under_way(kb_ids, search)
    except ChatbotError:  # the knowledge base was deleted meanwhile
        return
    if under_way is None:
        return
    if under_way.failure is not None:
        failure = under_way.failure
        reason = error_text(failure) if isinstance(failure, ChatbotError) else type(failure).__name__
        st.warning(t("chat.vectors_failed", error=reason), icon=":material/warning:")
        return
    progress = under_way.progress
    text = t("chat.vectors_under_way", percent=number(100 * share_done(progress) if progress else 0.0, 0))
    if progress is not None and progress.phase == "check_questions":
        text = phase_text(progress)
    elif progress is not None and progress.seconds_left is not None:
        text += f" · {t('job.left', time=duration(progress.seconds_left))}"
    st.caption(f":material/hourglass_top: {text}")
