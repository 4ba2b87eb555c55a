"""Histogram of a chosen metric, or of times, over the questions of a run."""

from __future__ import annotations

import altair as alt
import pandas as pd
import streamlit as st

from chatbot_mvp.api import Distribution, RunResult
from streamlit_app.pictures.picture import Picture, ink, show_picture
from streamlit_app.shared.i18n import bare, number, t, word
from streamlit_app.shared.metrics import metric_label
from streamlit_app.shared.state import errors_shown, get_app

_FIRST = ("generation_score", "recall@5", "ndcg@10", "mrr")
# Measured time -> the phase that a run must have.
_TIMES = {"search": "retrieve", "generate": "generate", "judge": "judge"}
_TIME = "time:"
_REQUESTED = (f"{_TIME}generate", f"{_TIME}judge")  # these phases are timed per request
_GAP = 0.04  # share of a bar's width, on each side


@st.fragment
@errors_shown()
def show_distribution(result: RunResult) -> None:
    """Draw a histogram of the chosen metric over the questions, or of seconds."""
    run_id = result.run_id
    names = get_app().details.table(run_id).metrics
    options = [*names, *(_TIME + name for name, phase in _TIMES.items() if result.seconds.get(phase))]
    if not options:
        return
    first = next((name for name in _FIRST if name in options), options[0])
    chosen = st.selectbox(
        t("detail.distribution_of"),
        options,
        index=options.index(first),
        format_func={name: _label(name) for name in options}.__getitem__,
        key=f"distribution-{run_id}",
    )
    timed, details = chosen.startswith(_TIME), get_app().details
    found = (
        details.latencies(run_id).get(chosen.removeprefix(_TIME))
        if timed
        else details.metric_distribution(run_id, chosen)
    )
    if found is None:
        st.caption(t("detail.distribution_none"))
        return
    counted = t("detail.requests" if chosen in _REQUESTED else "eval.queries")
    rows = [{t("detail.interval"): _range(found, row, timed), counted: count} for row, count in enumerate(found.counts)]
    chart = _chart(found, _label(chosen), counted, timed)
    title = bare("picture.distribution", metric=_label(chosen))
    show_picture(Picture("distribution", title, _summary(found, timed), chart, rows))


def _label(name: str) -> str:
    return word("detail.timed", name.removeprefix(_TIME)) if name.startswith(_TIME) else metric_label(name)


def _chart(found: Distribution, name: str, counted: str, timed: bool) -> alt.LayerChart | alt.FacetChart:
    gap = _GAP * (found.edges[1] - found.edges[0])
    rows = [
        {
            "low": found.edges[row] + gap,
            "high": found.edges[row + 1] - gap,
            "none": 0,
            "count": count,
            "told": _range(found, row, timed),
        }
        for row, count in enumerate(found.counts)
    ]
    scale = alt.Scale(domain=[found.edges[0], found.edges[-1]], nice=False)
    bars = (
        alt.Chart(pd.DataFrame(rows))
        .mark_rect()
        .encode(
            x=alt.X("low:Q", title=name, scale=scale, axis=alt.Axis(grid=False)),
            x2="high:Q",
            y=alt.Y("count:Q", title=counted, axis=alt.Axis(tickMinStep=1, format="d")),
            y2="none:Q",
            tooltip=[alt.Tooltip("told:N", title=name), alt.Tooltip("count:Q", title=counted)],
        )
    )
    middle = (
        alt.Chart(pd.DataFrame({"median": [min(found.quantiles[1], found.edges[-1])]}))
        .mark_rule(strokeDash=[5, 3], strokeWidth=2, color=ink())
        .encode(x="median:Q")
    )
    return alt.layer(bars, middle, height=235)


def _range(found: Distribution, row: int, timed: bool) -> str:
    digits = _digits(found, timed)
    return f"{number(found.edges[row], digits)} – {number(found.edges[row + 1], digits)}"


def _digits(found: Distribution, timed: bool) -> int:
    """Return the number of decimals needed to distinguish two bin edges."""
    if not timed:
        return 1 if found.edges[-1] <= 1 else 0
    return 1 if found.edges[-1] >= 5 else 3


def _summary(found: Distribution, timed: bool) -> str:
    low, median, high = (number(value, 3) for value in found.quantiles)
    parts = [t("detail.quantiles", mean=number(found.mean, 3), median=median, low=low, high=high)]
    if found.missing:
        parts.append(t("detail.unscored", count=number(found.missing)))
    if found.above:
        parts.append(t("detail.above", count=number(found.above), limit=number(found.edges[-1], _digits(found, timed))))
    return " ".join(parts)
