"""A square for each question of a run, grouped by what became of it. Of many questions, a square stands for several."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import pandas as pd

from streamlit_app.pictures.palette import Palette
from streamlit_app.pictures.picture import Picture, pixels
from streamlit_app.shared.i18n import bare, number, word

MOST = 600
"""Squares of one picture: more would be too small to tell apart, and slow to draw."""
CLICKED = "square"
_GRIDS = ((64, 16, 20), (200, 20, 16), (MOST, 32, 10))
"""(squares up to which it holds, columns, pixels of a square): 320 pixels wide, which a phone has."""
_HEAD = 24  # pixels of the line above a group
_GAP = 10
_ORDER = {
    "ok": "good",
    "not_retrieved": "lost",
    "below_cut": "lost",
    "lost_in_reranking": "lost",
    "answered_wrong": "wrong",
    "unknown_wrongly": "wrong",
    "refused_wrongly": "wrong",
    "unsolved": "wrong",
    "accepted_wrongly": "other",
    "judge_failed": "quiet",
    "not_scored": "quiet",
}
"""Cause -> name of its colour, in the order of the pipeline. Groups have their names beside them: colours only help."""


@dataclass(frozen=True, slots=True)
class Clicked:
    """What a click names."""

    query_id: str
    """"" if the square stands for several questions."""
    cause: str


def clicked(event: Any) -> Clicked | None:
    """Return what was just clicked, if anything."""
    points = event.selection.get(CLICKED) or []
    return Clicked(str(points[0]["query_id"]), str(points[0]["cause"])) if points else None


def squares_picture(
    name: str, questions: Iterable[tuple[str, str, str]], colours: Palette, most: int = MOST
) -> Picture | None:
    """Draw questions: (id, text, cause) of each; None without any that has a cause.

    Args:
        most: more questions than this share squares.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    for query_id, text, cause in questions:
        if cause:
            groups.setdefault(cause, []).append((query_id, text))
    total = sum(map(len, groups.values()))
    if not total:
        return None
    order = [*(cause for cause in _ORDER if cause in groups), *(cause for cause in groups if cause not in _ORDER)]
    share = _nice(total / most) if total > most else 1
    shown = sum(math.ceil(len(found) / share) for found in groups.values())
    _, columns, step = next((grid for grid in _GRIDS if shown <= grid[0]), _GRIDS[-1])
    squares: list[dict[str, Any]] = []
    heads: list[dict[str, Any]] = []
    top = 0.0
    for cause in order:
        found = groups[cause]
        told = f"{word('cause', cause)}: {number(len(found))} ({_percent(found, total)})"
        heads.append({"y": top, "told": told})
        top += _HEAD
        cells = _cells(cause, found, share)
        for place, cell in enumerate(cells):
            x, y = place % columns * step, top + place // columns * step
            squares.append({**cell, "x": x + 1, "x2": x + step - 1, "y": y + 1, "y2": y + step - 1})
        top += math.ceil(len(cells) / columns) * step + _GAP
    drawn = _chart(squares, heads, (columns * step, top), colours)
    rest = "" if share == 1 else f" {bare('picture.squares_share', count=number(share))}"
    right, scored = len(groups.get("ok", ())), total - len(groups.get("not_scored", ()))
    return Picture(
        name,
        bare("picture.squares"),
        bare("picture.squares_said", right=number(right), total=number(scored)) + rest,
        drawn,
        [
            {
                bare("causes.cause"): word("cause", cause),
                bare("eval.queries"): number(len(groups[cause])),
                bare("picture.share"): _percent(groups[cause], total),
            }
            for cause in order
        ],
        bare("picture.squares_hint", count=share),
    )


def _cells(cause: str, found: Sequence[tuple[str, str]], share: int) -> list[dict[str, Any]]:
    if share == 1:
        return [{"query_id": query_id, "cause": cause, "told": text or query_id} for query_id, text in found]
    return [
        {
            "query_id": "",
            "cause": cause,
            "told": bare("picture.questions", count=number(min(share, len(found) - first))),
        }
        for first in range(0, len(found), share)
    ]


def _chart(
    squares: Sequence[Mapping[str, Any]], heads: Sequence[Mapping[str, Any]], size: tuple[float, float], hues: Palette
) -> alt.LayerChart | alt.FacetChart:
    width, height = size
    named: dict[str, str] = {cause: getattr(hues, colour) for cause, colour in _ORDER.items()}
    causes = list(dict.fromkeys(str(square["cause"]) for square in squares))
    places = pixels(width, height)
    picked = alt.selection_point(name=CLICKED, fields=["query_id", "cause"], on="click", empty=True, toggle=False)
    drawn = (
        alt.Chart(pd.DataFrame(squares))
        .mark_rect(cornerRadius=2, cursor="pointer")
        .encode(
            **places,
            color=alt.Color(
                "cause:N",
                legend=None,
                scale=alt.Scale(domain=causes, range=[named.get(cause, hues.quiet) for cause in causes]),
            ),
            opacity=alt.condition(picked, alt.value(1), alt.value(0.45)),
            tooltip=alt.Tooltip("told:N", title=bare("eval.col.question")),
        )
        .add_params(picked)
    )
    names = (
        alt.Chart(pd.DataFrame(heads))
        .mark_text(align="left", baseline="top", dy=4, fontSize=13, color=hues.ink)
        .encode(x=alt.value(0), y=places["y"], text="told:N")
    )
    return alt.layer(drawn, names, width=width, height=height, autosize="pad")


def _percent(found: Sequence[object], total: int) -> str:
    share = 100 * len(found) / total
    return bare("mykb.percent", value=number(share, 0 if share >= 1 or not found else 1))


def _nice(least: float) -> int:
    """Return the smallest of 2, 5, 10, 20, 50 … that is not below ``least``."""
    power = 10 ** math.floor(math.log10(least))
    return int(next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least and factor * power >= 2))
