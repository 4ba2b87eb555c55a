"""Compare today's scores with a baseline's or with required levels: the verdicts, with their exit codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from chatbot_mvp.errors import NotComparable, UnknownChoice
from chatbot_mvp.evaluation.archive import RunArchive
from chatbot_mvp.evaluation.drops.scores import TESTED_METRICS, WATCHED, Measured, measured
from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.metrics.statistics.noninferiority import GainTest, Verdict, gain_tests, level_verdict
from chatbot_mvp.runs.comparable import refuse_different
from chatbot_mvp.runs.comparison import QueryChange, changes
from chatbot_mvp.runs.line import line_of
from chatbot_mvp.runs.lists import main_metric
from chatbot_mvp.runs.masking import changed_settings
from chatbot_mvp.runs.result import RunResult

TOLERANCE = 0.02
"""Default of the drop of a mean that is accepted."""
LOST_SHARE = 0.05
"""Share of the paired questions that one side alone may have scored. Above it, the rest shows nothing of the whole."""
EXIT_CODES: Mapping[Verdict, int] = {"better": 0, "not_worse": 0, "worse": 3, "unclear": 4}


@dataclass(frozen=True, slots=True)
class MetricDrop:
    """One metric and whether it fell."""

    metric: str
    base: float | None
    """Mean of the baseline over the paired questions; None without pairs."""
    today: float | None
    test: GainTest
    worsened: tuple[QueryChange, ...]
    """Questions that are worse than in the baseline, the largest change first."""
    improved: tuple[QueryChange, ...]
    lost: int
    """Number of paired questions that only one side scored; they are not tested. If they are more than LOST_SHARE, the
    verdict is at best unclear."""

    @property
    def loses_too_many(self) -> bool:
        """Whether so many questions were scored by one side only that the others cannot tell."""
        return self.lost > LOST_SHARE * (self.test.pairs + self.lost)


@dataclass(frozen=True, slots=True)
class DropReport:
    """Whether the metrics fell, and from where to where."""

    baseline: str
    """Path of the baseline file, or id of the run that stands in for it."""
    dataset: str
    runs: tuple[str, ...]
    """Ids of today's runs."""
    tolerance: float
    questions: int
    """Number of paired questions."""
    left_out: int
    """Number of questions that only one side has, or that changed."""
    failed: int
    """Number of questions that failed today; each has the worst score."""
    configuration: Mapping[str, tuple[str, str]]
    """Strategy, fingerprint, version and content that differ -> (baseline, today)."""
    commit: str
    """Commit of the baseline; "" if it was not given."""
    metrics: tuple[MetricDrop, ...]
    watched: tuple[MetricDrop, ...] = ()
    """The metrics of WATCHED that both sides have and that were not asked for."""
    settings: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Settings that differ -> (baseline, today); empty if the baseline did not record its settings."""

    @property
    def verdict(self) -> Verdict:
        """worse if a metric is, watched ones included; else unclear if one is; else better if one is; else not_worse.

        A watched metric that is unclear or better does not count: it was not asked for.
        """
        found = {metric.test.verdict for metric in self.metrics}
        if any(metric.test.verdict == "worse" for metric in self.watched):
            return "worse"
        order: tuple[Verdict, ...] = ("worse", "unclear", "better")
        return next((name for name in order if name in found), "not_worse")

    @property
    def exit_code(self) -> int:
        """0 better or not worse, 3 worse, 4 cannot tell."""
        return EXIT_CODES[self.verdict]

    def to_json(self) -> dict[str, Any]:
        return {"verdict": self.verdict, "exit_code": self.exit_code, **asdict(self)}


def judge(
    name: str,
    before: Measured,
    today: Measured,
    paired: Sequence[str],
    metrics: Sequence[str],
    tolerance: float,
    commit: str = "",
) -> DropReport:
    """Test today's scores against the baseline's.

    Args:
        name: path or run id of the baseline, for the report and errors.
        paired: ids of the questions to pair.
        metrics: names of the metrics to test, one or more.

    Raises:
        UnknownChoice: a metric that one of the two sides does not have.
        NotComparable (nothing_to_gate): no metric was given, because the two sides share none.
    """
    legal = [metric for metric in before.metrics if metric in today.metrics]
    for metric in metrics:
        if metric not in legal:
            raise UnknownChoice(kind="metric of both", found=metric, legal=", ".join(legal) or "-")
    if not metrics:
        raise NotComparable("nothing_to_gate", path=name, reason="they share no scored metric")
    watched = [metric for metric in WATCHED if metric in legal and metric not in metrics]
    return DropReport(
        baseline=name,
        dataset=today.dataset,
        runs=today.runs,
        tolerance=tolerance,
        questions=len(paired),
        left_out=len(set(before.questions) | set(today.questions)) - len(paired),
        failed=today.failed,
        configuration=_configuration(before, today),
        commit=commit,
        metrics=_tested(before, today, paired, metrics, tolerance),
        watched=_tested(before, today, paired, watched, tolerance),
        settings=changed_settings(before.settings, today.settings),
    )


def _tested(
    before: Measured, today: Measured, paired: Sequence[str], metrics: Sequence[str], tolerance: float
) -> tuple[MetricDrop, ...]:
    """Test some metrics together, so that Holm's correction holds over them and over no others."""
    columns = [_Pairs.of(before, today, paired, metric) for metric in dict.fromkeys(metrics)]
    tests = gain_tests([one.gains for one in columns], [one.noise for one in columns], tolerance)
    return tuple(one.metric(test, today.texts) for one, test in zip(columns, tests, strict=True))


@dataclass(frozen=True, slots=True)
class _Pairs:
    """The scores of one metric on the questions that both sides scored."""

    name: str
    rows: tuple[tuple[str, float, float], ...]
    """(question id, baseline, today)."""
    noise: float
    """Mean over the questions of the variance that repeats measured in the difference."""
    lost: int

    @classmethod
    def of(cls, before: Measured, today: Measured, paired: Sequence[str], name: str) -> _Pairs:
        rows, noises, lost = [], [], 0
        for query_id in paired:
            sides = before.questions[query_id], today.questions[query_id]
            base, now = (side.scores.get(name) for side in sides)
            if base is not None and now is not None:
                rows.append((query_id, base, now))
                noises.append(sum(side.noise.get(name, 0.0) for side in sides))
            elif base is not None or now is not None:
                lost += 1
        return cls(name, tuple(rows), float(np.mean(noises)) if noises else 0.0, lost)

    @property
    def gains(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        sign = 1.0 if TESTED_METRICS[self.name].higher_is_better else -1.0
        return np.array([sign * (now - base) for _, base, now in self.rows], dtype=np.float64)

    def metric(self, test: GainTest, texts: Mapping[str, str]) -> MetricDrop:
        improved, worsened = changes(self.rows, texts, TESTED_METRICS[self.name].higher_is_better)
        found = MetricDrop(
            metric=self.name,
            base=float(np.mean([base for _, base, _ in self.rows])) if self.rows else None,
            today=float(np.mean([now for _, _, now in self.rows])) if self.rows else None,
            test=test,
            worsened=worsened,
            improved=improved,
            lost=self.lost,
        )
        if found.loses_too_many and test.verdict in ("better", "not_worse"):
            return replace(found, test=replace(test, verdict="unclear"))
        return found


def _configuration(before: Measured, today: Measured) -> dict[str, tuple[str, str]]:
    names = ("strategy", "fingerprint", "code_version", "content_sha256")
    pairs = {name: (getattr(before, name)[:16], getattr(today, name)[:16]) for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


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
