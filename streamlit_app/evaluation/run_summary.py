"""One benchmark run: main figures, curves, all metrics, and failures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from chatbot_mvp.api import GENERATE, JUDGE, METRICS, RETRIEVE, RunResult, SplitFigure, run_kind, shown_in
from chatbot_mvp.settings.access import Action
from streamlit_app.evaluation.distribution import show_distribution
from streamlit_app.pictures.picture import Picture, show_picture
from streamlit_app.shared.chat_profile import profile_button
from streamlit_app.shared.guard import guarded
from streamlit_app.shared.i18n import Markdown, bare, code, duration, number, plain, score, t, word
from streamlit_app.shared.metrics import interval_text, metric_help, metric_label, round_dollars
from streamlit_app.shared.runs import KB, figure_text, main_figure
from streamlit_app.shared.state import errors_shown, get_app, leave_for
from streamlit_app.shared.tables import draw_table

_SEARCH = ("retrieval", "decision")
_TILES = [name for name in shown_in("tile", METRICS) if METRICS[name].section in _SEARCH]
_MOST_TILES = 3
_CURVES = ("recall", "ndcg")


def show_tiles(result: RunResult) -> None:
    """Draw three figures: how well was found, seconds and, of answers, the cost. The sentence has the main one."""
    main = main_figure(result).name
    names = [name for name in _TILES if name in result.metrics and name != main]
    names = names[: _MOST_TILES - 1 - bool(result.generator)]
    columns = st.columns(len(names) + 1 + bool(result.generator))
    for column, name in zip(columns, names, strict=False):
        with column, st.container(border=True, height="stretch"):
            metric_tile(result, name)
    with columns[len(names)], st.container(border=True, height="stretch"):
        st.metric(t("eval.time"), duration(sum(result.seconds.values())))
        st.caption(t("admin.kb_chunks" if result.kind == KB else "eval.documents", count=number(result.documents)))
        if result.corpus_slice:
            name = word("eval.slice", result.corpus_slice)
            st.caption(t("eval.sliced", name=plain(name), missing=number(result.gold_missing)))
    if result.generator:
        with columns[-1], st.container(border=True, height="stretch"):
            show_usage(result)


def show_about(result: RunResult) -> None:
    """Draw what was measured with which models, and a button to search so in the chat."""
    if result.kind == KB:
        st.badge(t("runs.kind.kb"), icon=":material/library_books:")
    st.caption(
        t("eval.identity", memory=number(result.peak_rss_mb) if result.peak_rss_mb else "–"),
        help=f"{code(result.strategy)} · {code(result.run_id)} · {code(result.fingerprint)}",
    )
    if result.generator:
        judge = result.judge
        text = t("eval.models", generator=result.generator, judge=judge) if judge else t("eval.no_judge")
        st.caption(text if judge else f"{t('eval.generator', generator=result.generator)} {text}")
        if judge == result.generator:
            st.markdown(f":small[:orange[{t('eval.judge_same')}]]")
    if result.kind == KB:
        parts = [f"{plain(word('mykb.kind', kind))}: {score(value)}" for kind, value in result.auroc.items()]
        st.caption(t("eval.auroc", parts=Markdown(" · ".join(parts))))
    else:
        st.caption(t("eval.corpus_note"))
    profile_button(result.run_id)


def metric_tile(result: RunResult, name: str) -> None:
    """Draw one metric: mean, number of scored queries, interval."""
    scored, total = result.scored.get(name, (0, 0))
    st.metric(plain(metric_label(name)), figure_text(result, name), help=metric_help(name))
    st.caption(t("eval.scored", scored=number(scored), total=number(total)))
    if interval := result.intervals.get(name):
        st.caption(t("eval.interval", interval=interval_text(interval)))
    left_out, counted_in = result.readings.get(name, (None, None))
    if counted_in != left_out:
        st.caption(t("eval.with_failures", value=score(counted_in)))


def show_usage(result: RunResult) -> None:
    """Draw the requests to the models of a run and their cost."""
    usage = result.usage
    cost = t("eval.cost_unknown") if usage.unpriced else round_dollars(usage.cost_usd)
    st.metric(t("eval.cost"), cost, help=t("eval.cost_help"))
    st.caption(t("eval.requests", count=number(usage.calls), cached=number(usage.cached)))
    if usage.tokens:
        st.caption(t("job.tokens", count=number(usage.tokens)))
    if result.abstentions:
        st.caption(t("eval.abstentions", count=number(result.abstentions)))


def show_failures(result: RunResult) -> None:
    """Draw the phases that failed for some queries, and a button to retry these queries."""
    if not result.failures:
        return
    parts = [
        t(f"eval.failed.{phase}", count=number(count))
        if phase in (RETRIEVE, GENERATE, JUDGE)
        else f"{plain(metric_label(phase))}: {number(count)}"  # a metric; a phase of a later version has its name
        for phase, count in result.failures.items()
    ]
    st.warning(t("eval.failures", parts=Markdown(", ".join(parts))), icon=":material/warning:")
    if st.button(t("eval.retry"), icon=":material/replay:", key=f"retry-{result.run_id}", **guarded(Action.MEASURE)):
        with errors_shown():
            get_app().runs.resume_run(result.run_id, retry_failed=True)
            leave_for("admin")


def show_curves(result: RunResult) -> None:
    """Draw Recall@K and NDCG@K by K, and the distribution of a chosen metric over the questions."""
    curves, spread = st.columns(2, gap="large")
    with curves:
        _show_curves(result)
    with spread:
        show_distribution(result)


def _show_curves(result: RunResult) -> None:
    rows: list[dict[str, Any]] = []
    for name, value in result.metrics.items():
        family, _, k = name.partition("@")
        if family in _CURVES and value is not None:
            rows.append({"metric": t(f"metric_label.{family}", k="K"), "k": int(k), "value": value})
    if not rows:
        return
    frame = pd.DataFrame(rows)
    base = alt.Chart(frame).encode(
        x=alt.X("k:Q", title="K", axis=alt.Axis(values=sorted(frame["k"].unique().tolist()), format="d", grid=False)),
        y=alt.Y("value:Q", title=None, scale=alt.Scale(domain=[0, 1])),
        color=alt.Color("metric:N", title=None, legend=alt.Legend(orient="top")),
        shape=alt.Shape("metric:N", title=None, legend=alt.Legend(orient="top")),
        tooltip=[
            alt.Tooltip("metric:N", title=t("eval.metric")),
            alt.Tooltip("k:Q", title="K"),
            alt.Tooltip("value:Q", title=t("eval.value"), format=".3f"),
        ],
    )
    chart = (base.mark_line() + base.mark_point(size=70, filled=True)).properties(height=330)
    table = [
        {bare("eval.metric"): one["metric"], "K": str(one["k"]), bare("eval.value"): score(one["value"])}
        for one in rows
    ]
    show_picture(Picture("curves", bare("eval.curves"), bare("detail.curves_alt"), chart, table))


def show_files(result: RunResult) -> None:
    """Draw the downloads of a run."""
    run_id = result.run_id
    files = st.columns(4)
    for column, path in zip(files, get_app().archive.files(run_id), strict=False):
        name = path.name.removeprefix(run_id).lstrip("_.")
        column.download_button(plain(name), path.read_bytes, path.name, width="stretch")
    if run_kind(result.kind).retrieves:
        with files[-1]:
            _show_bundle(run_id)


@errors_shown()
def _show_bundle(run_id: str) -> None:
    """Draw the download of the run in all formats. The zip is built on request, because it reads the data set."""
    ready = st.session_state.get("bundle")
    if not ready or ready[0] != run_id:
        if not st.button(t("eval.bundle"), icon=":material/folder_zip:", key="bundle-make", width="stretch"):
            return
        with st.spinner(t("eval.bundle_making")):
            [(name, content)] = get_app().archive.export(run_id, "zip").files.items()
        ready = st.session_state.bundle = (run_id, name, content)
    st.download_button(
        t("eval.bundle_save"), ready[2], ready[1], icon=":material/download:", width="stretch", type="primary"
    )


def show_metrics(result: RunResult) -> None:
    """Draw every metric with interval, scored queries and both readings, optionally split by type or level."""
    splits = result.splits
    field = st.segmented_control(
        t("table.split"),
        [field for field, groups in splits.items() if len(groups) > 1],
        format_func=lambda name: plain(word("table.by", name)),
        key=f"split-{result.run_id}",
    )
    draw_table(_split_rows(result, splits[field]) if field else _metric_rows(result))


def _metric_rows(result: RunResult) -> list[dict[str, str]]:
    return [
        {
            **metric_row(result, name),
            t("table.with_failures"): score(result.readings.get(name, (None, None))[1]),
            t("table.meaning"): metric_help(name),
        }
        for name in result.metrics
    ]


def metric_row(result: RunResult, name: str) -> dict[str, str]:
    """Return what a table of metrics says of each: mean, interval and scored queries."""
    scored, total = result.scored.get(name, (0, 0))
    return {
        t("eval.metric"): metric_label(name),
        t("eval.value"): score(result.metrics[name]),
        t("table.interval"): interval_text(result.intervals.get(name)),
        t("table.scored"): f"{number(scored)}/{number(total)}",
    }


def _split_rows(result: RunResult, groups: Mapping[str, Mapping[str, SplitFigure]]) -> list[dict[str, str]]:
    rows = []
    for name in result.metrics:
        row = {t("eval.metric"): metric_label(name)}
        for value, cells in groups.items():
            cell = cells.get(name)
            if cell and cell.total:
                row[word("mykb.kind", value)] = f"{score(cell.mean)} ({number(cell.scored)}/{number(cell.total)})"
            else:
                row[word("mykb.kind", value)] = "–"
        rows.append(row)
    return rows
