"""Chart of the stages at which the questions of a run were lost."""

from __future__ import annotations

import altair as alt
import pandas as pd
import streamlit as st

from chatbot_mvp.api import RunResult
from streamlit_app.evaluation.phases import show_phases
from streamlit_app.shared.charts import ink, show_chart
from streamlit_app.shared.i18n import number, t, word


def show_causes(result: RunResult) -> None:
    """Draw where questions were lost, next to where time and money went."""
    if not _found(result):
        show_phases(result)
        return
    causes, phases = st.columns(2, gap="large")
    with causes:
        _show_causes(result)
    with phases:
        show_phases(result)


def _show_causes(result: RunResult) -> None:
    """Draw the number of questions per cause, in the order of the pipeline."""
    found = _found(result)
    st.subheader(t("causes.title"), help=t("causes.help"))
    rows = [{"cause": word("cause", cause), "queries": count, "told": number(count)} for cause, count in found.items()]
    bars = alt.Chart(pd.DataFrame(rows)).encode(
        x=alt.X("queries:Q", title=t("eval.col.queries"), axis=alt.Axis(tickMinStep=1, format="d")),
        y=alt.Y(
            "cause:N",
            title=None,
            sort=[str(row["cause"]) for row in rows],
            axis=alt.Axis(labelLimit=220, labelOverlap=False),
        ),
        tooltip=[
            alt.Tooltip("cause:N", title=t("causes.cause")),
            alt.Tooltip("queries:Q", title=t("eval.col.queries")),
        ],
    )
    labels = bars.mark_text(align="left", dx=4, color=ink()).encode(text="told:N")
    chart = (bars.mark_bar() + labels).properties(height=60 + 30 * len(rows), description=t("causes.title"))
    show_chart(chart)


def _found(result: RunResult) -> dict[str, int]:
    return {cause: count for cause, count in result.causes.items() if count}
