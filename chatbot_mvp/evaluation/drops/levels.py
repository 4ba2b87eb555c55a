"""Required levels of a run's metrics, for pipelines without a baseline."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.evaluation.drops.verdict import EXIT_CODES
from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.metrics.statistics.noninferiority import Verdict, level_verdict
from chatbot_mvp.runs.result import RunResult


@dataclass(frozen=True, slots=True)
class LevelCheck:
    """One metric of a run against its required level."""

    metric: str
    required: float
    mean: float | None
    """Mean with failed questions as the worst score; None if nothing is scored."""
    interval: tuple[float, float] | None
    """Its bounds, each one-sided at 95 %."""
    verdict: Verdict
    """not_worse: the mean reaches the level. worse: its interval does not reach it. unclear: only its interval does."""

    @property
    def line(self) -> str:
        """The check in one line."""
        says = {"not_worse": "reached", "worse": "MISSED"}.get(self.verdict, "cannot tell")
        if self.mean is None or self.interval is None:
            return f"{self.metric}: not scored, required {self.required:g}: {says}"
        low, high = self.interval
        return f"{self.metric}: {self.mean:.4f} [{low:.4f}, {high:.4f}], required {self.required:g}: {says}"


def check_levels(result: RunResult, levels: Mapping[str, float]) -> list[LevelCheck]:
    """Check the means of a run against required levels, which are upper limits for a metric where lower is better.

    Raises:
        UnknownChoice: a metric that the run does not have.
    """
    found = []
    for metric, required in levels.items():
        if metric not in result.metrics or metric not in METRICS:
            legal = [name for name in result.metrics if name in METRICS]
            raise UnknownChoice(kind="metric", found=metric, legal=", ".join(legal) or "-")
        sign = 1.0 if METRICS[metric].higher_is_better else -1.0
        scores = [score for row in result.per_query if (score := row.score(metric)) is not None]
        verdict, mean, bounds = level_verdict(sign * np.array(scores, dtype=np.float64), sign * required)
        interval = None if bounds is None else tuple(sorted((sign * bounds[0], sign * bounds[1])))
        shown = None if interval is None else (interval[0], interval[1])
        found.append(LevelCheck(metric, required, None if mean is None else sign * mean, shown, verdict))
    return found


def exit_code(verdicts: list[Verdict]) -> int:
    """Return 3 if one of the verdicts is worse, else 4 if one is unclear, else 0."""
    codes = {EXIT_CODES[verdict] for verdict in verdicts}
    return next((code for code in (3, 4) if code in codes), 0)
