"""The drops that a baseline's questions can show, computed before anything is run."""

from __future__ import annotations

from typing import Any

from chatbot_mvp.metrics.statistics.noninferiority import deviation_of, power
from chatbot_mvp.wings.gate.baseline import Baseline

DROPS = (0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2)
CHANGED = (0.05, 0.1, 0.2)
"""Shares of the questions whose score changes between 0 and 1."""


def power_table(baseline: Baseline, tolerance: float) -> dict[str, Any]:
    """Return the power of the metrics that a baseline gates by default, as ``gate --power --json`` prints it.

    "probabilities" of a metric has, for each share of ``CHANGED`` and each drop of ``DROPS``, the probability of the
    verdict "worse", 0-1. Scores that change by less than 1, as of recall, vary less, so that their power is higher.
    """
    metrics = []
    for name in baseline.gated:
        count = sum(one.scores.get(name) is not None for one in baseline.measured.questions.values())
        rows = [
            [round(power(count, deviation_of(share, drop), drop, tolerance, step=1.0), 3) for drop in DROPS]
            for share in CHANGED
        ]
        metrics.append({"metric": name, "questions": count, "probabilities": rows})
    return {"tolerance": tolerance, "drops": DROPS, "changed": CHANGED, "metrics": metrics}


def power_text(table: dict[str, Any]) -> str:
    """Return the table as plain text."""
    lines = [
        f"probability of the verdict worse, tolerance {table['tolerance']:g}, by true drop of the mean",
        "for scores of 0 and 1; scores that change in smaller steps vary less",
    ]
    for one in table["metrics"]:
        lines += ["", f"{one['metric']}, {one['questions']} questions"]
        lines.append("  questions that change" + "".join(f"{drop:>8.3f}" for drop in DROPS))
        for share, row in zip(CHANGED, one["probabilities"], strict=True):
            lines.append(f"  {share:>21.0%}" + "".join(f"{value:>8.2f}" for value in row))
    return "\n".join(lines)
