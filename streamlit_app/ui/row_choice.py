"""One row of a table: by the mouse in the table, by the keyboard in the list below it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import streamlit as st

from streamlit_app.ui.i18n import t


def choose_row(
    table: Sequence[Mapping[str, Any]], label: Callable[[int], str], key: str, width: Literal["medium", "large"]
) -> int:
    """The position of the chosen row; the first until somebody chooses.

    Args:
        label: of a position, as the list shows it.
        width: of the column with the question.
    """
    event = st.dataframe(
        list(table),
        hide_index=True,
        width="stretch",
        height=320,
        on_select="rerun",
        selection_mode="single-row",
        key=key,
        column_config={t("eval.col.question"): st.column_config.TextColumn(width=width)},
    )
    selected = event.selection.rows
    start = selected[0] if selected and selected[0] < len(table) else 0
    return int(st.selectbox(t("eval.query"), range(len(table)), index=start, format_func=label))
