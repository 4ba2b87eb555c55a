"""A cell for each passage of a knowledge base, in reading order, document by document and heading by heading.

Of many passages a cell stands for several that follow each other, and shows the first state of ``PASSAGE_STATES`` that
one of them has. Of many documents only their borders are drawn.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import altair as alt
import pandas as pd

from chatbot_mvp.api import PASSAGE_STATES, KbMap, PassageState, PassageUse
from streamlit_app.pictures.palette import Palette
from streamlit_app.pictures.picture import Picture, pixels
from streamlit_app.shared.i18n import bare, number

MOST = 1_000
"""Cells of one map."""
CLICKED = "cell"
_MOST_NAMED = 25  # documents with their name above them
_WIDTH = 336  # pixels, which a phone has
_WIDE = 640  # a phone shows it smaller
_STEPS = ((150, 20), (400, 14), (MOST, 11))
"""(cells up to which it holds, pixels of a cell)."""
_HEAD = 22
_MOST_ROWS = 300  # of the table
_BETWEEN = 5  # pixels between headings of a document
_COLOURS: dict[PassageState, str] = {
    "missed": "wrong",
    "cited": "good",
    "expected": "other",
    "found": "quiet",
    "unseen": "ground",  # only its border is seen
}


@dataclass(frozen=True, slots=True)
class _Cell:
    first: int
    """Position of its first passage."""
    passages: tuple[PassageUse, ...]
    x: float = 0.0
    y: float = 0.0

    @property
    def state(self) -> PassageState:
        return min((one.state for one in self.passages), key=PASSAGE_STATES.index)


def clicked(event: Any) -> int | None:
    """Return the position of the passage that was just clicked, if any."""
    points = event.selection.get(CLICKED) or []
    return int(points[0]["first"]) if points else None


def kb_map_picture(name: str, found: KbMap, colours: Palette, most: int = MOST) -> Picture | None:
    """Draw the passages; None without any.

    Args:
        most: more passages than this share cells.
    """
    if not found.passages:
        return None
    total = len(found.passages)
    share = math.ceil(total / most)
    documents = len({one.path for one in found.passages})
    named = documents <= _MOST_NAMED
    cells = list(_cells(found.passages, share, whole_documents=documents <= most // 4))
    step = next((step for up_to, step in _STEPS if len(cells) <= up_to), _STEPS[-1][1])
    width = _WIDTH if len(cells) <= _STEPS[0][0] else _WIDE
    placed, heads, height = _placed(cells, step, width, named)
    counts = Counter(one.state for one in found.passages)
    said = bare(
        "picture.map_said",
        total=number(total),
        **{state: number(counts[state]) for state in ("cited", "unseen", "missed")},
    )
    if share > 1:
        said += f" {bare('picture.map_share', count=number(share))}"
    return Picture(
        name,
        bare("picture.map"),
        said,
        _chart(placed, heads, (step, width, height), counts, colours),
        _table(found.passages),
        bare("picture.map_hint"),
    )


def _cells(passages: Sequence[PassageUse], share: int, whole_documents: bool) -> Iterator[_Cell]:
    """Yield the cells; of so many documents that each would be a cell of its own, one cell has several."""
    first = 0
    for _, group in groupby(passages, key=lambda one: one.path if whole_documents else ""):
        of_document = tuple(group)
        for begin in range(0, len(of_document), share):
            yield _Cell(first + begin, of_document[begin : begin + share])
        first += len(of_document)


def _placed(
    cells: Sequence[_Cell], step: int, width: int, named: bool
) -> tuple[list[_Cell], list[dict[str, Any]], float]:
    """Return the cells at their places, the names of documents at theirs, and the height of it all, in pixels."""
    placed: list[_Cell] = []
    heads: list[dict[str, Any]] = []
    x = y = 0.0
    before: PassageUse | None = None
    for cell in cells:
        passage = cell.passages[0]
        if before is None or before.path != passage.path:
            if named:
                y += step + _BETWEEN if before is not None else 0
                heads.append({"y": y, "told": passage.path})
                x, y = 0.0, y + _HEAD
            elif before is not None:
                x += _BETWEEN
        elif before.section != passage.section:
            x += _BETWEEN
        if x + step > width:
            x, y = 0.0, y + step
        placed.append(replace(cell, x=x, y=y))
        x += step
        before = cell.passages[-1]
    return placed, heads, y + step


def _chart(
    placed: Sequence[_Cell],
    heads: Sequence[dict[str, Any]],
    size: tuple[int, int, float],
    counts: Counter[PassageState],
    colours: Palette,
) -> alt.LayerChart | alt.FacetChart:
    step, width, height = size
    names = {state: f"{bare(f'picture.passage.{state}')}: {number(counts[state])}" for state in PASSAGE_STATES}
    rows = [
        {
            "x": cell.x + 1,
            "x2": cell.x + step - 1,
            "y": cell.y + 1,
            "y2": cell.y + step - 1,
            "first": cell.first,
            "state": names[cell.state],
            "document": cell.passages[0].path,
            "section": cell.passages[0].section,
            "uses": _uses(cell.passages),
        }
        for cell in placed
    ]
    places = pixels(width, height)
    picked = alt.selection_point(name=CLICKED, fields=["first"], on="click", toggle=False)
    legend = alt.Legend(
        orient="top",
        direction="vertical",
        columns=1,
        symbolType="square",
        labelLimit=320,
        symbolSize=130,
        symbolStrokeWidth=1,
    )
    drawn = (
        alt.Chart(pd.DataFrame(rows))
        .mark_rect(cornerRadius=2, cursor="pointer", stroke=colours.quiet, strokeWidth=1)
        .encode(
            **places,
            color=alt.Color(
                "state:N",
                title=None,
                legend=legend,
                scale=alt.Scale(
                    domain=list(names.values()), range=[getattr(colours, _COLOURS[state]) for state in names]
                ),
            ),
            tooltip=[
                alt.Tooltip("document:N", title=bare("nav.document")),
                alt.Tooltip("section:N", title=bare("mykb.col.heading")),
                alt.Tooltip("uses:N", title=bare("picture.map_uses")),
            ],
        )
        .add_params(picked)
    )
    layers = [drawn]
    if heads:
        texts = alt.Chart(pd.DataFrame(heads)).mark_text(
            align="left", baseline="top", dy=4, fontSize=13, color=colours.ink, limit=width
        )
        layers.append(texts.encode(x=alt.value(0), y=places["y"], text="told:N"))
    return alt.layer(*layers, width=width, height=height, autosize="pad")


def _uses(passages: Sequence[PassageUse]) -> str:
    values = {
        name: number(sum(getattr(one, name) for one in passages)) for name in ("expected", "missed", "found", "cited")
    }
    return bare("picture.map_counts", **values)


def _table(passages: Sequence[PassageUse]) -> list[dict[str, str | int]]:
    """Return a row for each heading; of many headings, for each document."""
    document, section = bare("nav.document"), bare("mykb.col.heading")
    states = {state: bare(f"picture.passage.{state}") for state in PASSAGE_STATES}
    groups = _grouped(passages, by_section=True)
    if len(groups) > _MOST_ROWS:
        groups = _grouped(passages, by_section=False)
    return [
        {
            document: path,
            **({section: heading} if heading is not None else {}),
            **{name: counts[state] for state, name in states.items()},
        }
        for path, heading, counts in groups
    ]


def _grouped(passages: Sequence[PassageUse], by_section: bool) -> list[tuple[str, str | None, Counter[PassageState]]]:
    """Return (document, heading, state -> passages); the heading is None if documents are the groups."""
    return [
        (path, section, Counter(one.state for one in group))
        for (path, section), group in groupby(passages, key=lambda one: (one.path, one.section if by_section else None))
    ]
