"""Table of all metrics of a run, for all queries or by kind of query."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from chatbot_mvp.api import RunResult, SplitFigure
from streamlit_app.shared.i18n import number, plain, score, t, word
from streamlit_app.shared.metrics import interval_text, metric_help, metric_label


def show_table(result: RunResult) -> None:
    """Draw every metric with interval, scored queries and both readings, optionally split by type or level."""
    with st.expander(t("table.title"), icon=":material/table_chart:"):
        splits = result.splits
        field = st.segmented_control(
            t("table.split"),
            [field for field, groups in splits.items() if len(groups) > 1],
            format_func=lambda name: plain(word("table.by", name)),
            key=f"split-{result.run_id}",
        )
        rows = _split_rows(result, splits[field]) if field else _rows(result)
        st.dataframe(rows, hide_index=True, width="stretch")


def _rows(result: RunResult) -> list[dict[str, str]]:
    rows = []
    for name, value in result.metrics.items():
        scored, total = result.scored.get(name, (0, 0))
        rows.append(
            {
                t("eval.metric"): metric_label(name),
                t("eval.value"): score(value),
                t("table.interval"): interval_text(result.intervals.get(name)),
                t("table.scored"): f"{number(scored)}/{number(total)}",
                t("table.with_failures"): score(result.readings.get(name, (None, None))[1]),
                t("table.meaning"): metric_help(name),
            }
        )
    return rows


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
