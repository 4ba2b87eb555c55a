"""The options ``--fail-under`` and ``--max-drop`` of ``benchmark``: they turn a result into an exit code."""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from chatbot_mvp import logs
from chatbot_mvp.evaluation.drops.lines import explanation, metric_line
from chatbot_mvp.evaluation.drops.verdict import DropReport, check_levels, exit_code
from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.runs.result import RunResult


def finite_option(value: float | None) -> float | None:
    """Refuse NaN and infinity as the value of an option.

    Raises:
        typer.BadParameter
    """
    if value is not None and not math.isfinite(value):
        raise typer.BadParameter(f"{value} is not a drop; give a number such as 0.02")
    return value


FailUnderOption = Annotated[
    list[str] | None,
    typer.Option(metavar="METRIC=VALUE", help="Exit code 3 if a mean is below, 4 if that may be chance; repeatable"),
]
MaxDropOption = Annotated[
    float | None,
    typer.Option(
        min=0, help="Exit code 3 if --metric (by default the main one) fell by more, 4 if the questions cannot tell"
    ),
]


def levels_of(given: Sequence[str] | None) -> dict[str, float]:
    """Return metric -> required level of the options "recall@5=.8".

    Raises:
        typer.BadParameter: an option has another form or names an unknown metric.
    """
    levels = {}
    for text in given or ():
        name, _, value = text.partition("=")
        try:
            levels[name] = float(value)
        except ValueError as error:
            message = f"{text!r} is not METRIC=VALUE, as in recall@5=.8"
            raise typer.BadParameter(message, param_hint="--fail-under") from error
        if not math.isfinite(levels[name]):
            raise typer.BadParameter(f"{value!r} is not a level, as in recall@5=.8", param_hint="--fail-under")
        if name not in METRICS:
            raise typer.BadParameter(
                f"{name!r} is not a metric; choose {', '.join(METRICS)}", param_hint="--fail-under"
            )
    return levels


def report_levels(result: RunResult, levels: dict[str, float]) -> int:
    """Check and print required levels on stderr, where they do not disturb the result; return the exit code."""
    checks = check_levels(result, levels)
    for check in checks:
        logs.say(f"{result.run_id}  {check.line}", logging.INFO if check.verdict == "not_worse" else logging.ERROR)
    return exit_code([check.verdict for check in checks])


def report_drops(reports: Sequence[DropReport]) -> int:
    """Print the tested drops of runs on stderr; return the exit code."""
    for report in reports:
        for metric in report.metrics:
            text = "; ".join([metric_line(metric), *explanation(metric, report.tolerance)])
            level = logging.INFO if metric.test.verdict in ("better", "not_worse") else logging.ERROR
            logs.say(f"{report.runs[0]}  {metric.metric}: {text}", level)
    return exit_code([report.verdict for report in reports])


def drops_json(reports: Sequence[DropReport]) -> list[dict[str, Any]]:
    """Return the tested drops as JSON values, without the changed questions that a comparison already lists."""
    rows: list[dict[str, Any]] = json.loads(json.dumps([report.to_json() for report in reports]))
    for row in rows:
        for metric in row["metrics"]:
            del metric["improved"], metric["worsened"]
    return rows
