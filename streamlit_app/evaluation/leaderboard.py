"""Ranks runs on the same data by a metric, best first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from chatbot_mvp.api import NO_NOTE, RankedRun, RunGroup, leaderboard, run_kind
from streamlit_app.pictures.picture import Picture, show_picture
from streamlit_app.shared import links
from streamlit_app.shared.i18n import MOMENT_FORMAT, bare, current_language, local_time, number, t, word
from streamlit_app.shared.metrics import choose_figure, interval_text, metric_label
from streamlit_app.shared.runs import data_namer, figure_text, model_name, run_names, spoken
from streamlit_app.shared.state import get_app
from streamlit_app.shared.tables import choose_row

_IN_CHART = 15  # maximum runs in the chart


def show_leaderboard() -> None:
    """Draw the choice of data and metric, the ranked runs, and a button to open one."""
    fields, data_name = get_app().archive.groups(), data_namer()
    field, metric = choose_figure(
        fields, lambda one: _field_text(one, data_name(one)), "runs-board-field", t("runs.board.field_help")
    )
    if metric is None:
        return
    _tell_others(field, fields, data_name(field))
    places = leaderboard(field, metric)
    names = list(run_names([place.run for place in places], lambda run: (run.system,)).values())
    _show_chart(places, names, metric)
    key = f"runs-board-{field.sha256}-{field.kind}-{metric}"
    table = _table(places, metric)
    position = choose_row(table, names.__getitem__, key, title=t("runs.choose"), cut={}, columns=_columns()) or 0
    st.button(
        t("runs.open"),
        key="runs-board-open",
        type="primary",
        icon=":material/monitoring:",
        on_click=links.write_run,
        args=(places[position].run.run_id,),
    )


def _field_text(field: RunGroup, data: str) -> str:
    return bare(
        "runs.board.a_field" if run_kind(field.kind).retrieves else "runs.board.answers_field",
        dataset=data,
        queries=number(field.queries),
        documents=number(field.documents),
        runs=number(len(field.runs)),
        kind=word("runs.kind", field.kind),
    )


def _tell_others(field: RunGroup, fields: Sequence[RunGroup], data: str) -> None:
    """Say how many runs on a data set of the same name are not listed, and why."""
    others = sum(
        len(other.runs)
        for other in fields
        if other is not field and (other.dataset, other.kind) == (field.dataset, field.kind)
    )
    if others:
        st.info(t("runs.board.others", count=number(others), dataset=data), icon=":material/difference:")


def _show_chart(places: Sequence[RankedRun], names: Sequence[str], metric: str) -> None:
    shown = [(name, place.value, place.interval) for name, place in zip(names, places, strict=True)][:_IN_CHART]
    # With fewer than two scored queries there is no interval, only a point.
    rows = [
        {"run": name, "kind": metric, "value": value, **dict(zip(("low", "high"), ends or (value, value), strict=True))}
        for name, value, ends in shown
        if value is not None
    ]
    if len(rows) < 2:
        return
    frame = pd.DataFrame(rows)
    axis = alt.Axis(labelOverlap=False, labelLimit=320)
    base = alt.Chart(frame).encode(
        y=alt.Y("run:N", title=None, axis=axis, sort=[str(row["run"]) for row in rows]),
        color=alt.Color("kind:N", legend=None),  # one colour, the theme's, on light and dark
        tooltip=[
            alt.Tooltip("run:N", title=t("runs.choose")),
            alt.Tooltip("value:Q", title=metric_label(metric), format=".3f"),
            alt.Tooltip("low:Q", title=t("filter.since"), format=".3f"),
            alt.Tooltip("high:Q", title=t("filter.until"), format=".3f"),
        ],
    )
    low, high = float(frame["low"].min()), float(frame["high"].max())
    around = (high - low) * 0.05 or 0.01
    scale = alt.Scale(domain=[low - around, high + around], zero=False)
    rule = base.mark_rule(strokeWidth=3, opacity=0.5).encode(
        x=alt.X("low:Q", title=metric_label(metric), scale=scale, axis=alt.Axis(format=".3f", tickCount=6)), x2="high:Q"
    )
    point = base.mark_point(size=90, filled=True, opacity=1).encode(x=alt.X("value:Q", scale=scale))
    chart = (rule + point).properties(height=60 + 26 * len(rows))
    said = bare("picture.board_said", metric=metric_label(metric))
    if len(places) > _IN_CHART:
        said += f" {bare('runs.board.first', count=number(_IN_CHART), total=number(len(places)))}"
    # The table of all runs follows on the page.
    show_picture(Picture("leaderboard", bare("picture.board", metric=metric_label(metric)), said, chart, ()))


def _table(places: Sequence[RankedRun], metric: str) -> list[dict[str, Any]]:
    notes = get_app().archive.notes()
    return [
        {
            t("runs.board.rank"): place.rank,
            t("eval.col.strategy"): spoken(place.run.strategy),
            t("runs.col.model"): model_name(place.run),
            metric_label(metric): figure_text(place.run, metric),
            t("table.interval"): interval_text(place.interval),
            t("table.scored"): f"{number(place.scored)}/{number(place.total)}",
            t("eval.col.when"): local_time(place.run.started_at),
            t("runs.tags"): list(notes.get(place.run.run_id, NO_NOTE).tags),
        }
        for place in places
    ]


def _columns() -> dict[str, Any]:
    config = st.column_config
    return {
        t("runs.board.rank"): config.NumberColumn(width=70),
        t("eval.col.when"): config.DatetimeColumn(format=MOMENT_FORMAT[current_language()], width=130),
        t("runs.tags"): config.ListColumn(),
    }
