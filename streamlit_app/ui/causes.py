"""Where the questions of a run were lost: a chart, and a filter for the list of questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import altair as alt
import pandas as pd
import streamlit as st

from streamlit_app.ui.i18n import t

Result = Mapping[str, Any]


def show_causes(result: Result) -> None:
    """Questions per cause, in the order of their way; nothing for a run of an earlier version."""
    found = _found(result)
    if not found:
        return
    st.subheader(t("causes.title"), help=t("causes.help"))
    rows = [{"cause": t(f"cause.{cause}"), "queries": count} for cause, count in found.items()]
    bars = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("queries:Q", title=t("eval.col.queries"), axis=alt.Axis(tickMinStep=1, format="d")),
        y=alt.Y(
            "cause:N",
            title=None,
            sort=[str(row["cause"]) for row in rows],
            axis=alt.Axis(labelLimit=320, labelOverlap=False),
        ),
        tooltip=[
            alt.Tooltip("cause:N", title=t("causes.cause")),
            alt.Tooltip("queries:Q", title=t("eval.col.queries")),
        ],
    )
    labels = bars.mark_text(align="left", dx=4).encode(text="queries:Q")
    st.altair_chart((bars.mark_bar() + labels).properties(height=60 + 30 * len(rows)), width="stretch")


def choose_cause(result: Result) -> str | None:
    """The cause that the list of questions is kept to; None for all."""
    found = _found(result)
    if not found:
        return None
    chosen: str | None = st.selectbox(
        t("causes.filter"),
        list(found),
        index=None,
        format_func=lambda cause: t(f"cause.{cause}"),
        placeholder=t("causes.all"),
        key=f"cause-{result['run_id']}",
    )
    return chosen


def _found(result: Result) -> dict[str, int]:
    return {cause: count for cause, count in result.get("causes", {}).items() if count}
