"""Queries of a run: filters, a table, and one query in full."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import pandas as pd
import streamlit as st

from chatbot_mvp.api import METRICS, QueryFilter, QueryTable, RunResult, shown_in
from streamlit_app.evaluation.query_detail import show_query
from streamlit_app.pictures.picture import lead_here
from streamlit_app.shared import links
from streamlit_app.shared.i18n import current_language, number, score, t, word
from streamlit_app.shared.metrics import metric_label
from streamlit_app.shared.state import errors_shown, get_app
from streamlit_app.shared.tables import distinct, draw_table, fitting_height, picked

_COLUMNS = shown_in("column", METRICS)
_ANSWER_COLUMNS = shown_in("answer_column", METRICS)
_ONLY = ("all", "lost", "unscored", "missed", "failed")
# Maximum questions in the list for the keyboard: each one costs time in every rerun.
_LISTED = 500
_WIDTHS = {"eval.col.question": 400, "eval.answer": 200, "eval.col.response": 300}
"""Of columns whose texts may be longer, in pixels."""


@st.fragment
@errors_shown()
def show_queries(result: RunResult) -> None:
    """Draw filters and a table, at first of what failed; the query of the URL, which follows the choice, in full."""
    run_id = result.run_id
    lead_here(f"queries-{run_id}")
    st.header(t("eval.queries"))
    table = get_app().details.table(run_id)
    version = get_app().details.version(run_id)
    asked = _asked(table, run_id)
    if asked is not None:  # it may have gone well
        st.session_state[f"only-{run_id}"] = "all"
    positions = table.select(_ask_filter(table, run_id))
    if asked is not None and asked not in positions:
        positions = sorted([*positions, asked])
    st.caption(t("detail.shown_queries", shown=number(len(positions)), total=number(len(table))))
    if not positions:
        st.info(t("detail.no_query"), icon=":material/filter_alt_off:")
        return
    names = distinct((row.question, row.query_id) for row in table.rows)
    frame = _frame((*version, current_language()), table, bool(result.generator))
    position = _choose(run_id, table, positions, frame, names)
    if position is not None:
        lead_here(f"query-{run_id}")
        show_query(result, table.rows[position])


def _asked(table: QueryTable, run_id: str) -> int | None:
    """Return the position of the query that the URL requests, if it was not applied yet."""
    first, followed = links.read_query(), f"followed-{run_id}"
    if not first or st.session_state.get(followed) == first:
        return None
    st.session_state[followed] = first
    position = table.position(first)
    if position is not None:
        st.session_state[f"query-{run_id}"] = position
    return position


def _ask_filter(table: QueryTable, run_id: str) -> QueryFilter:
    """Draw the filters that apply to this run's questions and return their values."""
    counts, causes, fields = table.counts(), table.causes(), table.fields()
    bar = st.container(horizontal=True, vertical_alignment="bottom")  # wraps, where columns would cut
    words = bar.text_input(
        t("runs.search"),
        key=f"search-{run_id}",
        placeholder=t("detail.search_hint"),
        icon=":material/search:",
        width=320,
    )
    kinds = [name for name in _ONLY if name == "all" or counts[name]]
    st.session_state.setdefault(f"only-{run_id}", "lost" if counts["lost"] else "all")
    wanted = bar.segmented_control(
        t("detail.show"),
        kinds,
        format_func={name: f"{t(f'detail.only.{name}')} ({number(counts[name])})" for name in kinds}.__getitem__,
        key=f"only-{run_id}",
    )
    others = bar.popover(t("runs.filters"), icon=":material/filter_list:")
    found = others.selectbox(
        t("causes.filter"),
        sorted(causes, key=lambda name: -causes[name]),
        index=None,
        format_func={name: f"{word('cause', name)} ({number(causes[name])})" for name in causes}.__getitem__,
        placeholder=t("detail.only.all"),
        key=f"cause-{run_id}",
    )
    groups = [(field, value) for field, values in fields.items() for value in values]
    kind = others.selectbox(
        t("detail.group_filter"),
        groups,
        index=None,
        format_func={pair: f"{word('table.by', pair[0])}: {word('mykb.kind', pair[1])}" for pair in groups}.__getitem__,
        placeholder=t("detail.only.all"),
        key=f"group-{run_id}",
        disabled=not groups,
    )
    name = others.selectbox(
        t("detail.metric_filter"),
        table.metrics,
        index=None,
        format_func={name: metric_label(name) for name in table.metrics}.__getitem__,
        placeholder=t("filter.any"),
        key=f"metric-{run_id}",
    )
    low, high = others.slider(
        t("detail.range"), 0.0, 1.0, (0.0, 1.0), 0.05, key=f"range-{run_id}-{name}", disabled=name is None
    )
    field, value = kind or ("", "")
    return QueryFilter(
        only=cast(Any, wanted or "all"),
        cause=found or "",
        field=field,
        value=value,
        metric=name or "",
        low=low,
        high=high,
        text=words,
    )


