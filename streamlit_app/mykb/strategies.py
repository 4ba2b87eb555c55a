"""Measures every way to search a knowledge base by one's own questions, and compares them."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.api import STRATEGIES, KbRecord, kb_reference
from streamlit_app.shared.i18n import bare
from streamlit_app.shared.series import start_series
from streamlit_app.shared.state import get_app

_MOST = 5  # runs that a comparison can show


def compare_strategies(kb: KbRecord, set_id: str) -> None:
    """Start one run per strategy that costs nothing, today's first, and draw the page again."""
    today = get_app().settings.retrieval_strategy
    free = [name for name, one in STRATEGIES.items() if not (one.needs_language_model or one.of_a_system)]
    names = list(dict.fromkeys([today, *free]))[:_MOST]
    start_series(
        bare("own.series", kb=kb.kb_name),
        [
            {
                "mteb_dataset_name": kb_reference(kb.kb_id, set_id),
                "retrieval_strategy": name,
                "eval_max_queries": 0,
                "generation_enabled": False,
            }
            for name in names
        ],
    )
    st.rerun()
