"""Shows the plan of a run and its estimated cost before it starts."""

from __future__ import annotations

from typing import Any

import streamlit as st

from chatbot_mvp.api import RunPlan
from streamlit_app.shared.i18n import duration, number, plain, t


def show_plan(plan: RunPlan) -> None:
    """Draw the size of the run, what is cached, and the estimated requests, tokens, time and cost."""
    with st.container(border=True):
        unknown = t("plan.unknown")
        size = [number(value) if value is not None else unknown for value in (plan.queries, plan.documents)]
        st.markdown(f"**{t('plan.title')}** · {t('plan.size', queries=size[0], documents=size[1])}")
        if plan.vectors is not None:
            st.caption(t("plan.vectors", cached=number(plan.vectors.cached), total=number(plan.vectors.total)))
        for text in plan.warnings:
            st.warning(plain(text), icon=":material/warning:")
        estimate = plan.estimate
        if estimate is None:
            st.caption(t("plan.asks_nobody"))
            return
        total = estimate.total
        calls, tokens, seconds, cost = st.columns(4)
        calls.metric(t("plan.calls"), number(total.calls.expected))
        tokens.metric(t("plan.tokens"), number(total.prompt_tokens.expected + total.completion_tokens.expected))
        seconds.metric(t("plan.time"), duration(total.seconds.expected) if total.seconds else unknown)
        cost.metric(t("plan.cost"), _dollars(total.cost_usd.expected) if total.cost_usd else t("eval.cost_unknown"))
        st.caption(t("plan.basis"))


def _dollars(value: Any) -> str:
    return t("job.cost", cost=number(value, 2 if value else 0))
