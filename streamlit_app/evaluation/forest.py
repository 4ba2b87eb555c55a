"""Forest plot of a comparison: a point and an interval per metric and run, around a line at 0."""

from __future__ import annotations

from collections.abc import Mapping

import altair as alt
import pandas as pd
import streamlit as st

from chatbot_mvp.api import Comparison
from streamlit_app.shared.charts import ink, show_chart
from streamlit_app.shared.i18n import number, t
from streamlit_app.shared.metrics import interval_text, metric_label

SIGNIFICANT = 0.05

_SHAPES = ["circle", "square", "triangle-up", "diamond"]


def show_forest(comparison: Comparison, labels: Mapping[str, str]) -> None:
    """Draw the plot; nothing if no metric has an interval, as with a single question."""
    names = [labels[run.run_id] for run in comparison.runs]
    rows = [
        {
            "metric": metric_label(m.metric),
            "run": labels[run.run_id],
            "delta": m.delta,
            "low": m.interval[0],
            "high": m.interval[1],
            "sure": m.p_holm is not None and m.p_holm < SIGNIFICANT,
            "told": ("+" if (m.delta or 0) > 0 else "") + number(m.delta or 0.0, 3),
            "interval": interval_text(m.interval, signed=True),
        }
        for run in comparison.runs
        for m in run.metrics
        if m.interval is not None
    ]
    if not rows:
        st.caption(t("compare.too_few"))
        return
    show_chart(_chart(pd.DataFrame(rows), names))
    st.caption(t("compare.forest_legend"))


def _chart(frame: pd.DataFrame, names: list[str]) -> alt.LayerChart | alt.FacetChart:
    metrics = list(dict.fromkeys(frame["metric"]))
    legend = alt.Legend(orient="top", columns=2, labelLimit=220) if len(names) > 1 else None
    base = alt.Chart(frame).encode(
        y=alt.Y("metric:N", title=None, sort=metrics, axis=alt.Axis(labelOverlap=False, labelLimit=170, grid=False)),
        yOffset=alt.YOffset("run:N", sort=names),
        color=alt.Color("run:N", title=None, scale=alt.Scale(domain=names), legend=legend),
        tooltip=[
            alt.Tooltip("metric:N", title=t("eval.metric")),
            alt.Tooltip("run:N", title=t("compare.col.run")),
            alt.Tooltip("told:N", title=t("compare.col.delta")),
            alt.Tooltip("interval:N", title=t("compare.col.interval")),
        ],
    )
    spread = base.mark_rule(strokeWidth=2.5).encode(
        x=alt.X("low:Q", title=t("compare.axis"), axis=alt.Axis(tickCount=6)), x2="high:Q"
    )
    shape = alt.Shape("run:N", title=None, scale=alt.Scale(domain=names, range=_SHAPES[: len(names)]), legend=legend)
    points = [
        base.transform_filter("datum.sure" if sure else "!datum.sure")
        .mark_point(size=100, filled=sure, opacity=1, strokeWidth=2)
        .encode(x="delta:Q", shape=shape)
        for sure in (True, False)
        if (frame["sure"] == sure).any()  # an empty layer would be an unnamed image for screen readers
    ]
    zero = (
        alt.Chart(pd.DataFrame({"x": [0.0]})).mark_rule(strokeDash=[4, 4], strokeWidth=1.5, color=ink()).encode(x="x:Q")
    )
    height = 80 + len(metrics) * (16 + 14 * len(names))
    return alt.layer(zero, spread, *points, height=height, description=t("compare.forest_alt"))
