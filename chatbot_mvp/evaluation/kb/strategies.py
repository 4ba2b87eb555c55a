"""Strategies side by side over the same questions of a knowledge base: how often each finds what is expected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chatbot_mvp.metrics.statistics.share import Share
from chatbot_mvp.runs.line import RunLine
from chatbot_mvp.runs.lists import run_groups

COMPARED = {"LEXICAL": "", "HYBRID": "", "BRIDGE_HYBRID": "", "KB_CHAT": "kb_chat"}
"""Strategy -> the preset that it is measured with; "" for the settings in effect."""


@dataclass(frozen=True, slots=True)
class StrategyFigure:
    """The newest run of a strategy over the questions."""

    strategy: str
    run_id: str
    first: Share
    """Questions whose expected passage is the first one found, of those with such a passage."""
    third: Share
    """Questions whose expected passage is among the first three."""


@dataclass(frozen=True, slots=True)
class StrategyFigures:
    """What is known of the strategies."""

    figures: tuple[StrategyFigure, ...]
    """Best first, by ``first``, then by ``third``."""
    missing: tuple[str, ...]
    """Those of ``COMPARED`` that were not measured over these questions."""

    @property
    def unclear(self) -> tuple[str, ...]:
        """The strategies whose interval reaches that of the best one: they may be as good."""
        best = self.figures[0].first.interval if self.figures else None
        if best is None:
            return ()
        return tuple(
            one.strategy for one in self.figures[1:] if (own := one.first.interval) is not None and own[1] >= best[0]
        )


def strategy_figures(runs: Sequence[RunLine], run_id: str) -> StrategyFigures:
    """Return the figures of each strategy over the questions, and the text, that a run measured.

    Args:
        runs: all finished runs, newest first.
    """
    group = next((one for one in run_groups(runs) if any(run.run_id == run_id for run in one.runs)), None)
    newest: dict[str, RunLine] = {}
    for run in group.runs if group else ():
        newest.setdefault(run.strategy, run)
    figures = [
        StrategyFigure(name, run.run_id, first, third)
        for name, run in newest.items()
        if (first := _share(run, "hit@1")) is not None and (third := _share(run, "hit@3")) is not None
    ]
    figures.sort(key=lambda one: (-one.first.count, -one.third.count, one.strategy))
    return StrategyFigures(tuple(figures), tuple(name for name in COMPARED if name not in newest))


def _share(run: RunLine, metric: str) -> Share | None:
    value, (scored, _) = run.metrics.get(metric), run.scored.get(metric, (0, 0))
    return None if value is None or not scored else Share(round(value * scored), scored)
