"""One row of a table: by the mouse in the table, by the keyboard in the list below it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pandas as pd
import streamlit as st

from streamlit_app.shared.i18n import t


def choose_row(
    table: Sequence[Mapping[str, Any]] | pd.DataFrame,
    label: Callable[[int], str],
    key: str,
    width: Literal["medium", "large"] = "medium",
    *,
    title: str | None = None,
    columns: Mapping[str, Any] | None = None,
) -> int:
    """The position of the chosen row; the first until somebody chooses.

    Args:
        label: of a position, as the list shows it.
        width: of the column with the question.
        title: of the list; by default that of queries.
        columns: ``column_config`` of a table without questions.
    """
    question = {t("eval.col.question"): st.column_config.TextColumn(width=width)}
    event = st.dataframe(
        table if isinstance(table, pd.DataFrame) else list(table),
        hide_index=True,
        width="stretch",
        height=min(320, 38 + 35 * len(table)),
        on_select="rerun",
        selection_mode="single-row",
        key=key,
        column_config=question if columns is None else dict(columns),
    )
    selected = event.selection.rows
    start = selected[0] if selected and selected[0] < len(table) else 0
    return int(st.selectbox(title or t("eval.query"), range(len(table)), index=start, format_func=label))
