"""Form that plans and starts a tune: the search for the best configuration of a knowledge base or a data set."""

from __future__ import annotations

import streamlit as st

from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.settings.access import Action
from chatbot_mvp.wings.tune.service import Tuner
from chatbot_mvp.wings.tune.types import TuneOptions, TunePlan
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import bare, duration, number, t
from streamlit_app.shared.metrics import dollars, metric_label
from streamlit_app.shared.state import get_app, show_error

_METRICS = {True: ("hit@3", "hit@1", "mrr@10"), False: ("recall@5", "recall@2", "hit@1", "ndcg@10", "mrr@10")}
"""Whether the target is a knowledge base -> metrics to choose from, the usual one first."""
_EFFECTS = (0.01, 0.02, 0.03, 0.05, 0.1)
_USUAL_EFFECT = 0.02
_MOST = (50, 100, 200, 400)
_USUAL_MOST = 200
_PILOT = 2
"""Configurations that *Plan* measures on a few questions, to know how long the tune takes."""


def tune_form() -> bool:
    """Draw the form and the plan; True when a tune was just started."""
    sets = get_app().kb_evaluation.references()
    names = {reference: bare("admin.dataset_kb", name=name) for reference, name in sets.items()}
    names |= {name: f"{bare('eval.col.dataset')}: {name}" for name in get_app().datasets.names()}
    if not sets:
        st.info(t("tune.no_questions"), icon=":material/fact_check:")
    left, right = st.columns(2)
    target = left.selectbox(t("tune.target"), list(names), format_func=names.__getitem__, key="tune_target")
    metric = right.selectbox(
        t("tune.metric"),
        _METRICS[target in sets],
        format_func=metric_label,
        help=t("tune.metric_help"),
        key="tune_metric",
    )
    with st.expander(t("tune.more"), icon=":material/tune:"):
        options = _options(metric)
    return _start(target, options)


def _options(metric: str) -> TuneOptions:
    least, many = st.columns(2)
    effect = least.select_slider(
        t("tune.min_effect"),
        _EFFECTS,
        _USUAL_EFFECT,
        format_func=_points,
        help=t("tune.min_effect_help"),
        key="tune_min_effect",
    )
    most = many.select_slider(
        t("tune.most"), _MOST, _USUAL_MOST, format_func=number, help=t("tune.most_help"), key="tune_most"
    )
    with_model = st.toggle(t("tune.with_model"), help=t("tune.with_model_help"), key="tune_with_model")
    budget = None
    if with_model:
        budget = st.number_input(t("admin.budget"), min_value=0.0, value=1.0, step=0.5, key="tune_budget")
    return TuneOptions(metric, float(effect), int(most), with_model=with_model, budget_usd=budget)


def _points(effect: float) -> str:
    return bare("compare.right_points", points=number(100 * effect))


def _start(target: str, options: TuneOptions) -> bool:
    start, check, _ = st.columns([1.3, 1.6, 3])
    started = start.button(
        t("tune.start"),
        type="primary",
        icon=":material/play_arrow:",
        key="tune_start",
        width="stretch",
        **guarded(Action.MEASURE),
    )
    checked = check.button(
        t("tune.plan"), icon=":material/request_quote:", key="tune_plan", width="stretch", **guarded(Action.MEASURE)
    )
    try:
        if started:
            with st.spinner(t("admin.starting")):
                get_app().get(Tuner).start(target, options=options)
            return True
        if checked:
            with st.spinner(t("admin.estimating")):
                show_tune_plan(get_app().get(Tuner).plan(target, options=options, pilot=_PILOT))
    except ChatbotError as error:
        show_error(error)
    return False


def show_tune_plan(plan: TunePlan) -> None:
    """Draw what a tune would do, what its questions can show, how long it takes and what it costs."""
    power = plan.power
    with st.container(border=True, key="tune-plan"):
        st.markdown(f"**{t('tune.plan_title')}**")
        tried, searching, confirming, time = st.columns(4)
        tried.metric(t("tune.plan_tried"), number(len(plan.configurations) + 2 * len(plan.with_model)))
        searching.metric(t("tune.plan_searching"), number(power.searching))
        confirming.metric(t("tune.plan_confirming"), number(power.confirming), help=t("tune.plan_confirming_help"))
        time.metric(t("eval.time"), duration(plan.seconds) if plan.seconds is not None else t("plan.unknown"))
        if power.from_80 is None:
            st.warning(t("tune.power_none"), icon=":material/help:")
        else:
            sure = _points(power.from_95) if power.from_95 is not None else t("tune.power_more")
            st.markdown(t("tune.power", likely=_points(power.from_80), sure=sure))
        if plan.with_model:
            calls = t("plan.unknown") if plan.calls is None else number(plan.calls)
            cost = t("eval.cost_unknown") if plan.cost_usd is None else dollars(plan.cost_usd)
            st.markdown(t("tune.plan_cost", calls=calls, cost=cost))
        else:
            st.caption(t("plan.asks_nobody"))
