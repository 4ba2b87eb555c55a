"""Pytest plugin with the fixture ``assert_not_worse``. It imports the App only when a test calls the fixture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from chatbot_mvp.evaluation.drops.verdict import DropReport

AssertNotWorse = Callable[..., "DropReport"]
"""The type of the fixture: the function below."""


def check_not_worse(
    kb: str | Path,
    questions: str | Path,
    baseline: str | Path,
    metrics: Sequence[str] = (),
    tolerance: float = 0.02,
    *,
    common_only: bool = False,
    allow_unclear: bool = False,
) -> DropReport:
    """Measure a knowledge base with today's code and settings, and fail if it is worse than its baseline.

    Args:
        kb: id of a stored knowledge base, or path of a document.
        questions: path of a question file.
        baseline: path of a file from ``chatbot-mvp gate --save-baseline``.
        metrics: metrics to test; by default those of the baseline.
        tolerance: drop of a mean that is accepted.
        common_only: pair the common questions, and accept changed content.
        allow_unclear: pass if there are too few questions to tell.

    Raises:
        AssertionError: a metric is worse, or there are too few questions to tell. The message has the report with the
            questions that fell.
        ChatbotError: as the command ``gate`` raises it.
    """
    __tracebackhide__ = True
    from chatbot_mvp.app import build_app
    from chatbot_mvp.settings.model import load_settings
    from chatbot_mvp.wings.gate.baseline import Source
    from chatbot_mvp.wings.gate.reports import text_report
    from chatbot_mvp.wings.gate.service import Gate

    app = build_app(load_settings())
    gate = app.get(Gate)
    today = gate.measure(Source(kb=str(kb), questions=str(questions)))
    report = gate.check(Path(baseline), today, metrics, tolerance, common_only)
    if report.verdict == "worse" or (report.verdict == "unclear" and not allow_unclear):
        raise AssertionError(text_report(report))
    return report


@pytest.fixture(scope="session")
def assert_not_worse() -> AssertNotWorse:
    """``assert_not_worse(kb, questions, baseline, metrics=(), tolerance=0.02)``: see ``check_not_worse``."""
    return check_not_worse
