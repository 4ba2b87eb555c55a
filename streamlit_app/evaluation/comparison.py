"""Compares two to five finished runs on one data set: their differences and how significant they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from chatbot_mvp.api import Comparison, RunLine, run_labels, why_not_comparable
from streamlit_app.evaluation.changed_queries import show_changes
from streamlit_app.evaluation.in_words import show_comparison_in_words
from streamlit_app.pictures.picture import Picture, ink, show_picture
from streamlit_app.shared import links
from streamlit_app.shared.configuration import setting_label, value_text
from streamlit_app.shared.i18n import bare, code, number, plain, score, t
from streamlit_app.shared.metrics import interval_text, metric_label, of_text, percent, signed_number
from streamlit_app.shared.runs import run_names, spoken
from streamlit_app.shared.state import errors_shown, get_app
from streamlit_app.shared.tables import draw_table

_SIGNIFICANT = 0.05
_SHAPES = ["circle", "square", "triangle-up", "diamond"]
_OTHERS = 4  # maximum runs besides the base; more lines would be hard to tell apart

# Session keys: the chosen base (a widget's key), and the ids last written into the URL.
_BASE = "compare-base"
_TOLD = "compare-told"


@errors_shown()
def show_comparison(runs: Sequence[RunLine], asked: Sequence[str]) -> None:
    """Draw the choice of a base and up to four other runs, then the differences between them.

    Args:
        runs: all runs, as in ``submissions.jsonl``.
        asked: ids of runs that the URL requests, the base first. The URL follows the choice.
    """
    st.header(t("compare.title"))
    if len(runs) < 2:
        st.caption(t("compare.none"))
        return
    names = run_names(runs)
    ids = _choose(runs, names, asked)
    st.session_state[_TOLD] = ids
    links.write_comparison(ids)
    if len(ids) < 2:
        return
    with st.spinner(t("compare.working")):
        comparison = get_app().details.compare(ids)
    by_id = {run.run_id: run for run in runs}
    labels = {run_id: spoken(label) for run_id, label in run_labels([by_id[run_id] for run_id in ids]).items()}
    show_comparison_in_words(comparison, [by_id[run_id] for run_id in ids])
    _show_who([by_id[run_id] for run_id in ids], names, labels)
    _show_versions(comparison)
    if comparison.headlines:
        _show_headlines(comparison, labels)
        with st.expander(t("compare.figures"), icon=":material/table_chart:"):
            _show_figures(comparison, labels)
    else:
        _show_figures(comparison, labels)
    show_changes(comparison, labels)
    _show_configuration(comparison, labels)


def _show_headlines(comparison: Comparison, labels: Mapping[str, str]) -> None:
    """Draw the one figure of each run; all others are behind it."""
    chat = all(any(one.metric == "solved" for one in run.metrics) for run in comparison.runs)
    st.markdown(f"**{plain(metric_label('solved')) if chat else t('compare.right')}**")
    base = comparison.headlines[0].right.value or 0.0
    for column, one in zip(st.columns(len(comparison.headlines)), comparison.headlines, strict=True):
        share, (low, high) = one.right.value or 0.0, one.right.interval or (0.0, 1.0)
        points = number(100 * abs(share - base), 1)
        alike = points == number(0, 1)
        # Streamlit reads the sign for the arrow: a hyphen, not a minus sign.
        said = t("compare.right_points", points=f"{'+' if share > base else '-'}{points}")
        change = None if one is comparison.headlines[0] else t("compare.right_same") if alike else said
        how: Any = {"delta_color": "off", "delta_arrow": "off"} if alike else {}
        with column.container(border=True, height="stretch"):
            st.metric(plain(labels[one.run_id]), percent(share), change, **how)
            ends = t("compare.right_interval", low=number(100 * low), high=number(100 * high))
            st.caption(f"{of_text(one.right)} · {ends}")
    st.caption(t("compare.right_help_kb" if chat else "compare.right_help"))


def _show_figures(comparison: Comparison, labels: Mapping[str, str]) -> None:
    _show_verdict(comparison, labels)
    _show_forest(comparison, labels)
    _show_table(comparison, labels)


def _show_versions(comparison: Comparison) -> None:
    """Say that the runs searched different versions of a knowledge base, and which questions that concerns."""
    if not comparison.versions:
        return
    numbers = ", ".join(number(one) if one else "?" for one in comparison.versions)
    said = [t("compare.versions", versions=numbers)]
    if changed := comparison.changed_passages:
        said.append(t("compare.passages_changed", count=number(len(changed)), ids=", ".join(changed)))
    st.info(" ".join(said), icon=":material/difference:")


def _choose(runs: Sequence[RunLine], names: Mapping[str, str], asked: Sequence[str]) -> list[str]:
    """Return the ids of the runs to compare, the base first; only the base while no other is chosen."""
    by_id = {run.run_id: run for run in runs}
    wanted: Sequence[str] = ()
    if asked != st.session_state.get(_TOLD) or _BASE not in st.session_state:
        wanted = asked
        st.session_state[_BASE] = asked[0]
    left, right = st.columns([2, 3])
    base: str = left.selectbox(t("compare.base"), list(by_id), format_func=names.__getitem__, key=_BASE)
    reasons = {run_id: why_not_comparable(by_id[base], run) for run_id, run in by_id.items() if run_id != base}
    alike = [run_id for run_id, reason in reasons.items() if reason is None]
    # One key per base, because the comparable runs depend on it; choices that remain valid are kept.
    others_key = f"compare-others-{base}"
    if others_key not in st.session_state or (wanted and wanted[0] == base):
        kept = wanted or st.session_state.get(_TOLD, ())
        st.session_state[others_key] = [run_id for run_id in kept if run_id in alike][:_OTHERS]
    others = right.multiselect(
        t("compare.others"),
        alike,
        format_func=names.__getitem__,
        placeholder=t("compare.choose") if alike else "",
        key=others_key,
        max_selections=_OTHERS,
        disabled=not alike,
    )
    if not alike:
        st.caption(t("compare.none"))
    if unlike := {run_id: reason for run_id, reason in reasons.items() if reason is not None}:
        with st.expander(t("compare.unlike", count=number(len(unlike))), icon=":material/block:"):
            draw_table(
                [
                    {t("eval.choose"): names[run_id], t("compare.col.why"): t(f"compare.why.{reason}")}
                    for run_id, reason in unlike.items()
                ]
            )
    return [base, *others]


def _show_who(runs: Sequence[RunLine], names: Mapping[str, str], labels: Mapping[str, str]) -> None:
    for place, run in enumerate(runs):
        run_id = run.run_id
        role = f" ({t('compare.is_base')})" if place == 0 else ""
        st.caption(
            f"**{plain(labels[run_id][0])}**{role}: {plain(names[run_id])}", help=code(f"{run.strategy} · {run_id}")
        )


def _show_verdict(comparison: Comparison, labels: Mapping[str, str]) -> None:
    for run in comparison.runs:
        differing = [metric_label(m.metric) for m in run.metrics if m.p_holm is not None and m.p_holm < _SIGNIFICANT]
        said = t("compare.differs", metrics=", ".join(differing)) if differing else t("compare.no_difference")
        st.markdown(f"{plain(labels[run.run_id])}: {said}" if len(comparison.runs) > 1 else said)


def _show_table(comparison: Comparison, labels: Mapping[str, str]) -> None:
    rows = []
    several = len(comparison.runs) > 1
    for place, _ in enumerate(comparison.runs[0].metrics):
        for run in comparison.runs:
            m = run.metrics[place]
            rows.append(
                {
                    t("eval.metric"): metric_label(m.metric),
                    **({t("eval.choose"): labels[run.run_id]} if several else {}),
                    t("compare.col.base"): score(m.base),
                    t("compare.col.other"): score(m.other),
                    t("compare.col.delta"): signed_number(m.delta),
                    t("table.interval"): interval_text(m.interval, signed=True),
                    t("compare.col.p"): _p(m.p),
                    t("compare.col.p_holm"): _p(m.p_holm),
                    t("compare.col.improved"): len(m.improved),
                    t("compare.col.worsened"): len(m.worsened),
                    t("compare.col.equal"): m.equal,
                    t("table.scored"): f"{number(m.pairs)}/{number(m.total)}",
                }
            )
    draw_table(rows, column_config={t("compare.col.p_holm"): st.column_config.TextColumn(help=t("compare.p_help"))})
    st.caption(t("compare.method"))


def _show_configuration(comparison: Comparison, labels: Mapping[str, str]) -> None:
    st.markdown(f"**{t('compare.configuration')}**")
    table = comparison.configuration
    if not table:
        st.caption(t("compare.same_configuration"))
        return
    heads = [labels[run_id][0] for run_id in (comparison.base, *(run.run_id for run in comparison.runs))]
    draw_table(
        [
            {
                t("compare.col.setting"): setting_label(name),
                **dict(zip(heads, (spoken(value_text(value)) for value in values), strict=True)),
                t("compare.col.name"): name.upper(),
            }
            for name, values in table.items()
        ],
        {t("compare.col.setting"): 360, **dict.fromkeys(heads, 210)},
    )


def _p(value: float | None) -> str:
    if value is None:
        return "–"
    return f"< {number(0.001, 3)}" if value < 0.001 else number(value, 3)


def _show_forest(comparison: Comparison, labels: Mapping[str, str]) -> None:
    """Draw the plot; nothing if no metric has an interval, as with a single question."""
    names = [labels[run.run_id] for run in comparison.runs]
    rows = [
        {
            "metric": metric_label(m.metric),
            "run": labels[run.run_id],
            "delta": m.delta,
            "low": m.interval[0],
            "high": m.interval[1],
            "sure": m.p_holm is not None and m.p_holm < _SIGNIFICANT,
            "told": signed_number(m.delta or 0.0),
            "interval": interval_text(m.interval, signed=True),
        }
        for run in comparison.runs
        for m in run.metrics
        if m.interval is not None
    ]
    if not rows:
        st.caption(t("compare.too_few"))
        return
    # The table of all figures follows on the page.
    forest = _forest(pd.DataFrame(rows), names)
    show_picture(Picture("forest", bare("picture.forest"), bare("compare.forest_legend"), forest, ()))


def _forest(frame: pd.DataFrame, names: list[str]) -> alt.LayerChart | alt.FacetChart:
    metrics = list(dict.fromkeys(frame["metric"]))
    legend = (
        alt.Legend(orient="top", columns=1 if max(map(len, names)) > 30 else 2, labelLimit=400)
        if len(names) > 1
        else None
    )
    base = alt.Chart(frame).encode(
        y=alt.Y("metric:N", title=None, sort=metrics, axis=alt.Axis(labelOverlap=False, labelLimit=170, grid=False)),
        yOffset=alt.YOffset("run:N", sort=names),
        color=alt.Color("run:N", title=None, scale=alt.Scale(domain=names), legend=legend),
        tooltip=[
            alt.Tooltip("metric:N", title=t("eval.metric")),
            alt.Tooltip("run:N", title=t("eval.choose")),
            alt.Tooltip("told:N", title=t("compare.col.delta")),
            alt.Tooltip("interval:N", title=t("table.interval")),
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
    return alt.layer(zero, spread, *points, height=height)
