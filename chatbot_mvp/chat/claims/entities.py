"""Find the names and figures of a statement that its passage does not have."""

from __future__ import annotations

from collections.abc import Iterator

from chatbot_mvp.chat.claims.alignment import Aligned
from chatbot_mvp.chat.claims.quantities import Quantity
from chatbot_mvp.chat.claims.sign import Sign

_FIGURES = 40
"""Figures of a statement that are compared: no sentence of a person has more."""


def names(aligned: Aligned) -> Iterator[Sign]:
    """Yield the signs of names that the passage does not have."""
    for row, token in enumerate(aligned.statement.tokens):
        if not aligned.rows[row] and aligned.is_name(row):
            yield Sign("name_absent", "name", 1.0, token.text)


def figures(aligned: Aligned) -> Iterator[Sign]:
    """Yield the signs of figures that the passage does not have, or in whose place it has another one."""
    there = aligned.source.reading.figures
    window = {aligned.token(row).start for row in aligned.window}
    for figure in aligned.statement.figures[:_FIGURES]:
        near = [one for one in there if one.start in window]
        if any(_equal(figure, one) for one in near):
            continue
        alike = [one for one in near if one.kind == figure.kind and _fits(figure, one)]
        if alike or not any(_equal(figure, one) for one in there):
            name, other = ("figure_rival", alike[0].written) if alike else ("figure_absent", "")
            dated = figure.kind in ("month", "day", "year")
            yield Sign(name, "date" if dated else "figure", 1.0, figure.written, other)


def _equal(one: Quantity, other: Quantity) -> bool:
    if one.value == other.value and (one.kind == other.kind or {one.kind, other.kind} <= {"", "year"}):
        return True
    if one.kind == other.kind == "time" and isinstance(one.value, float) and isinstance(other.value, float):
        return bool(one.value) and 0.97 < other.value / one.value < 1.04  # a month has 30 or 31 days
    return "" in (one.kind, other.kind) and _bare(one) == _bare(other) != ""


def _bare(one: Quantity) -> str:
    return "".join(char for char in one.written if char.isdigit() or char in ".,:")


def _fits(one: Quantity, other: Quantity) -> bool:
    """Return whether two figures of one kind count the same thing, as far as is known."""
    return bool(one.kind) or not one.unit or not other.unit or one.unit[:5] == other.unit[:5]
