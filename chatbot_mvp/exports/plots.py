"""Draw the figures of a run as SVG, without a browser."""

from __future__ import annotations

import io
from importlib.util import find_spec

import altair as alt
import pandas as pd

from chatbot_mvp.errors import MissingPackage
from chatbot_mvp.metrics.registry import COMPARED
from chatbot_mvp.runs.result import RunResult

_CURVES = {"recall": "recall@K", "ndcg": "ndcg@K", "all_gold": "all_gold@K"}
_WIDTH = 560


def plots_of(result: RunResult) -> dict[str, bytes]:
    """Return name -> SVG of the plots "curves", "intervals" and "causes", as far as the run has the figures.

    Raises:
        MissingPackage: vl-convert-python, with which Altair draws, is not installed.
    """
    if find_spec("vl_convert") is None:
        command = "pip install 'chatbot-mvp[charts]'"
        raise MissingPackage(feature="Drawing the plots of a report", package="vl-convert-python", command=command)
    drawn = {"curves": _curves(result), "intervals": _intervals(result), "causes": _causes(result)}
    return {name: _svg(chart) for name, chart in drawn.items() if chart is not None}


def _curves(result: RunResult) -> alt.Chart | None:
    rows = []
    for name, value in result.metrics.items():
        family, _, k = name.partition("@")
        if family in _CURVES and value is not None:
            rows.append({"metric": _CURVES[family], "K": int(k), "value": value})
    if not rows:
        return None
    chart: alt.Chart = (
        alt.Chart(pd.DataFrame(rows))
        .mark_line(point=True)
        .encode(
            x=alt.X("K:Q"),
            y=alt.Y("value:Q", title=None, scale=alt.Scale(domain=[0, 1])),
            color=alt.Color("metric:N", title=None),
            shape=alt.Shape("metric:N", title=None),
        )
        .properties(width=_WIDTH, height=240)
    )
    return chart


def _intervals(result: RunResult) -> alt.LayerChart | alt.FacetChart | None:
    rows = []
    for name in COMPARED:
        value, interval = result.metrics.get(name), result.intervals.get(name)
        if value is not None and interval:
            rows.append({"metric": name, "mean": value, "low": interval[0], "high": interval[1]})
    if not rows:
        return None
    order = [str(row["metric"]) for row in rows]
    base = alt.Chart(pd.DataFrame(rows)).encode(y=alt.Y("metric:N", sort=order, title=None))
    bars = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title="mean and 95 % interval", scale=alt.Scale(domain=[0, 1])), x2="high:Q"
    )
    points = base.mark_point(filled=True, size=60).encode(x="mean:Q")
    return alt.layer(bars, points).properties(width=_WIDTH)


def _causes(result: RunResult) -> alt.LayerChart | alt.FacetChart | None:
    rows = [{"cause": cause, "questions": count} for cause, count in result.causes.items() if count]
    if not rows:
        return None
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("questions:Q", axis=alt.Axis(tickMinStep=1, format="d")),
        y=alt.Y("cause:N", sort=[str(row["cause"]) for row in rows], title=None),
    )
    return alt.layer(base.mark_bar(), base.mark_text(align="left", dx=4).encode(text="questions:Q")).properties(
        width=_WIDTH
    )


def _svg(chart: alt.Chart | alt.LayerChart | alt.FacetChart) -> bytes:
    text = io.StringIO()
    chart.save(text, format="svg")
    return text.getvalue().encode()
