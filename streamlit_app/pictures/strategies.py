"""Strategies as bars over the same questions about one's own documents, each with its interval."""

from __future__ import annotations

import altair as alt
import pandas as pd

from chatbot_mvp.api import StrategyFigure, StrategyFigures
from streamlit_app.pictures.palette import Palette
from streamlit_app.pictures.picture import Picture
from streamlit_app.shared.i18n import bare
from streamlit_app.shared.metrics import of_text, span_text
from streamlit_app.shared.runs import spoken

_BAR, _AXIS = 44, 45  # pixels of each strategy, and of the axis


def strategies_picture(name: str, found: StrategyFigures, own: str, colours: Palette) -> Picture | None:
    """Draw how often the first passage found is the expected one; None without a run.

    Args:
        own: the run that the page is about; its bar is darker.
    """
    if not found.figures:
        return None
    rows = [
        {
            "strategy": spoken(one.strategy),
            "code": one.strategy,
            "share": one.first.value,
            **dict(zip(("low", "high"), one.first.interval or (None, None), strict=True)),
            "told": of_text(one.first),
            "own": one.run_id == own,
        }
        for one in found.figures
    ]
    base = alt.Chart(pd.DataFrame(rows)).encode(
        y=alt.Y(
            "strategy:N",
            title=None,
            sort=[spoken(one.strategy) for one in found.figures],
            axis=alt.Axis(labelLimit=230, labelOverlap=False, ticks=False, domain=False),
        ),
        tooltip=[
            alt.Tooltip("strategy:N", title=bare("eval.col.strategy")),
            alt.Tooltip("code:N", title=" "),
            alt.Tooltip("told:N", title=bare("mykb.figure.hit@1")),
        ],
    )
    scale = alt.Scale(domain=[0, 1])
    axis = alt.Axis(labelExpr="format(100 * datum.value, 'd') + ' %'", tickCount=5)
    bars = base.mark_bar(height=22, cornerRadiusEnd=3, color=colours.good).encode(
        x=alt.X("share:Q", title=None, scale=scale, axis=axis),
        opacity=alt.condition("datum.own", alt.value(1), alt.value(0.55)),
    )
    spans = base.mark_rule(strokeWidth=2, color=colours.ink).encode(x=alt.X("low:Q", scale=scale), x2="high:Q")
    ends = [
        base.mark_tick(thickness=2, size=10, color=colours.ink).encode(x=alt.X(f"{end}:Q", scale=scale))
        for end in ("low", "high")
    ]
    texts = base.mark_text(align="left", dx=6, dy=-17, fontSize=12, color=colours.ink).encode(
        x=alt.datum(0), text="told:N"
    )
    return Picture(
        name,
        bare("picture.strategies"),
        _sentence(found),
        alt.layer(bars, spans, *ends, texts, height=_BAR * len(rows) + _AXIS),
        [_row(one) for one in found.figures],
    )


def _sentence(found: StrategyFigures) -> str:
    best = found.figures[0]
    said = bare("picture.strategies_said", strategy=spoken(best.strategy), first=of_text(best.first))
    if len(found.figures) == 1:
        return said
    unclear = found.unclear
    if not unclear:
        return f"{said} {bare('picture.strategies_clear')}"
    return f"{said} {bare('picture.strategies_unclear', others='; '.join(map(spoken, unclear)))}"


def _row(one: StrategyFigure) -> dict[str, str]:
    return {
        bare("eval.col.strategy"): spoken(one.strategy),
        bare("mykb.figure.hit@1"): of_text(one.first),
        bare("table.interval"): span_text(one.first),
        bare("mykb.figure.hit@3"): of_text(one.third),
    }
