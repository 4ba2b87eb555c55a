"""Tables of the pages, and the choice of a row: with the mouse in the table, with the keyboard in a list below it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import streamlit as st

from streamlit_app.shared.i18n import t

if TYPE_CHECKING:
    import pandas as pd  # takes a second, and the first page draws no table


def draw_table(rows: Any, **options: Any) -> Any:
    """Draw rows in the full available width, without their numbers.

    Args:
        options: passed to ``st.dataframe``, whose result is returned.
    """
    return st.dataframe(rows, hide_index=True, width="stretch", **options)


def fitting_height(rows: int, most: int = 320) -> int:
    """Return the height in pixels of a table of so many rows, at most ``most``: a longer table scrolls."""
    return min(most, 38 + 35 * rows)


def choose_row(
    table: Sequence[Mapping[str, Any]] | pd.DataFrame,
    label: Callable[[int], str],
    key: str,
    width: Literal["medium", "large"] = "medium",
    *,
    title: str | None = None,
    columns: Mapping[str, Any] | None = None,
    start: int | None = 0,
    height: int = 320,
) -> int | None:
    """Draw a table and a list; return the position of the chosen row, ``start`` until one is chosen.

    Args:
        label: position -> text in the list.
        key: key of the table's widget.
        width: width of the column with the question.
        title: title of the list; by default, that for queries.
        columns: ``column_config`` for a table without questions.
        height: at most, in pixels.
    """
    question = {t("eval.col.question"): st.column_config.TextColumn(width=width)}
    event = draw_table(
        list(table) if isinstance(table, Sequence) else table,
        height=fitting_height(len(table), height),
        on_select="rerun",
        selection_mode="single-row",
        key=key,
        column_config=question if columns is None else dict(columns),
    )
    selected = event.selection.rows
    start = selected[0] if selected and selected[0] < len(table) else start
    hint = t("compare.query_hint")
    return st.selectbox(title or t("eval.query"), range(len(table)), index=start, format_func=label, placeholder=hint)
