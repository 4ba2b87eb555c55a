"""The drops that a baseline's questions can show, computed before anything is run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from chatbot_mvp.metrics.statistics.noninferiority import deviation_of, power
from chatbot_mvp.wings.gate.baseline import Baseline

DROPS = (0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2)
CHANGED = (0.05, 0.1, 0.2)


@dataclass(frozen=True, slots=True)
class MetricPower:
    """The probability of the verdict "worse" for one metric."""

    metric: str
    questions: int
    """Number of questions with a score in the baseline."""
    probabilities: tuple[tuple[float, ...], ...]
    """For each share of ``CHANGED`` and each drop of ``DROPS``: the probability, 0-1."""


@dataclass(frozen=True, slots=True)
class PowerTable:
    """The power of a baseline's questions, by the share of questions whose score changes between 0 and 1.

    Scores that change by less than 1, as of recall, vary less, so that their power is higher.
    """

    tolerance: float
    metrics: tuple[MetricPower, ...]

    def to_json(self) -> dict[str, Any]:
        return {"tolerance": self.tolerance, "drops": DROPS, "changed": CHANGED, **asdict(self)}

    def text(self) -> str:
        """Return the table as plain text."""
        lines = [
            f"probability of the verdict worse, tolerance {self.tolerance:g}, by true drop of the mean",
            "for scores of 0 and 1; scores that change in smaller steps vary less",
        ]
        for one in self.metrics:
            lines += ["", f"{one.metric}, {one.questions} questions"]
            lines.append("  questions that change" + "".join(f"{drop:>8.3f}" for drop in DROPS))
            for share, row in zip(CHANGED, one.probabilities, strict=True):
                lines.append(f"  {share:>21.0%}" + "".join(f"{value:>8.2f}" for value in row))
        return "\n".join(lines)


def power_table(baseline: Baseline, tolerance: float) -> PowerTable:
    """Return the power of the metrics that a baseline gates by default."""
    found = []
    for name in baseline.gated:
        count = sum(one.scores.get(name) is not None for one in baseline.measured.questions.values())
        rows = tuple(
            tuple(round(power(count, deviation_of(share, drop), drop, tolerance, step=1.0), 3) for drop in DROPS)
            for share in CHANGED
        )
        found.append(MetricPower(name, count, rows))
    return PowerTable(tolerance, tuple(found))
