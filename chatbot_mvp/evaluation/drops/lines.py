"""A tested drop of a metric in words: its figures and verdict, and how the verdict was reached."""

from __future__ import annotations

from collections.abc import Mapping

from chatbot_mvp.evaluation.drops.verdict import LOST_SHARE, MetricDrop
from chatbot_mvp.metrics.statistics.noninferiority import POWER, Verdict

SAYS: Mapping[Verdict, str] = {"better": "better", "not_worse": "not worse", "worse": "WORSE", "unclear": "cannot tell"}
"""Verdict -> its words in a report."""


def metric_line(metric: MetricDrop) -> str:
    """Return a metric's figures and verdict in one line."""
    change = f"{number(metric.base)} -> {number(metric.today)}, {interval(metric)}"
    return f"{change}: {SAYS[metric.test.verdict]}"


def explanation(metric: MetricDrop, tolerance: float) -> list[str]:
    """Return sentences that say how the verdict was reached, and how many questions would do."""
    test = metric.test
    if test.mean is None or test.p_worse is None:
        return ["no question was scored by both sides"]
    fell, rose = len(metric.worsened), len(metric.improved)
    lines = [
        f"{test.pairs} questions: {fell} fell, {rose} rose; p of a drop {test.p_worse:.4f}; tolerance {tolerance:g}",
    ]
    if test.detectable is not None:
        lines.append(
            f"{test.pairs} questions show a true drop of {test.detectable:.3f} with a probability of {POWER:.0%}"
        )
    if test.noise:
        lines.append(f"{test.noise:.0%} of the variance is noise between repeats: more repeats reduce it")
    if test.needed_if_equal is not None:
        lines.append(f"about {test.needed_if_equal:,} questions would show that nothing got worse, if that is so")
    if test.needed_if_real is not None:
        lines.append(f"about {test.needed_if_real:,} questions would show the measured drop, if it is real")
    if metric.loses_too_many:
        lines.append(
            f"{metric.lost} questions were scored by one side only, more than {LOST_SHARE:.0%}: the rest cannot tell"
        )
    elif metric.lost:
        lines.append(f"{metric.lost} questions were scored by one side only and are not tested")
    return lines


def interval(metric: MetricDrop) -> str:
    """Format the change today minus baseline, with its bounds; for a metric where lower is better a rise is a loss."""
    test = metric.test
    if metric.base is None or metric.today is None or test.low is None or test.high is None or test.mean is None:
        return "not scored"
    delta = metric.today - metric.base
    low, high = (test.low, test.high) if delta * test.mean >= 0 else (-test.high, -test.low)
    return f"{delta:+.4f} [{low:+.4f}, {high:+.4f}]"


def number(value: float | None) -> str:
    """Return a mean with four digits; "-" for None."""
    return "-" if value is None else f"{value:.4f}"
