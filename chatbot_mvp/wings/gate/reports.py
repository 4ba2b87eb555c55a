"""Reports of a gate as text for a terminal, Markdown for a comment, JUnit XML, and JSON.

Texts and ids of questions may come from others: in Markdown they are code, which shows links and HTML as they are
written; in text and XML control characters become spaces.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from xml.etree import ElementTree  # nosec B405 -- it writes XML and parses none

from chatbot_mvp.evaluation.drops.lines import SAYS, explanation, interval, metric_line, number
from chatbot_mvp.evaluation.drops.verdict import DropReport, MetricDrop
from chatbot_mvp.metrics.statistics.noninferiority import deviation_of, power
from chatbot_mvp.runs.comparison import QueryChange
from chatbot_mvp.terminal import json_line
from chatbot_mvp.wings.gate.baseline import Baseline

_SHOWN = 10  # changed questions shown per direction; the JSON has all of them
_TEXT = 100  # characters shown of a question

_DROPS = (0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2)
_CHANGED = (0.05, 0.1, 0.2)
"""Shares of the questions whose score changes between 0 and 1."""


def text_report(report: DropReport) -> str:
    """Return the report as plain text."""
    lines = [headline(report), *_facts(report)]
    for metric in (*report.metrics, *report.watched):
        lines += ["", f"{_name(metric, report)}: {metric_line(metric)}"]
        lines += [f"  {line}" for line in explanation(metric, report.tolerance)]
        for word, changes in (("fell", metric.worsened), ("rose", metric.improved)):
            if changes:
                lines.append(f"  {word} ({len(changes)}), the largest change first:")
                lines += [f"    {_change(change)}" for change in changes[:_SHOWN]]
    return "\n".join(lines)


def markdown_report(report: DropReport) -> str:
    """Return the report as Markdown, for a comment on a change."""
    lines = [f"### {headline(report, _code)}", "", "| metric | baseline | today | change, 90 % interval | verdict |"]
    lines.append("|---|---|---|---|---|")
    for metric in (*report.metrics, *report.watched):
        test = metric.test
        cells = [
            _name(metric, report),
            number(metric.base),
            number(metric.today),
            interval(metric),
            SAYS[test.verdict],
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += ["", *(f"- {fact}" for fact in _facts(report, _code))]
    for metric in report.metrics:
        lines += [f"- {metric.metric}: {line}" for line in explanation(metric, report.tolerance)]
    for metric in (*report.metrics, *report.watched):
        for word, changes in (("fell", metric.worsened), ("rose", metric.improved)):
            if changes:
                lines += ["", f"<details><summary>{metric.metric}: {len(changes)} questions {word}</summary>", ""]
                lines += [
                    f"- {_code(change.query_id)} {change.base:.3f} → {change.other:.3f} {_code(change.question)}"
                    for change in changes[:_SHOWN]
                ]
                lines += ["", "</details>"]
    return "\n".join(lines)


def junit_report(report: DropReport) -> str:
    """Return the report as JUnit XML: one test case per metric, which fails if it is worse or unclear.

    A watched metric fails only if it is worse.
    """
    shown = (*report.metrics, *report.watched)
    failed = [metric for metric in report.metrics if metric.test.verdict in ("worse", "unclear")]
    failed += [metric for metric in report.watched if metric.test.verdict == "worse"]
    counts = {"tests": str(len(shown)), "failures": str(len(failed)), "errors": "0"}
    suites = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(suites, "testsuite", {"name": _plain(f"gate {report.dataset}"), **counts})
    for metric in shown:
        case = ElementTree.SubElement(suite, "testcase", {"classname": "chatbot_mvp.gate", "name": metric.metric})
        body = "\n".join([*explanation(metric, report.tolerance), *map(_change, metric.worsened[:_SHOWN])])
        if metric in failed:
            attributes = {"type": metric.test.verdict, "message": metric_line(metric)}
            ElementTree.SubElement(case, "failure", attributes).text = body
        else:
            ElementTree.SubElement(case, "system-out").text = f"{metric_line(metric)}\n{body}"
    ElementTree.indent(suites)
    return ElementTree.tostring(suites, encoding="unicode", xml_declaration=True)


def json_report(report: DropReport) -> str:
    """Return the report as one JSON object on one line, with all changed questions."""
    return json_line(report.to_json())


REPORTS: Mapping[str, Callable[[DropReport], str]] = {
    "text": text_report,
    "markdown": markdown_report,
    "junit": junit_report,
    "json": json_report,
}
"""Name of the form -> the function that writes it."""


def headline(report: DropReport, shown: Callable[[str], str] | None = None) -> str:
    """Return the verdict in one line. ``shown`` formats text of others."""
    form = shown or _plain
    return f"Gate: {SAYS[report.verdict]} than the baseline {form(report.baseline)}".replace(
        "cannot tell than", "cannot tell whether today is worse than"
    )


def _facts(report: DropReport, shown: Callable[[str], str] | None = None) -> list[str]:
    form = shown or _plain
    lines = [f"{form(report.dataset)}, {report.questions} questions, today's runs: {', '.join(map(form, report.runs))}"]
    if report.left_out:
        lines.append(f"{report.left_out} questions were left out, because only one side has them or they changed")
    if report.failed:
        lines.append(f"{report.failed} questions failed today and have the worst score")
    if report.commit:
        lines.append(f"commit of the baseline: {form(report.commit)}")
    lines += [f"{name}: {form(one)} -> {form(two)}" for name, (one, two) in report.configuration.items()]
    lines += [f"{name.upper()}: {form(one)} -> {form(two)}" for name, (one, two) in report.settings.items()]
    return lines


def _name(metric: MetricDrop, report: DropReport) -> str:
    return f"{metric.metric} (watched)" if metric in report.watched else metric.metric


def _change(change: QueryChange) -> str:
    return f"{_plain(change.query_id)}  {change.base:.3f} -> {change.other:.3f}  {_plain(change.question)}"


def _plain(text: str) -> str:
    """Return a text of others for one line: control characters become spaces, and a long text is cut."""
    line = "".join(letter if letter.isprintable() else " " for letter in text)
    return line if len(line) <= _TEXT else f"{line[: _TEXT - 1]}…"


def _code(text: str) -> str:
    """Return a text of others as Markdown code, in which neither links nor HTML nor mentions work."""
    return f"`{_plain(text).replace('`', chr(39)).replace('|', '¦')}`" if text.strip() else ""


def power_table(baseline: Baseline, tolerance: float) -> dict[str, Any]:
    """Return the power of the metrics that a baseline gates by default, as ``gate --power --json`` prints it.

    "probabilities" of a metric has, for each share of ``_CHANGED`` and each drop of ``_DROPS``, the probability of the
    verdict "worse", 0-1. Scores that change by less than 1, as of recall, vary less, so that their power is higher.
    """
    metrics = []
    for name in baseline.gated:
        count = sum(one.scores.get(name) is not None for one in baseline.measured.questions.values())
        rows = [
            [round(power(count, deviation_of(share, drop), drop, tolerance, step=1.0), 3) for drop in _DROPS]
            for share in _CHANGED
        ]
        metrics.append({"metric": name, "questions": count, "probabilities": rows})
    return {"tolerance": tolerance, "drops": _DROPS, "changed": _CHANGED, "metrics": metrics}


def power_text(table: dict[str, Any]) -> str:
    """Return the table as plain text."""
    lines = [
        f"probability of the verdict worse, tolerance {table['tolerance']:g}, by true drop of the mean",
        "for scores of 0 and 1; scores that change in smaller steps vary less",
    ]
    for one in table["metrics"]:
        lines += ["", f"{one['metric']}, {one['questions']} questions"]
        lines.append("  questions that change" + "".join(f"{drop:>8.3f}" for drop in _DROPS))
        for share, row in zip(_CHANGED, one["probabilities"], strict=True):
            lines.append(f"  {share:>21.0%}" + "".join(f"{value:>8.2f}" for value in row))
    return "\n".join(lines)
