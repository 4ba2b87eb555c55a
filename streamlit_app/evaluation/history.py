"""History of a data set or knowledge base: one metric of its runs over time, with intervals and changes marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from chatbot_mvp.api import BENCHMARK, History, Series, history_of
from streamlit_app.pictures.picture import Picture, ink, show_picture
from streamlit_app.shared import links
from streamlit_app.shared.i18n import bare, moment, number, score, t, word
from streamlit_app.shared.metrics import choose_figure, interval_text, metric_label
from streamlit_app.shared.runs import data_namer, spoken
from streamlit_app.shared.state import get_app

_IN_CHART = 100  # maximum runs in the chart


def show_history() -> None:
    """Draw the choice of data and metric, the sentence on the first run out of the band, and the chart."""
    every, data_name = get_app().archive.series(), data_namer()
    series, metric = choose_figure(
        every, lambda one: _series_text(one, data_name(one)), "runs-history-series", t("runs.history.series_help")
    )
    if metric is None:
        return
    history = history_of(series, metric)
    _tell_first(history)
    if len(history.points) > _IN_CHART:
        st.caption(t("runs.history.last", count=number(_IN_CHART), total=number(len(history.points))))
    show_picture(
        Picture(
            "history",
            bare("picture.history", metric=metric_label(metric)),
            bare("runs.history.legend"),
            _chart(history),
            [
                {
                    bare("eval.col.when"): row["when"],
                    bare("eval.col.strategy"): row["strategy"],
                    metric_label(metric): row["said"],
                    bare("runs.history.band"): row["band"],
                    bare("runs.history.change"): row["change"],
                }
                for row in _rows(history)
            ],
        ),
        key=f"runs-history-{series.kind}-{series.dataset}-{metric}",
    )


def _series_text(series: Series, data: str) -> str:
    name = data if series.kind == BENCHMARK else f"{data} ({word('runs.kind', series.kind)})"
    return bare("runs.history.a_series", dataset=name, runs=number(len(series.runs)))


def _tell_first(history: History) -> None:
    """Say which run fell out of the band of the runs before it, if one did, with a button to open it."""
    first = history.first_outside
    if first is None or first.band is None:
        st.success(t("runs.history.inside", runs=number(len(history.points))), icon=":material/check:")
        return
    changed = "configuration" if first.configuration_changed else "data" if first.data_changed else "nothing"
    st.warning(
        t(
            "runs.history.outside",
            when=moment(first.started_at),
            value=score(first.value),
            band=interval_text(first.band),
            changes=t(f"runs.history.{changed}_changed"),
        ),
        icon=":material/trending_down:",
    )
    st.button(
        t("job.open"),
        key="runs-history-open",
        icon=":material/monitoring:",
        on_click=links.write_run,
        args=(first.run_id,),
    )


def _chart(history: History) -> alt.LayerChart | alt.FacetChart:
    """Return the chart: a point and an interval per run over the band of the runs before it, oldest on the left.

    Dashed lines mark changes. The first run that fell out of the band has a text beside it.
    """
    rows = _rows(history)
    base = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X(
            "run:N",
            sort=[str(row["run"]) for row in rows],
            title=None,
            axis=alt.Axis(labelAngle=-40),
            scale=alt.Scale(type="band", paddingInner=0, paddingOuter=0.3),
        ),
        tooltip=[
            alt.Tooltip("when:N", title=bare("eval.col.when")),
            alt.Tooltip("strategy:N", title=bare("eval.col.strategy")),
            alt.Tooltip("said:N", title=metric_label(history.metric)),
            alt.Tooltip("band:N", title=bare("runs.history.band")),
            alt.Tooltip("change:N", title=bare("runs.history.change")),
        ],
    )
    scale = alt.Scale(zero=False)
    band = base.transform_filter("datum.band_low != null").mark_bar(
        color=ink(), opacity=0.13, width=alt.RelativeBandSize(1)
    )
    first = base.transform_filter("datum.first").mark_text(dy=-14, color=ink(), fontWeight="bold")
    changes = base.transform_filter("datum.change != '–'").mark_rule(strokeDash=[4, 4], color=ink(), opacity=0.5)
    spans = base.transform_filter("datum.low != null").mark_rule(strokeWidth=2)
    points = base.mark_point(filled=True, size=70, opacity=1)
    colour = alt.Color("state:N", legend=None, sort=[bare("runs.history.in"), bare("runs.history.out")])
    shape = alt.Shape("state:N", legend=None, sort=[bare("runs.history.in"), bare("runs.history.out")])
    return alt.layer(
        band.encode(y=alt.Y("band_low:Q", title=None, scale=scale), y2=alt.Y2("band_high:Q")),
        changes,
        spans.encode(y=alt.Y("low:Q", title=None, scale=scale), y2=alt.Y2("high:Q"), color=colour),
        points.encode(y=alt.Y("value:Q", title=None, scale=scale), color=colour, shape=shape),
        first.encode(y=alt.Y("top:Q", title=None, scale=scale), text=alt.value(bare("runs.history.first"))),
    ).properties(height=320)


def _rows(history: History) -> Sequence[dict[str, Any]]:
    rows = []
    for place, point in enumerate(history.points, 1):
        low, high = point.interval or (None, None)
        band_low, band_high = point.band or (None, None)
        kinds = {"configuration": point.configuration_changed, "data": point.data_changed}
        changed = [bare(f"runs.history.{kind}") for kind, found in kinds.items() if found]
        rows.append(
            {
                # Numbered, because two runs may begin in the same minute.
                "run": f"{place} · {moment(point.started_at)}",
                "when": moment(point.started_at),
                "strategy": spoken(point.system) or "–",
                "value": point.value,
                "low": low,
                "high": high,
                "said": f"{score(point.value)} ({interval_text(point.interval)})",
                "band_low": band_low,
                "band_high": band_high,
                "band": interval_text(point.band) if point.band else "–",
                "top": point.value if high is None else high,
                "first": point is history.first_outside,
                "change": ", ".join(changed) or "–",
                "state": bare("runs.history.out" if point.outside else "runs.history.in"),
            }
        )
    return rows[-_IN_CHART:]
