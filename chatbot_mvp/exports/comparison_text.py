"""Format a comparison of runs as plain text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from chatbot_mvp.runs.comparison import Comparison, MetricDelta, QueryChange, RunDelta
from chatbot_mvp.runs.headline import Headline

_SHOWN = 5  # changed questions shown per direction; the JSON has all of them


def comparison_text(comparison: Comparison) -> str:
    """Format for each run: a table of metrics, the questions that changed most by the first one, changed settings."""
    labels = comparison.labels
    lines = [f"{comparison.dataset}, {comparison.queries} queries"]
    lines += [
        f"  {label}{' (the base)' if run_id == comparison.base else ''}: {run_id}" for run_id, label in labels.items()
    ]
    if comparison.versions:
        lines.append(f"different versions: {', '.join(str(number or '?') for number in comparison.versions)}")
        if comparison.changed_passages:
            lines.append(f"expected passage changed: {', '.join(comparison.changed_passages)}")
    if comparison.headlines:
        lines += [
            "right answers (of questions that all runs answered):",
            *(_headline(one, labels[one.run_id]) for one in comparison.headlines),
        ]
    for run in comparison.runs:
        name = f"{labels[run.run_id]} against {labels[comparison.base]}"
        lines += ["", name, *_table(run.metrics), *_changes(run.metrics[0]), *_configuration(run)]
    lines += ["", "interval: 95 % score interval; p: paired randomisation test, corrected by Holm in the last column"]
    return "\n".join(lines)


def _headline(one: Headline, label: str) -> str:
    low, high = one.right.interval or (0.0, 1.0)
    return f"  {label}: {one.right.count}/{one.right.total}, 95 % interval {low:.3f} to {high:.3f}"


def _table(metrics: Sequence[MetricDelta]) -> list[str]:
    head = f"  {'metric':<18} {'base':>7} {'other':>7} {'delta':>8}  {'95 % interval':<18} {'p':>7} {'p Holm':>7}"
    rows = [f"{head}  better/worse/equal"]
    for row in metrics:
        interval = "-" if row.interval is None else f"[{row.interval[0]:+.4f}, {row.interval[1]:+.4f}]"
        rows.append(
            f"  {row.metric:<18} {_number(row.base):>7} {_number(row.other):>7} {_number(row.delta, '+.4f'):>8}  "
            f"{interval:<18} {_number(row.p):>7} {_number(row.p_holm):>7}  "
            f"{len(row.improved)}/{len(row.worsened)}/{row.equal}"
        )
    return rows


def _changes(metric: MetricDelta) -> list[str]:
    lines = []
    for word, changes in (("improved", metric.improved), ("worsened", metric.worsened)):
        if changes:
            lines.append(f"  {word} by {metric.metric}, the largest first:")
            lines += [f"    {_change(change)}" for change in changes[:_SHOWN]]
    return lines


def _change(change: QueryChange) -> str:
    return f"{change.query_id}  {change.base:.3f} -> {change.other:.3f}  {change.question[:80]}"


def _configuration(run: RunDelta) -> list[str]:
    if not run.configuration:
        return ["  configuration: the same"]
    return ["  configuration:", *(f"    {name}: {one} -> {two}" for name, (one, two) in run.configuration.items())]


def _number(value: float | None, form: str = ".4f") -> str:
    return "-" if value is None else format(value, form)
