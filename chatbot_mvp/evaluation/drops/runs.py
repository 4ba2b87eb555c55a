"""Tests finished runs against the first of them."""

from __future__ import annotations

from collections.abc import Sequence

from chatbot_mvp.evaluation.archive import RunArchive
from chatbot_mvp.evaluation.drops.scores import Measured, measured
from chatbot_mvp.evaluation.drops.verdict import DropReport, judge
from chatbot_mvp.runs.comparison import refuse_different
from chatbot_mvp.runs.line import line_of
from chatbot_mvp.runs.search import main_metric


def tested_drops(
    archive: RunArchive, run_ids: Sequence[str], metrics: Sequence[str], tolerance: float
) -> list[DropReport]:
    """Test finished runs against the first of them: whether a metric fell by more than ``tolerance``.

    Args:
        metrics: names; by default the main metric of the first run.
        tolerance: drop of a mean that is accepted, 0 or more.

    Raises:
        RunNotFound, RunUnreadable, NotComparable, UnknownChoice
    """
    base, *others = [archive.compared(run_id) for run_id in run_ids]
    before = measured([base])
    names = list(metrics) or main_of(archive, before)
    reports = []
    for other in others:
        refuse_different(base, other)
        today = measured([other])
        reports.append(judge(base.run_id, before, today, list(before.questions), names, tolerance))
    return reports


def main_of(archive: RunArchive, today: Measured) -> tuple[str, ...]:
    """Return the main metric of the kind of run; its first scored one if that is not scored; () without any."""
    name = main_metric(line_of(archive.run(today.runs[0])))
    return (name,) if name in today.metrics else today.metrics[:1]
