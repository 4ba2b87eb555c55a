"""Shows what a finished tune found, and takes its configuration into the chat."""

from __future__ import annotations

import altair as alt
import pandas as pd
import streamlit as st

from chatbot_mvp.settings.access import Action
from chatbot_mvp.wings.tune.confirming import Difference
from chatbot_mvp.wings.tune.service import Tuner
from chatbot_mvp.wings.tune.types import Trial, TuneResult
from streamlit_app.pictures.picture import Picture, show_picture
from streamlit_app.shared.configuration import setting_label, value_text
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import bare, duration, number, plain, score, t
from streamlit_app.shared.metrics import interval_text, metric_label
from streamlit_app.shared.state import errors_shown, get_app
from streamlit_app.shared.tables import draw_table

_GAIN, _REST = "#00875a", "#8a9290"


def show_tune_result(result: TuneResult) -> None:
    """Draw the outcome in one sentence, the figures on untouched questions, the changes, and the trade-offs."""
    against = result.against_today
    counts = {name: number(getattr(against, name)) if against else "–" for name in ("better", "worse", "pairs")}
    text = t(f"tune.verdict.{result.verdict}", **counts)
    if result.recommended:
        st.success(text, icon=":material/trending_up:")
    else:
        st.info(text, icon=":material/balance:")
    if result.winner:
        _changes(result)
    if against:
        with st.expander(t("tune.details"), icon=":material/query_stats:"):
            _figures(result, against)
    _trade_offs(result)
    st.caption(
        t(
            "tune.basis",
            tried=number(len(result.trials) - 1),
            time=duration(result.seconds),
            searching=number(result.searching),
            confirming=number(result.confirming),
        )
    )


def _figures(result: TuneResult, against: Difference) -> None:
    metric = metric_label(result.metric)
    today, winner, gain = st.columns(3)
    today.metric(t("tune.today", metric=metric), score(result.today_score))
    winner.metric(t("tune.winner", metric=metric), score(result.winner_score))
    gain.metric(t("tune.gain"), interval_text((against.low, against.high), signed=True), help=t("tune.gain_help"))
    st.markdown(_against("today", against))
    if result.against_runner_up:
        st.markdown(_against("runner_up", result.against_runner_up))
    st.caption(t("tune.p_help"))


def _against(other: str, found: Difference) -> str:
    return t(
        f"tune.against_{other}",
        better=number(found.better),
        worse=number(found.worse),
        pairs=number(found.pairs),
        p=number(found.p_holm, 3),
    )


@errors_shown()
def _changes(result: TuneResult) -> None:
    """Draw what applying would change, and the button that does it."""
    tuner = get_app().get(Tuner)
    made = tuner.preview(result.tune_id, result.winner.config_id if result.winner else "")
    if made.reason:
        st.warning(plain(made.reason), icon=":material/block:")
        return
    if not made.changes:
        st.caption(f":green[:material/check_circle:] {t('tune.in_use')}")
        return
    draw_table(
        [
            {
                t("compare.col.setting"): setting_label(name),
                t("tune.before"): value_text(before),
                t("tune.after"): value_text(after),
                t("compare.col.name"): name.upper(),
            }
            for name, (before, after) in made.changes.items()
        ]
    )
    if st.button(
        t("tune.apply" if result.recommended else "tune.apply_anyway"),
        type="primary" if result.recommended else "secondary",
        icon=":material/check:",
        key="tune_apply",
        **guarded(Action.CHANGE_SETTINGS, t("tune.apply_help")),
    ):
        with errors_shown():
            tuner.apply(result.tune_id, made.configuration.config_id)
            st.toast(t("tune.applied_toast"), icon=":material/check_circle:")
            st.rerun(scope="app")


def _trade_offs(result: TuneResult) -> None:
    """Draw quality against time of the configurations of the last round, those that nothing dominates marked."""
    last = max((trial.rounds for trial in result.trials), default=0)
    shown = [trial for trial in result.trials if trial.rounds == last and trial.seconds_p50 is not None]
    if len(shown) < 2:
        return
    names = {True: t("tune.front"), False: t("tune.behind")}
    frame = pd.DataFrame(
        {
            "ms": 1_000 * (trial.seconds_p50 or 0.0),
            "score": trial.score,
            "kind": names[trial.on_front],
            "label": _label(trial),
        }
        for trial in shown
    )
    with st.expander(t("tune.trade_offs"), icon=":material/scatter_plot:"):
        scale = alt.Scale(domain=list(names.values()), range=[_GAIN, _REST])
        points = (
            alt.Chart(frame)
            .mark_point(size=90, filled=True, opacity=0.85)
            .encode(
                x=alt.X("ms:Q", title=t("tune.milliseconds"), scale=alt.Scale(zero=False, nice=True)),
                y=alt.Y("score:Q", title=metric_label(result.metric), scale=alt.Scale(zero=False, nice=True)),
                color=alt.Color("kind:N", scale=scale, legend=alt.Legend(orient="top", title=None)),
                tooltip=[
                    alt.Tooltip("label:N", title=t("tune.configuration")),
                    alt.Tooltip("score:Q", title=metric_label(result.metric), format=".3f"),
                    alt.Tooltip("ms:Q", title=t("tune.milliseconds"), format=".1f"),
                ],
            )
        )
        table = [
            {
                t("tune.configuration"): _label(trial),
                metric_label(result.metric): score(trial.score),
                t("tune.gain_search"): number(100 * trial.gain, 1),
                t("tune.milliseconds"): number(1_000 * (trial.seconds_p50 or 0.0), 1),
            }
            for trial in result.front
        ]
        chart = points.properties(height=280)
        show_picture(Picture("tune", bare("tune.trade_offs"), bare("tune.trade_offs_help"), chart, table))


def _label(trial: Trial) -> str:
    changes = trial.configuration.changes
    said = [f"{setting_label(name)}: {value_text(value)}" for name, value in changes.items()]
    return ", ".join(said) or t("tune.as_today")
