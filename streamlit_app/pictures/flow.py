"""A run's questions flowing from found to ranked to the context to an answer (Sankey).

Altair has no such chart, but areas between two curves are one: each ribbon is drawn from points of a smooth step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import altair as alt
import pandas as pd

from chatbot_mvp.api import FLOW_OUTCOMES, FLOW_STAGES, Flow
from streamlit_app.pictures.palette import Palette
from streamlit_app.pictures.picture import Picture
from streamlit_app.shared.i18n import bare, number

_HEIGHT = 300
_POINTS = 20
_BAR = 0.07
"""Half of the width of a column's bar, in columns."""
_GAP = 0.05
"""Space between two bars of a column, as a share of all questions."""
_Node = tuple[int, str]
"""(column, name); in the columns of the stages the name is "reached" or "lost"."""
_OUTCOME_COLOURS = {"right": "good", "answered": "good", "wrong": "wrong", "declined": "other", "unknown": "quiet"}


def flow_picture(name: str, flow: Flow, colours: Palette) -> Picture | None:
    """Draw the ways of a run's questions; None if no question has a relevant document."""
    if not flow.total:
        return None
    nodes, links = _counted(flow)
    places = _places(nodes, flow.total)
    columns = 1 + max(column for column, _ in nodes)
    reached = [nodes.get((column, "reached"), 0) for column in range(len(FLOW_STAGES))]
    said = bare(
        "picture.flow_said",
        total=number(flow.total),
        **{stage: number(count) for stage, count in zip(FLOW_STAGES, reached, strict=True)},
    )
    if flow.left_out:
        said += f" {bare('picture.flow_left_out', count=number(flow.left_out))}"
    return Picture(
        name,
        bare("picture.flow"),
        said,
        alt.layer(
            _ribbons(nodes, links, places, flow.total, colours),
            *_bars(nodes, places, columns, flow.total, colours),
            height=_HEIGHT,
        ),
        [
            {
                bare("kbhistory.from"): _told(source),
                bare("kbhistory.to"): _told(target),
                bare("eval.queries"): number(count),
            }
            for (source, target), count in links.items()
        ],
    )


def _counted(flow: Flow) -> tuple[Mapping[_Node, int], Mapping[tuple[_Node, _Node], int]]:
    """Return the questions of each node and of each link, from the left, what was reached above what was lost."""
    nodes: Counter[_Node] = Counter()
    links: Counter[tuple[_Node, _Node]] = Counter()
    order = [outcome for outcome in FLOW_OUTCOMES if any(found == outcome for _, found in flow.ways)]
    ways = sorted(flow.ways, key=lambda way: (-way[0], order.index(way[1]) if way[1] else 0))
    for passed, outcome in ways:
        way = [(column, "reached" if passed > column else "lost") for column in range(len(FLOW_STAGES))]
        if outcome:
            way.append((len(FLOW_STAGES), outcome))
        for node in way:
            nodes[node] += flow.ways[passed, outcome]
        for link in pairwise(way):
            links[link] += flow.ways[passed, outcome]
    names = ["reached", "lost", *order]
    return dict(sorted(nodes.items(), key=lambda node: (node[0][0], names.index(node[0][1])))), links


def _places(nodes: Mapping[_Node, int], total: int) -> dict[_Node, float]:
    """Return the upper edge of each node, in questions from the top."""
    places: dict[_Node, float] = {}
    below: dict[int, float] = {}
    for node, count in nodes.items():
        places[node] = below.get(node[0], 0.0)
        below[node[0]] = places[node] + count + _GAP * total
    return places


