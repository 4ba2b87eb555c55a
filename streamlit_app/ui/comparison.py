"""Two finished runs of one data set side by side: deltas with intervals, the questions that changed, what differs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from chatbot_mvp.app import Comparison, MetricDelta, RunDelta
from chatbot_mvp.errors import ChatbotError
from streamlit_app.ui.i18n import number, score, t
from streamlit_app.ui.metrics import interval_text, metric_help, metric_label
from streamlit_app.ui.runs import RAGAS, run_names
from streamlit_app.ui.state import get_app, show_error

_SIGNIFICANT = 0.05

Run = Mapping[str, Any]


def show_comparison(runs: Sequence[Run], shown: Run) -> None:
    """Choose a base and another run over the shown run's data, then what differs between them."""
    st.subheader(t("compare.title"))
    same = _SAME_ANSWERED if shown.get("kind") == RAGAS else _SAME
    alike = [run for run in runs if all(run.get(name) == shown.get(name) for name in same)]
    if len(alike) < 2:
        st.caption(t("compare.none"))
        return
    fields = ("dataset", "judge", "fingerprint") if shown.get("kind") == RAGAS else ("strategy", "fingerprint")
    names = run_names(alike, fields)
    ids = list(names)
    # A key per shown run: its choice belongs to it.
    left, right = st.columns(2)
    base = left.selectbox(
        t("compare.base"),
        ids,
        index=ids.index(str(shown["run_id"])),
        format_func=names.__getitem__,
        key=f"compare-base-{shown['run_id']}",
    )
    other = right.selectbox(
        t("compare.other"),
        [run_id for run_id in ids if run_id != base],
        index=None,
        format_func=names.__getitem__,
        placeholder=t("compare.choose"),
        key=f"compare-other-{shown['run_id']}-{base}",
    )
    if base is None or other is None:
        return
    try:
        comparison = _compare(base, other)
    except ChatbotError as error:
        show_error(error)
        return
    [run] = comparison.runs
    st.markdown(_verdict(run.metrics))
    _show_forest(run.metrics)
    _show_table(run.metrics)
    _show_changes(run)
    _show_configuration(run)


_SAME = ("dataset", "queries", "documents")
# Of evaluations of answers: the same questions, whatever the file of a system's answers is called.
_SAME_ANSWERED = ("kind", "dataset_sha256")


def _compare(base: str, other: str) -> Comparison:
    """Kept for the session: a click elsewhere on the page is no reason to draw thousands of samples again."""
    kept = st.session_state.get("comparison")
    if kept is None or kept[0] != (base, other):
        kept = ((base, other), get_app().bench.past.compare([base, other]))
        st.session_state.comparison = kept
    comparison: Comparison = kept[1]
    return comparison


def _verdict(metrics: Sequence[MetricDelta]) -> str:
    names = [metric_label(m.metric) for m in metrics if m.p_holm is not None and m.p_holm < _SIGNIFICANT]
    return t("compare.differs", metrics=", ".join(names)) if names else t("compare.no_difference")


def _show_forest(metrics: Sequence[MetricDelta]) -> None:
    rows = [
        {
            "metric": metric_label(m.metric),
            "delta": m.delta,
            "low": m.interval[0],
            "high": m.interval[1],
            "significant": t("compare.yes" if m.p_holm is not None and m.p_holm < _SIGNIFICANT else "compare.no"),
        }
        for m in metrics
        if m.interval is not None
    ]
    if not rows:
        return
    frame = pd.DataFrame(rows)
    legend = alt.Legend(orient="top")
    axis = alt.Axis(labelOverlap=False, labelLimit=220)
    y = alt.Y("metric:N", title=None, axis=axis, sort=[str(row["metric"]) for row in rows])
    chosen = alt.Scale(domain=[t("compare.yes"), t("compare.no")])
    base = alt.Chart(frame).encode(
        y=y,
        color=alt.Color("significant:N", title=t("compare.significant"), scale=chosen, legend=legend),
        tooltip=[
            alt.Tooltip("metric:N", title=t("eval.metric")),
            alt.Tooltip("delta:Q", title=t("compare.col.delta"), format="+.3f"),
            alt.Tooltip("low:Q", title=t("compare.col.low"), format="+.3f"),
            alt.Tooltip("high:Q", title=t("compare.col.high"), format="+.3f"),
        ],
    )
    spread = base.mark_rule(strokeWidth=3).encode(x=alt.X("low:Q", title=t("compare.axis")), x2="high:Q")
    point = base.mark_point(size=90, filled=True, opacity=1).encode(
        x="delta:Q", shape=alt.Shape("significant:N", title=t("compare.significant"), scale=chosen, legend=legend)
    )
    zero = alt.Chart(pd.DataFrame({"x": [0.0]})).mark_rule(strokeDash=[4, 4]).encode(x="x:Q")
    st.altair_chart((zero + spread + point).properties(height=90 + 34 * len(rows)), width="stretch")


def _show_table(metrics: Sequence[MetricDelta]) -> None:
    st.dataframe(
        [
            {
                t("eval.metric"): metric_label(m.metric),
                t("compare.col.base"): score(m.base),
                t("compare.col.other"): score(m.other),
                t("compare.col.delta"): _signed(m.delta),
                t("compare.col.interval"): interval_text(m.interval, signed=True),
                t("compare.col.p"): _p(m.p),
                t("compare.col.p_holm"): _p(m.p_holm),
                t("compare.col.improved"): len(m.improved),
                t("compare.col.worsened"): len(m.worsened),
                t("compare.col.equal"): m.equal,
                t("compare.col.scored"): f"{m.pairs}/{m.total}",
            }
            for m in metrics
        ],
        hide_index=True,
        width="stretch",
        column_config={t("compare.col.p_holm"): st.column_config.TextColumn(help=t("compare.p_help"))},
    )
    st.caption(t("compare.method"))


def _show_changes(run: RunDelta) -> None:
    by_name = {m.metric: m for m in run.metrics}
    name = st.selectbox(
        t("compare.changes_by"), list(by_name), format_func=metric_label, key="compare-metric", help=t("compare.help")
    )
    metric = by_name.get(name or "")
    if metric is None:
        return
    st.caption(metric_help(metric.metric))
    heads = (
        t("compare.improved", count=number(len(metric.improved))),
        t("compare.worsened", count=number(len(metric.worsened))),
    )
    for column, head, changes in zip(
        st.columns(2, gap="large"), heads, (metric.improved, metric.worsened), strict=True
    ):
        with column:
            st.markdown(f"**{head}**")
            if changes:
                st.dataframe(
                    [
                        {
                            t("eval.col.question"): change.question or change.query_id,
                            t("compare.col.base"): score(change.base),
                            t("compare.col.other"): score(change.other),
                        }
                        for change in changes
                    ],
                    hide_index=True,
                    width="stretch",
                    height=min(260, 38 + 36 * len(changes)),
                    column_config={t("eval.col.question"): st.column_config.TextColumn(width="medium")},
                )


def _show_configuration(run: RunDelta) -> None:
    st.markdown(f"**{t('compare.configuration')}**")
    if not run.configuration:
        st.caption(t("compare.same_configuration"))
        return
    st.dataframe(
        [
            {t("compare.col.setting"): name, t("compare.col.base"): str(one), t("compare.col.other"): str(two)}
            for name, (one, two) in run.configuration.items()
        ],
        hide_index=True,
        width="stretch",
    )


def _signed(value: float | None) -> str:
    return "–" if value is None else ("+" if value > 0 else "") + number(value, 3)


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return f"< {number(0.001, 3)}" if value < 0.001 else number(value, 3)
