"""Chart of a data set's last runs. Imported only to draw it, because Altair takes time to import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from chatbot_mvp.api import RunLine
from streamlit_app.pictures.picture import show_chart
from streamlit_app.shared.i18n import moment, t
from streamlit_app.shared.metrics import interval_text
from streamlit_app.shared.runs import Figure, spoken


def show_run_chart(runs: Sequence[RunLine], figures: Mapping[str, Figure], key: str) -> list[str]:
    """Draw one bar per run (run_id -> its figure), and return the ids of the runs that were just clicked."""
    event = show_chart(_chart(runs, figures), on_select="rerun", selection_mode="run", key=key)
    return [str(point["run_id"]) for point in event.selection.get("run", [])]


def _chart(runs: Sequence[RunLine], figures: Mapping[str, Figure]) -> alt.LayerChart | alt.FacetChart:
    """Return the chart: one bar per run, oldest on the left, with a line for its interval."""
    rows: list[dict[str, Any]] = []
    for run in reversed(runs):
        figure = figures[run.run_id]
        low, high = figure.interval or (None, None)
        rows.append(
            {
                "run_id": run.run_id,
                "value": figure.value,
                "low": low,
                "high": high,
                "when": moment(run.started_at),
                "metric": figure.label,
                "strategy": spoken(run.system) or "–",
                "said": f"{figure.text} ({interval_text(figure.interval)})",
            }
        )
    chosen = alt.selection_point(name="run", fields=["run_id"], on="click")
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("run_id:N", sort=None, title=None, axis=alt.Axis(labels=False, ticks=False)),
        color=alt.Color("metric:N", legend=None),  # the theme's first colour, which differs in dark mode
        tooltip=[
            alt.Tooltip("when:N", title=t("eval.col.when")),
            alt.Tooltip("strategy:N", title=t("eval.col.strategy")),
            alt.Tooltip("said:N", title=figure.label),
        ],
    )
    # Keep the bars of metrics that may exceed 1 inside the chart.
    scale = alt.Scale(domain=[0, max([1.0, *(float(row["high"] or row["value"] or 0) for row in rows)])])
    bars = base.mark_bar(cursor="pointer", cornerRadiusEnd=3).encode(
        y=alt.Y("value:Q", title=None, scale=scale, axis=alt.Axis(tickCount=3)),
        opacity=alt.condition(chosen, alt.value(0.45), alt.value(0.25)),
    )
    rules = (
        base.transform_filter("datum.low != null")
        .mark_rule(strokeWidth=3)
        .encode(y=alt.Y("low:Q", title=None), y2=alt.Y2("high:Q"))
    )
    return alt.layer(bars.add_params(chosen), rules).properties(height=130)