def _ribbons(
    nodes: Mapping[_Node, int],
    links: Mapping[tuple[_Node, _Node], int],
    places: Mapping[_Node, float],
    total: int,
    colours: Palette,
) -> alt.Chart:
    rows: list[dict[str, Any]] = []
    leaves, enters = dict(places), dict(places)
    names = list(nodes)
    for source, target in sorted(links, key=lambda link: (names.index(link[0]), names.index(link[1]))):
        count = links[source, target]
        begin, end = leaves[source], enters[target]
        leaves[source] += count
        enters[target] += count
        told = f"{_told(source)} → {_told(target)}: {number(count)}"
        for point in range(_POINTS + 1):
            share = point / _POINTS
            height = begin + (end - begin) * (3 - 2 * share) * share**2
            x = source[0] + _BAR + (1 - 2 * _BAR) * share
            rows.append({"x": x, "y": height, "y2": height + count, "told": told, "to": _colour(target)})
    frame = pd.DataFrame(rows or [{"x": 0, "y": 0, "y2": 0, "told": "", "to": "quiet"}])
    ribbons: alt.Chart = (
        alt.Chart(frame)
        .mark_area(opacity=0.32)
        .encode(
            x=alt.X("x:Q", axis=None),
            y=alt.Y("y:Q", axis=None, scale=alt.Scale(reverse=True)),
            y2="y2:Q",
            detail="told:N",
            color=_scale(colours),
            tooltip=alt.Tooltip("told:N", title=bare("eval.queries")),
        )
    )
    return ribbons


def _bars(
    nodes: Mapping[_Node, int], places: Mapping[_Node, float], columns: int, total: int, colours: Palette
) -> list[alt.Chart]:
    bars = [
        {
            "x": node[0] - _BAR,
            "x2": node[0] + _BAR,
            "middle": node[0] + _BAR,
            "y": places[node],
            "y2": places[node] + count,
            "centre": places[node] + count / 2,
            "to": _colour(node),
            "told": _told(node),
            "count": number(count),
            "name": _short(node),
        }
        for node, count in nodes.items()
    ]
    heads = [
        {"x": column - _BAR, "told": bare(f"picture.stage.{stage}")}
        for column, stage in enumerate((*FLOW_STAGES, "outcome")[:columns])
    ]
    # What stands on the right of the last column needs a place, too.
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[-_BAR, columns - 0.25], nice=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[-0.16 * total, 1.12 * total], nice=False, reverse=True))
    drawn = alt.Chart(pd.DataFrame(bars))
    texts = drawn.encode(x=alt.X("middle:Q", axis=None), y=alt.Y("centre:Q", axis=None))
    return [
        drawn.mark_rect(cornerRadius=2).encode(
            x=x,
            x2="x2:Q",
            y=y,
            y2="y2:Q",
            color=_scale(colours),
            tooltip=[alt.Tooltip("told:N", title=" "), alt.Tooltip("count:N", title=bare("eval.queries"))],
        ),
        texts.mark_text(align="left", dx=5, dy=-7, fontSize=14, fontWeight="bold", color=colours.ink).encode(
            text="count:N"
        ),
        texts.mark_text(align="left", dx=5, dy=8, fontSize=12, color=colours.ink).encode(text="name:N"),
        alt.Chart(pd.DataFrame(heads))
        .mark_text(align="left", baseline="top", fontSize=13, color=colours.quiet)
        .encode(x=x, y=alt.value(0), text="told:N"),
    ]


def _scale(colours: Palette) -> alt.Color:
    names = ["good", "wrong", "other", "lost", "quiet"]
    return alt.Color(
        "to:N", legend=None, scale=alt.Scale(domain=names, range=[getattr(colours, name) for name in names])
    )


def _colour(node: _Node) -> str:
    return _OUTCOME_COLOURS.get(node[1], "good" if node[1] == "reached" else "lost")


def _short(node: _Node) -> str:
    """Return the name of a node beside its bar; the head of its column says the stage."""
    return bare(f"picture.flow.{node[1]}")


def _told(node: _Node) -> str:
    column, name = node
    if name in FLOW_OUTCOMES:
        return bare(f"picture.flow.{name}")
    return f"{bare(f'picture.stage.{FLOW_STAGES[column]}')}: {bare(f'picture.flow.{name}')}"
