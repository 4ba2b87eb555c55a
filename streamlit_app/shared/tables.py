"""Tables of the pages, and the choice of a row: with the mouse in the table, with the keyboard in a list below it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import streamlit as st

from streamlit_app.shared.i18n import shortened, t

if TYPE_CHECKING:
    import pandas as pd  # takes a second, and the first page draws no table


_Item = TypeVar("_Item")
_NOT_CUT: Mapping[str, int] = {}


def draw_table(rows: Any, cut: Mapping[str, int] = _NOT_CUT, **options: Any) -> Any:
    """Draw rows in the full available width, without their numbers.

    Args:
        cut: column -> its width in pixels: longer texts end in "…", not in half a letter. A double click shows the
            whole, and a download has it.
        options: passed to ``st.dataframe``, whose result is returned.
    """
    columns = {name: st.column_config.TextColumn(width=width) for name, width in cut.items()}
    if cut:
        import pandas as pd  # takes a second, and the first page draws no table

        frame = pd.DataFrame(rows)
        rows = frame.style.format({name: partial(_fitted, width=cut[name]) for name in cut if name in frame})
    options["column_config"] = {**columns, **options.get("column_config", {})}
    return st.dataframe(rows, hide_index=True, width="stretch", **options)


def fitting_height(rows: int, most: int = 320) -> int:
    """Return the height in pixels of a table of so many rows, at most ``most``: a longer table scrolls. By default, of
    eight."""
    return min(most, 38 + 35 * rows)


def _fitted(text: object, width: int) -> str:
    return shortened(str(text or ""), width // 7)


def distinct(rows: Iterable[tuple[str, str]]) -> list[str]:
    """Return the text of each (text, id), a repeated one with its id: Streamlit sends a choice as its text."""
    names: dict[str, None] = {}
    for text, own in rows:
        names[f"{text} · {own}" if text in names else text or own] = None
    return list(names)


def picked(selection: Mapping[str, Any], rows: int) -> int | None:
    """Return the row of the cell that was clicked in a table of so many rows; None for none."""
    return next((row for row, _ in selection["cells"] if row < rows), None)


def paged(items: Sequence[_Item], most: int, key: str) -> Iterator[tuple[int, _Item]]:
    """Yield the items of a page with their numbers, from 1; of more than ``most``, draw the pages to choose from."""
    pages, first = -(-len(items) // most), 0
    if pages > 1:
        first = (st.pagination(pages, key=f"{key}-{pages}") - 1) * most
    yield from enumerate(items[first : first + most], first + 1)


def choose_one(label: str, names: Mapping[str, str], key: str) -> str | None:
    """Draw a list of things by their names; return the one that is chosen, None until one is."""
    hint = t("admin.choose")
    return st.selectbox(label, list(names), index=None, format_func=names.__getitem__, placeholder=hint, key=key)


def choose_row(
    table: Sequence[Mapping[str, Any]] | pd.DataFrame,
    label: Callable[[int], str],
    key: str,
    *,
    title: str | None = None,
    cut: Mapping[str, int] | None = None,
    columns: Mapping[str, Any] | None = None,
    start: int | None = 0,
) -> int | None:
    """Draw a table and a list; return the position of the chosen row, ``start`` until one is chosen.

    Args:
        label: position -> text in the list.
        key: key of the table's widget.
        title: title of the list; by default, that for queries.
        cut: as in ``draw_table``; by default, 280 pixels for the question.
    """
    event = draw_table(
        table,
        {t("eval.col.question"): 280} if cut is None else cut,
        height=fitting_height(len(table)),
        on_select="rerun",
        selection_mode="single-cell",
        key=key,
        column_config=dict(columns or {}),
    )
    if (row := picked(event.selection, len(table))) is not None:
        start = row
    hint = t("compare.query_hint")
    return st.selectbox(title or t("eval.query"), range(len(table)), index=start, format_func=label, placeholder=hint)
