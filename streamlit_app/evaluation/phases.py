"""Where the time and the money of a run went."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from chatbot_mvp.api import RunResult, Spent
from streamlit_app.pictures.picture import Picture, ink, show_picture
from streamlit_app.shared.i18n import bare, duration_text, number, t
from streamlit_app.shared.jobs import phase_name
from streamlit_app.shared.metrics import dollars

_ORDER = (
    *("load", "index", "enrich", "questions", "link", "embed_corpus", "check_questions", "embed_queries"),
    *("retrieve", "retrieval"),
    *("generate", "judge", "similarity", "score", "aggregate", "export"),
)
_SHOWN_SECONDS = 0.05  # shorter phases would be invisible in the chart


def show_phases(result: RunResult) -> None:
    """Draw seconds and cost per phase, as a chart and as a table."""
    seconds, usage = result.seconds, result.usage.phases
    if not seconds:
        return
    shown = {name: value for name, value in seconds.items() if value >= _SHOWN_SECONDS} or dict(seconds)
    bars = _bars({name: shown[name] for name in _sorted(shown)}, t("detail.seconds"), duration_text)
    rows = [_row(name, seconds, usage) for name in _sorted({**seconds, **usage})]
    total = bare("picture.phases_said", time=duration_text(sum(seconds.values())))
    show_picture(Picture("phases", bare("detail.phases"), total, bars, rows))
    costs = {name: spent.cost_usd for name, spent in usage.items() if spent.cost_usd}
    if costs:
        costs = {name: costs[name] for name in _sorted(costs)}
        total = bare("picture.costs_said", cost=dollars(sum(costs.values())))
        show_picture(Picture("costs", bare("picture.costs"), total, _bars(costs, t("eval.cost"), dollars), rows))
    elif usage:
        unpriced = any(spent.unpriced for spent in usage.values())
        st.caption(t("detail.cost_unknown" if unpriced else "eval.no_cost"))
    if counts := result.passage_questions:
        shown_counts = {name: number(count) for name, count in counts.items()}
        st.caption(t("detail.passage_questions", **shown_counts))


def _row(name: str, seconds: Mapping[str, float], usage: Mapping[str, Spent]) -> dict[str, str]:
    spent = usage.get(name)
    cost = "–"
    if spent:
        cost = t("eval.cost_unknown") if spent.unpriced else dollars(spent.cost_usd)
    return {
        t("detail.phase_name"): phase_name(name),
        t("eval.time"): duration_text(seconds[name]) if name in seconds else "–",
        t("detail.requests"): number(spent.calls) if spent else "–",
        t("detail.cached"): number(spent.cached) if spent else "–",
        t("detail.tokens"): number(spent.tokens) if spent else "–",
        t("eval.cost"): cost,
    }


def _bars(values: Mapping[str, float], title: str, text: Any) -> alt.LayerChart | alt.FacetChart:
    rows = [{"phase": phase_name(name), "value": value, "text": text(value)} for name, value in values.items()]
    bars = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X(
            "value:Q",
            title=title,
            axis=alt.Axis(tickCount=5),
            scale=alt.Scale(domain=[0, 1.18 * max(values.values()) or 1.0]),
        ),
        y=alt.Y(
            "phase:N",
            title=None,
            sort=[row["phase"] for row in rows],
            axis=alt.Axis(labelLimit=240, labelOverlap=False),
        ),
        tooltip=[alt.Tooltip("phase:N", title=t("detail.phase_name")), alt.Tooltip("text:N", title=title)],
    )
    labels = bars.mark_text(align="left", dx=4, color=ink()).encode(text="text:N")
    return alt.layer(bars.mark_bar(), labels, height=60 + 30 * len(rows))


def _sorted(names: Mapping[str, Any]) -> list[str]:
    return sorted(names, key=lambda name: (_ORDER.index(name) if name in _ORDER else len(_ORDER), name))
