"""Form that configures and starts a benchmark run."""

from __future__ import annotations

from typing import Any

import streamlit as st

from chatbot_mvp.api import JUDGE_METRICS, RUN_PARAMETERS, RunPlan
from chatbot_mvp.errors import ChatbotError
from streamlit_app.admin.presets import chosen_system, preset_bar
from streamlit_app.admin.run_fields import begin_fields, changed, every_value, field, key_of, value
from streamlit_app.shared.i18n import bare, duration, number, plain, t
from streamlit_app.shared.metrics import round_dollars
from streamlit_app.shared.state import get_app, show_error

_ALWAYS_SEEN = ("retrieval_strategy", "eval_max_queries", "generation_enabled", "judge_metrics")
_ICONS = {
    "data": ":material/dataset:",
    "retrieval": ":material/search:",
    "reranking": ":material/sort:",
    "answers": ":material/chat:",
    "judge": ":material/gavel:",
    "limits": ":material/speed:",
}


def launcher() -> bool:
    """Draw the form: data set, preset or parameters, estimate, start; True when a run was just launched."""
    begin_fields()
    preset_bar()
    left, right = st.columns(2)
    with left:
        reference = _dataset()
        field("retrieval_strategy")
    with right:
        field("eval_max_queries")
        _answers()
    for group, names in RUN_PARAMETERS.items():
        with st.expander(t(f"admin.run.{group}"), icon=_ICONS[group]):
            _group(group, [name for name in names if name not in _ALWAYS_SEEN])
    return _start(reference)


def _group(group: str, names: list[str]) -> None:
    if group == "judge":
        field("judge_metrics")
    if group == "limits":
        st.number_input(
            t("admin.budget"), min_value=0.0, value=0.0, step=0.5, help=t("admin.budget_help"), key="run_budget"
        )
    for start in range(0, len(names), 3):
        # One row of columns per three fields, so that a narrow page stacks them in order.
        for column, name in zip(st.columns(3, vertical_alignment="bottom"), names[start : start + 3], strict=False):
            with column:
                field(name)


def _start(reference: str) -> bool:
    # With a system, every value is given: a field that was set back to the settings' value is not the system's.
    named = chosen_system()
    changes: dict[str, Any] = {**(every_value() if named else changed()), "mteb_dataset_name": reference}
    # Without a model nothing is spent, so no budget is needed.
    budget = st.session_state.run_budget if value("generation_enabled") else 0.0
    start, check, _ = st.columns([1.3, 1.6, 3])
    started = start.button(
        t("admin.start"), type="primary", icon=":material/play_arrow:", key="run_start", width="stretch"
    )
    checked = check.button(t("admin.estimate"), icon=":material/request_quote:", key="run_plan", width="stretch")
    if (started or checked) and not reference:
        st.warning(t("admin.folder_missing"), icon=":material/folder_off:")
        return False
    try:
        if started:
            with st.spinner(t("admin.starting")):
                get_app().runs.start_run(budget_usd=float(budget) or None, preset=named, **changes)
            return True
        if checked:
            with st.spinner(t("admin.estimating")):
                _show_plan(get_app().runs.plan_run(preset=named, **changes))
    except ChatbotError as error:
        show_error(error)
    return False


def _dataset() -> str:
    """Return the chosen data set: a name, an address on S3, a knowledge base with questions or a folder; "" if none."""
    data = get_app().datasets
    folder_choice = t("admin.folder_choice")
    remote = data.remote()
    known = [*data.names(), *(found.reference for found in (remote.found if remote else ()))]
    of_kbs = get_app().kb_evaluation.references()
    chosen = st.selectbox(
        t("eval.col.dataset"),
        [*known, *of_kbs, folder_choice],
        format_func=lambda name: bare("admin.dataset_kb", name=of_kbs[name]) if name in of_kbs else _named(name),
        key="run_dataset",
        help=t("admin.dataset_help"),
    )
    if chosen != folder_choice:
        return chosen
    return st.text_input(t("admin.folder"), placeholder=t("admin.folder_hint"), key="run_folder").strip()


def _named(name: str) -> str:
    """Return the name of a data set; of the one that comes with the program, with what it is."""
    bundled = (get_app().settings.samples_dir / name).is_dir()
    return bare("admin.dataset_sample", name=name) if bundled else name


def _answers() -> None:
    """Draw the switches for answers and judge."""
    settings = get_app().settings.with_changes(
        generation_enabled=True,
        provider=value("provider"),
        judge_provider=st.session_state[key_of("judge_provider")],
        judge_model_name=value("judge_model_name"),
        judge_metrics=",".join(JUDGE_METRICS),
    )
    generate = st.toggle(
        t("admin.generate", model=settings.language_model), help=t("admin.generate_help"), key="run_generate"
    )
    if not generate:
        return
    if not settings.judge:
        st.caption(t("eval.no_judge"))
        return
    st.toggle(t("admin.judge", model=settings.judge), help=t("admin.judge_help"), key="run_judge")
    if st.session_state.run_judge and settings.judge == settings.language_model:
        st.markdown(f":small[:orange[{t('plan.warning.own_judge', judge=settings.judge)}]]")


def _show_plan(plan: RunPlan) -> None:
    """Draw the size of the run, what is cached, and the estimated requests, tokens, time and cost."""
    with st.container(border=True):
        unknown = t("plan.unknown")
        size = [number(value) if value is not None else unknown for value in (plan.queries, plan.documents)]
        st.markdown(f"**{t('plan.title')}** · {t('plan.size', queries=size[0], documents=size[1])}")
        if plan.vectors is not None:
            st.caption(t("plan.vectors", cached=number(plan.vectors.cached), total=number(plan.vectors.total)))
        for one in plan.warnings:
            values = {
                name: number(value) if isinstance(value, int) else plain(value) for name, value in one.values.items()
            }
            st.warning(t(f"plan.warning.{one.code}", **values), icon=":material/warning:")
        estimate = plan.estimate
        if estimate is None:
            st.caption(t("plan.asks_nobody"))
            return
        total = estimate.total
        calls, tokens, seconds, cost = st.columns(4)
        calls.metric(t("detail.requests"), number(total.calls.expected))
        tokens.metric(t("detail.tokens"), number(total.prompt_tokens.expected + total.completion_tokens.expected))
        seconds.metric(t("plan.time"), duration(total.seconds.expected) if total.seconds else unknown)
        cost.metric(
            t("eval.cost"), round_dollars(total.cost_usd.expected) if total.cost_usd else t("eval.cost_unknown")
        )
        st.caption(t("plan.basis"))