def _choose(
    run_id: str, table: QueryTable, positions: Sequence[int], frame: pd.DataFrame, names: Sequence[str]
) -> int | None:
    """Return the position of the query chosen with the mouse in the table or with the keyboard in the list, if any."""
    key = f"query-{run_id}"
    kept = st.session_state.get(key)
    if kept not in set(positions):
        kept = None
    rows_key = f"rows-{run_id}-{hash(tuple(positions))}"

    def chosen() -> None:
        if st.session_state[key] is None:
            return
        query_id = table.rows[st.session_state[key]].query_id
        # Mark as applied, because the URL will follow the choice made here.
        st.session_state[f"followed-{run_id}"] = query_id
        links.write_run(run_id, query_id)

    def clicked() -> None:
        if (row := picked(st.session_state[rows_key]["selection"], len(positions))) is not None:
            st.session_state[key] = positions[row]
            chosen()

    draw_table(
        frame.iloc[list(positions)],
        {t(key): width for key, width in _WIDTHS.items()} if len(positions) <= _LISTED else {},
        height=fitting_height(len(positions)),
        on_select=clicked,
        selection_mode="single-cell",
        key=rows_key,
    )
    offered = list(positions[:_LISTED])
    if kept is not None and kept not in offered:
        offered.append(kept)
    st.session_state[key] = kept
    st.selectbox(
        t("eval.query"),
        offered,
        index=None,
        placeholder=t("compare.query_hint"),
        format_func=names.__getitem__,
        key=key,
        on_change=chosen,
        help=t("detail.listed", count=number(_LISTED)) if len(positions) > _LISTED else None,
    )
    chosen_one: int | None = st.session_state[key]
    return chosen_one


@st.cache_data(max_entries=8, show_spinner=False)
def _frame(version: tuple[Any, ...], _table: QueryTable, answered: bool) -> pd.DataFrame:
    """Return the table in the language named in ``version``; cached per run."""
    wanted = _ANSWER_COLUMNS if answered else _COLUMNS
    names = [name for name in wanted if name in _table.metrics]
    rows = _table.rows
    columns: dict[str, list[Any]] = {
        t("eval.col.question"): [row.question or row.query_id for row in rows],
        t("eval.col.type"): [word("mykb.kind", row.question_type) for row in rows],
        t("eval.col.gold_found"): [f"{_table.found(row)}/{len(row.gold)}" for row in rows],
    }
    if answered:
        columns[t("eval.answer")] = [row.answer for row in rows]
        columns[t("eval.col.response")] = [row.response for row in rows]
    for name in names:
        columns[metric_label(name)] = [score(row.metrics.get(name)) for row in rows]
    if _table.causes():
        columns[t("causes.cause")] = [word("cause", row.cause) for row in rows]
    return pd.DataFrame(columns)
