"""Where a benchmark run is chosen and started."""

from __future__ import annotations

from typing import Any

import streamlit as st

from chatbot_mvp.errors import ChatbotError
from streamlit_app.ui.i18n import t
from streamlit_app.ui.plan import show_plan
from streamlit_app.ui.state import get_app, show_error


def launcher() -> None:
    """Choose a data set, a strategy and what is measured, and start."""
    left, right = st.columns(2)
    with left:
        reference = _dataset()
        changes = {"mteb_dataset_name": reference} | _answers()
    with right:
        changes |= _retrieval()
    budget = changes.pop("budget_usd", None)
    start, check, _ = st.columns([1.3, 1.6, 3])
    started = start.button(
        t("admin.start"), type="primary", icon=":material/play_arrow:", key="run_start", width="stretch"
    )
    checked = check.button(t("admin.estimate"), icon=":material/request_quote:", key="run_plan", width="stretch")
    if (started or checked) and not reference:
        st.warning(t("admin.folder_missing"), icon=":material/folder_off:")
        return
    try:
        if started:
            with st.spinner(t("admin.starting")):
                get_app().bench.start_run(budget_usd=budget, **changes)
        elif checked:
            with st.spinner(t("admin.estimating")):
                show_plan(get_app().bench.plan_run(**changes))
    except ChatbotError as error:
        show_error(error)


def _dataset() -> str:
    """A name or a folder; "" while none is given."""
    folder_choice = t("admin.folder_choice")
    chosen = st.selectbox(t("admin.dataset"), [*get_app().bench.data.names(), folder_choice], key="run_dataset")
    if chosen != folder_choice:
        return chosen
    return st.text_input(t("admin.folder"), placeholder=t("admin.folder_hint"), key="run_folder").strip()


def _retrieval() -> dict[str, Any]:
    app = get_app()
    strategies = list(app.bench.strategies())
    usual = app.settings.retrieval_strategy
    strategy = st.selectbox(
        t("admin.strategy"),
        strategies,
        index=strategies.index(usual) if usual in strategies else 0,
        format_func=lambda name: f"{name} · {t(f'strategy.{name}')}",
        key="run_strategy",
    )
    max_queries = st.number_input(
        t("admin.max_queries"), min_value=0, value=0, step=10, help=t("admin.max_queries_help"), key="run_max_queries"
    )
    return {"retrieval_strategy": strategy, "eval_max_queries": int(max_queries)}


def _answers() -> dict[str, Any]:
    """Settings of answers and judge, and ``budget_usd`` where there is something to spend."""
    settings = get_app().settings
    generate = st.toggle(
        t("admin.generate", model=settings.language_model),
        value=settings.generation_enabled,
        help=t("admin.generate_help"),
        key="run_generate",
    )
    if not generate:
        return {"generation_enabled": False}
    changes: dict[str, Any] = {"generation_enabled": True}
    judge = settings.with_changes(generation_enabled=True).judge
    if not judge:
        st.caption(t("admin.no_judge"))
        return changes
    if not st.toggle(t("admin.judge", model=judge), value=True, help=t("admin.judge_help"), key="run_judge"):
        changes["judge_metrics"] = ""
    limit = st.number_input(
        t("admin.budget"), min_value=0.0, value=0.0, step=0.5, help=t("admin.budget_help"), key="run_budget"
    )
    if limit:
        changes["budget_usd"] = float(limit)
    return changes
