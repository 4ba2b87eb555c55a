"""Evidence of a result's questions as a histogram, with the threshold of strict mode as a line that one drags.

Questions with an answer stand above the axis, the others below it, so that a good threshold has only the former on its
right. What the line shows while it is dragged is in the chart already: nothing is asked of the server meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import pandas as pd

from chatbot_mvp.api import ThresholdFigures, curve
from streamlit_app.pictures.palette import Palette
from streamlit_app.pictures.picture import Picture
from streamlit_app.shared.i18n import bare, number
from streamlit_app.shared.metrics import of_text

DRAGGED = "threshold"
"""Name of the selection and of its field."""
_BINS = 20
_TABLE_STEP = 5
"""Rows of the table, in thresholds of the curve."""
_HEIGHT = 400
_TEXT_PX = 62
"""Height of the three lines of text, which stand above the bars."""
_DRAG = "click, pointerdown, [pointerdown, window:pointerup] > pointermove"


def dragged_to(event: Any) -> float | None:
    """Return the threshold that the line was dragged to, 0-1; None if it was not moved."""
    points = event.selection.get(DRAGGED) or []
    return round(float(points[0][DRAGGED]), 2) if points else None


def evidence_picture(
    name: str, scores: Mapping[str, Sequence[float]], threshold: float, current: float, colours: Palette
) -> Picture:
    """Draw the scores (kind -> evidence 0-1) of a result.

    Args:
        threshold: where the line stands at first.
        current: the threshold of the chat, a dashed line.
    """
    figures = curve(scores)
    bars, top, bottom = _bars(scores)
    room = top + (top + bottom) * _TEXT_PX / (_HEIGHT - 170 - _TEXT_PX)
    x = alt.X("x:Q", title=bare("mykb.threshold"), scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(grid=False))
    y_axis = alt.Axis(labelExpr="format(abs(datum.value), 'd')", tickMinStep=1, tickCount=6, grid=False)
    y = alt.Y("low:Q", title=bare("eval.queries"), scale=alt.Scale(domain=[-bottom, room]), axis=y_axis)
    shown = {"answerable": colours.good, "near": colours.lost, "far": colours.other}
    kinds = {bare(f"mykb.kind.{kind}"): colour for kind, colour in shown.items() if kind in scores}
    histogram = (
        alt.Chart(pd.DataFrame(bars))
        .mark_rect(stroke=colours.ground, strokeWidth=1)
        .encode(
            x=x,
            x2="x2:Q",
            y=y,
            y2="high:Q",
            color=alt.Color(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=list(kinds), range=list(kinds.values())),
                legend=alt.Legend(orient="top", direction="vertical", columns=1, labelLimit=260),
            ),
            tooltip=[
                alt.Tooltip("kind:N", title=bare("mykb.col.kind")),
                alt.Tooltip("range:N", title=bare("mykb.col.evidence")),
                alt.Tooltip("count:Q", title=bare("eval.queries")),
            ],
        )
    )
    at = alt.selection_point(
        name=DRAGGED,
        fields=[DRAGGED],
        nearest=True,
        on=_DRAG,
        clear=False,
        toggle=False,
        empty=False,
        value=[{DRAGGED: round(threshold, 2)}],
    )
    points = alt.Chart(pd.DataFrame([_point(one) for one in figures]))
    here = points.transform_filter(at)
    now = alt.Chart(pd.DataFrame({DRAGGED: [current]})).encode(x=f"{DRAGGED}:Q")
    zero = alt.Chart(pd.DataFrame({"y": [0]})).mark_rule(color=colours.ink).encode(y="y:Q")
    line = here.encode(x=f"{DRAGGED}:Q")
    from_here = alt.value(_TEXT_PX)
    layers = [
        histogram,
        here.mark_rect(color=colours.quiet, opacity=0.16, tooltip=None, aria=False).encode(
            x="from:Q", x2=f"{DRAGGED}:Q", y=from_here, y2=alt.value("height")
        ),
        zero,
        now.mark_rule(strokeDash=[3, 4], strokeWidth=1.5, color=colours.ink, opacity=0.7).encode(
            y=from_here, y2=alt.value("height")
        ),
        line.mark_rule(strokeWidth=3, color=colours.ink).encode(y=from_here, y2=alt.value("height")),
        line.mark_point(filled=True, size=260, opacity=1, color=colours.ink, stroke=colours.ground).encode(
            y=alt.datum(0)
        ),
        _sentence(here, "answers", 0, colours),
        _sentence(here, "lets", 20, colours),
        _sentence(here, "far", 40, colours),
        points.mark_rule(strokeWidth=8, opacity=0, cursor="ew-resize", tooltip=None, aria=False)
        .encode(x=f"{DRAGGED}:Q")
        .add_params(at),
    ]
    return Picture(
        name,
        bare("picture.evidence"),
        bare("picture.evidence_said", value=number(current, 2)),
        alt.layer(*layers, height=_HEIGHT),
        _table(figures),
        bare("picture.evidence_hint"),
    )


def _sentence(here: alt.Chart, field: str, y: int, colours: Palette) -> alt.Chart:
    """Return a field of the threshold as text, ``y`` pixels below the upper edge."""
    drawn: alt.Chart = here.mark_text(
        align="left", baseline="top", color=colours.ink, fontSize=13, x=2, y=y, tooltip=None
    ).encode(text=f"{field}:N")
    return drawn


def _bars(scores: Mapping[str, Sequence[float]]) -> tuple[list[dict[str, Any]], int, int]:
    """Return a row for each bar, and how many questions the highest ones stack above and below the axis."""
    rows: list[dict[str, Any]] = []
    heights = {1: [0] * _BINS, -1: [0] * _BINS}
    for kind in ("answerable", "near", "far"):
        side = 1 if kind == "answerable" else -1
        counts = [0] * _BINS
        for value in scores.get(kind, ()):
            counts[min(int(value * _BINS), _BINS - 1)] += 1
        for place, count in enumerate(counts):
            if count:
                low = heights[side][place]
                heights[side][place] += count
                ends = (place / _BINS, (place + 1) / _BINS)
                rows.append(
                    {
                        "x": ends[0],
                        "x2": ends[1],
                        "low": side * low,
                        "high": side * (low + count),
                        "kind": bare(f"mykb.kind.{kind}"),
                        "count": count,
                        "range": f"{number(ends[0], 2)} – {number(ends[1], 2)}",
                    }
                )
    return rows, max(heights[1]), max(heights[-1])


def _point(figures: ThresholdFigures) -> dict[str, Any]:
    near, far = (of_text(figures.by_kind[kind]) for kind in ("near", "far"))
    value = number(figures.threshold, 2)
    return {
        DRAGGED: figures.threshold,
        "from": 0.0,
        "answers": bare("picture.evidence_answers", value=value, answered=of_text(figures.coverage)),
        "lets": bare("picture.evidence_lets", near=near),
        "far": bare("picture.evidence_far", far=far),
    }


def _table(figures: Sequence[ThresholdFigures]) -> list[dict[str, str]]:
    return [
        {
            bare("mykb.threshold"): number(one.threshold, 2),
            bare("mykb.line.coverage"): of_text(one.coverage),
            bare("mykb.line.wrong_answers"): of_text(one.wrong_answers),
        }
        for one in figures[::_TABLE_STEP]
    ]
