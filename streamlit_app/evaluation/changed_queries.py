"""Questions that improved or worsened in a comparison, and one of them in all runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from chatbot_mvp.api import Comparison, MetricDelta, QueryChange, QueryRow, RunDelta
from chatbot_mvp.errors import ChatbotError
from streamlit_app.shared.i18n import number, plain, score, t, word
from streamlit_app.shared.metrics import metric_help, metric_label
from streamlit_app.shared.state import errors_shown, get_app
from streamlit_app.shared.tables import distinct, draw_table, fitting_height, picked

_LISTED = 500  # maximum questions in a list for the keyboard, largest change first

_ANSWERS = ("solved", "generation_score")
"""What runs with answers are told by: shown first, also if nothing changes."""


@st.fragment
def show_changes(comparison: Comparison, labels: Mapping[str, str]) -> None:
    """Draw the improved and worsened questions of a chosen metric and run."""
    st.markdown(f"**{t('compare.changes')}**")
    which, by = st.columns(2)
    runs = {run.run_id: run for run in comparison.runs}
    # One key per comparison, because the choice belongs to it.
    about = "-".join((comparison.base, *runs))
    run_id = which.selectbox(
        t("compare.changes_of"), list(runs), format_func=labels.__getitem__, key=f"compare-run-{about}"
    )
    run: RunDelta = runs[run_id]
    by_name = {m.metric: m for m in run.metrics}
    changing = [name for name, one in by_name.items() if one.improved or one.worsened]
    first = next(name for name in (*_ANSWERS, *changing, *by_name) if name in by_name)
    name = by.selectbox(
        t("compare.changes_by"),
        list(by_name),
        index=list(by_name).index(first),
        format_func={metric: metric_label(metric) for metric in by_name}.__getitem__,
        key=f"compare-metric-{about}",
        help=t("compare.help"),
    )
    metric = by_name[name]
    st.caption(metric_help(metric.metric))
    key = f"{about}-{run_id}-{name}"
    _show_lists(metric, labels[comparison.base][0], labels[run_id][0], key)  # their letters: names are cut
    changes = {change.query_id: change for change in (*metric.improved[:_LISTED], *metric.worsened[:_LISTED])}
    if not changes:
        st.caption(t("compare.nothing_changed"))
        return
    kept = st.session_state.get(f"compare-query-{key}")
    if kept is not None and kept not in changes:
        every = (*metric.improved, *metric.worsened)
        changes |= {change.query_id: change for change in every if change.query_id == kept}
    names = dict(zip(changes, distinct((change.question, own) for own, change in changes.items()), strict=True))
    told = {
        query_id: f"{names[query_id]} · {score(change.base)} → {score(change.other)}"
        + (f" · {t('compare.passage_changed')}" if query_id in comparison.changed_passages else "")
        for query_id, change in changes.items()
    }
    chosen = st.selectbox(
        t("compare.query"),
        list(changes),
        index=None,
        format_func=told.__getitem__,
        placeholder=t("compare.query_hint"),
        key=f"compare-query-{key}",
    )
    if chosen is not None:
        _show_query(comparison, metric, changes[chosen], labels)


def _show_lists(metric: MetricDelta, base: str, other: str, key: str) -> None:
    heads = (
        ("improved", t("compare.improved", count=number(len(metric.improved))), metric.improved),
        ("worsened", t("compare.worsened", count=number(len(metric.worsened))), metric.worsened),
    )
    for column, (kind, head, changes) in zip(st.columns(2, gap="large"), heads, strict=True):
        with column:
            icon = ":green[:material/trending_up:]" if kind == "improved" else ":orange[:material/trending_down:]"
            st.markdown(f"{icon} **{plain(head)}**")
            if changes:
                _show_list(changes, base, other, f"{kind}-{key}", f"compare-query-{key}")


def _show_list(changes: Sequence[QueryChange], base: str, other: str, key: str, chosen_key: str) -> None:
    def clicked() -> None:
        if (row := picked(st.session_state[key]["selection"], len(changes))) is not None:
            st.session_state[chosen_key] = changes[row].query_id

    draw_table(
        [
            {
                t("eval.col.question"): change.question or change.query_id,
                base: score(change.base),
                other: score(change.other),
            }
            for change in changes
        ],
        {t("eval.col.question"): 280},
        height=fitting_height(len(changes), 260),
        on_select=clicked,
        selection_mode="single-cell",
        key=key,
    )


@errors_shown()
def _show_query(comparison: Comparison, metric: MetricDelta, change: QueryChange, labels: Mapping[str, str]) -> None:
    """Draw one question in every run of the comparison."""
    run_ids = [comparison.base, *(run.run_id for run in comparison.runs)]
    rows = {run_id: get_app().details.row(run_id, change.query_id) for run_id in run_ids}
    with st.container(border=True):
        st.markdown(f"**{t('eval.col.question')}:** {plain(change.question or change.query_id)}")
        if answer := rows[comparison.base].answer:
            st.markdown(f"**{t('eval.answer')}:** {plain(answer)}")
        titles = _titles(comparison.base, rows[comparison.base].gold)
        for column, run_id in zip(st.columns(len(run_ids), gap="medium"), run_ids, strict=True):
            with column:
                _show_side(run_id, rows[run_id], metric.metric, labels[run_id], titles)


def _titles(run_id: str, doc_ids: Sequence[str]) -> dict[str, str]:
    """Return the titles of documents by id; empty if the data set no longer exists."""
    try:
        found = get_app().archive.documents(run_id, doc_ids) if doc_ids else {}
    except ChatbotError:
        return {}
    return {doc_id: document.title for doc_id, document in found.items() if document.title}


def _show_side(run_id: str, row: QueryRow, metric: str, label: str, titles: Mapping[str, str]) -> None:
    st.markdown(f"**{plain(label)}**")
    st.metric(plain(metric_label(metric)), score(row.metrics.get(metric)))
    if row.cause:
        st.caption(plain(word("cause", row.cause)))
    if row.response:
        st.markdown(f"{t('eval.col.response')}: {plain(row.response)}")
    if not row.gold:  # rows of an evaluation of answers have none
        return
    try:
        paths = get_app().details.gold_paths(run_id, row)
    except ChatbotError:
        return
    for path in paths:
        place = path.ranks.get("ranking")
        rank = t("detail.rank", rank=number(place)) if place else t("detail.absent")
        st.caption(f"{plain(titles.get(path.doc_id, path.doc_id))}: {rank} · {t(f'detail.fate.{path.fate.value}')}")
