"""Compare two or more runs over the same questions, by metric and by query."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from chatbot_mvp.errors import NotComparable, UnknownChoice
from chatbot_mvp.metrics.registry import COMPARED, METRICS
from chatbot_mvp.metrics.statistics.bootstrap import Floats
from chatbot_mvp.metrics.statistics.noninferiority import paired_interval
from chatbot_mvp.metrics.statistics.significance import holm, randomisation_p
from chatbot_mvp.runs.comparable import ComparedRun, questions_of, refuse_different
from chatbot_mvp.runs.headline import Headline, headlines
from chatbot_mvp.runs.kinds import KB, run_kind
from chatbot_mvp.runs.line import RunLine, line_of
from chatbot_mvp.runs.manifest import TREC, RunManifest
from chatbot_mvp.runs.masking import masked_settings
from chatbot_mvp.runs.result import RunResult

_EQUAL = 1e-9  # a difference below it is rounding

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, slots=True)
class QueryChange:
    """One question whose score changed."""

    query_id: str
    question: str
    base: float
    other: float


@dataclass(frozen=True, slots=True)
class MetricDelta:
    """One metric of one run against the base."""

    metric: str
    base: float | None
    """The base's mean. All figures here are over the queries that both runs scored."""
    other: float | None
    delta: float | None
    """Other run's mean minus the base's mean."""
    interval: tuple[float, float] | None
    """95 % interval of the delta over queries, as ``paired_interval``; None with fewer than two pairs."""
    p: float | None
    """Two-sided paired randomisation test; None without pairs."""
    p_holm: float | None
    """``p`` with Holm's correction over all metrics and runs of the comparison."""
    pairs: int
    """Number of queries that both runs scored."""
    total: int
    """Number of queries in each run."""
    improved: tuple[QueryChange, ...]
    """Queries on which the other run is better (for a complement: lower), largest change first."""
    worsened: tuple[QueryChange, ...]
    equal: int


@dataclass(frozen=True, slots=True)
class RunDelta:
    """One run against the base."""

    run_id: str
    metrics: tuple[MetricDelta, ...]
    configuration: dict[str, tuple[Any, Any]]
    """Differences: setting (or fingerprint, code_version) -> (base, other). Secrets are masked."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of ``benchmark compare``."""

    base: str
    dataset: str
    queries: int
    runs: tuple[RunDelta, ...]
    versions: tuple[int, ...] = ()
    """Numbers of the versions of the knowledge base that the base and the other runs searched, in order; 0 for one that
    is not known. Empty if all searched the same text."""
    changed_passages: tuple[str, ...] = ()
    """Ids of the questions whose expected passage is not the same in all these versions."""
    headlines: tuple[Headline, ...] = ()
    """How many questions each run answered right, the base first; empty unless all runs have answers."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Run id -> its name for people, the base first: a letter, the strategy and, of answers, provider/model."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def configuration(self) -> dict[str, tuple[Any, ...]]:
        """Setting -> its values in the base and in the other runs, in order, for settings that differ."""
        base = {name: values[0] for run in self.runs for name, values in run.configuration.items()}
        return {
            name: (own, *(run.configuration.get(name, (own, own))[1] for run in self.runs))
            for name, own in base.items()
        }


def compare_runs(runs: Sequence[ComparedRun], metrics: Sequence[str] = ()) -> Comparison:
    """Compare the first run, the base, with each of the others.

    Args:
        metrics: names; by default the metrics of ``COMPARED`` that all runs have.

    Raises:
        NotComparable (nothing_to_compare): there are fewer than two runs, or one is given twice.
        NotComparable: the runs measured different data, so their figures cannot be compared.
        UnknownChoice: a run lacks one of the metrics.
    """
    ids = [run.run_id for run in runs]
    if len(set(ids)) < 2 or len(set(ids)) != len(ids):
        raise NotComparable("nothing_to_compare", runs=", ".join(ids) or "-")
    base, *others = runs
    for other in others:
        refuse_different(base, other)
    names = _names(runs, metrics)
    columns = [(other, name) for other in others for name in names]
    questions = questions_of(base)
    pairs = [_pairs(base, other, name, questions) for other, name in columns]
    differences = np.stack([scores[:, 1] - scores[:, 0] for scores in pairs], axis=1)
    p_values = [None if np.isnan(p) else float(p) for p in randomisation_p(differences)]
    corrected = holm(p_values)
    deltas = [
        _delta(name, pairs[column], questions, p_values[column], corrected[column])
        for column, (_, name) in enumerate(columns)
    ]
    return Comparison(
        base=base.run_id,
        dataset=base.manifest.dataset,
        queries=len(questions),
        runs=tuple(
            RunDelta(
                other.run_id,
                tuple(deltas[row * len(names) : (row + 1) * len(names)]),
                configuration_changes(base.manifest, other.manifest) | _rule_change(base.result, other.result),
            )
            for row, other in enumerate(others)
        ),
        **_across_versions(runs),
        headlines=headlines([run.result for run in runs]),
        labels=run_labels([line_of(run.result) for run in runs]),
    )


def _across_versions(runs: Sequence[ComparedRun]) -> dict[str, Any]:
    """Return ``versions`` and ``changed_passages`` of a comparison."""
    facts = [run.manifest.evaluation for run in runs]
    if runs[0].manifest.kind != KB or len({str(one.get("kb_sha256")) for one in facts}) < 2:
        return {}
    keys = dict.fromkeys(key for run in runs for key in run.expected)
    changed = tuple(key for key in keys if len({run.expected.get(key, "") for run in runs}) > 1)
    return {"versions": tuple(_version(one) for one in facts), "changed_passages": changed}


def _version(facts: Mapping[str, Any]) -> int:
    number = facts.get("kb_version")
    return number if isinstance(number, int) else 0


def configuration_changes(base: RunManifest, other: RunManifest) -> dict[str, tuple[Any, Any]]:
    """Return the settings that differ; a setting that one run's version did not have is None there.

    Masked values are compared, so different keys, or different folders with equal names, do not count as differences.
    """
    one, two = (
        {**masked_settings(m.settings_masked), "fingerprint": m.fingerprint, "code_version": m.code_version}
        for m in (base, other)
    )
    names = {**one, **two}
    if TREC in (base.imported, other.imported):
        # The settings of another program's ranking are unknown, so compare only what both runs have.
        names = {name: None for name in names if name in one and name in two}
    return {name: (one.get(name), two.get(name)) for name in names if one.get(name) != two.get(name)}


def _rule_change(base: RunResult, other: RunResult) -> dict[str, tuple[Any, Any]]:
    """Return the scripts whose rules the answer metrics of two runs follow, if they differ."""
    one, two = base.answer_rule, other.answer_rule
    if one == two or not (base.generator and other.generator):
        return {}
    return {"answer_rule": (one or None, two or None)}


def _names(runs: Sequence[ComparedRun], asked: Sequence[str]) -> list[str]:
    common = [name for name in runs[0].result.metrics if all(name in run.result.metrics for run in runs)]
    for name in asked:
        if name not in common:
            raise UnknownChoice(kind="metric", found=name, legal=", ".join(common) or "-")
    names = list(dict.fromkeys(asked)) or [name for name in COMPARED if name in common]
    if not names:
        raise NotComparable("nothing_to_compare", runs=", ".join(run.run_id for run in runs))
    return names


def _pairs(base: ComparedRun, other: ComparedRun, name: str, query_ids: Iterable[str]) -> Floats:
    """Return the scores of both runs, shape (queries, 2); NaN in both if either is not scored."""
    sides = [{row.query_id: row.metrics.get(name) for row in run.result.per_query} for run in (base, other)]
    scores = np.array([[side[key] for side in sides] for key in query_ids], dtype=np.float64).reshape(-1, 2)
    scores[np.isnan(scores).any(axis=1)] = np.nan
    return scores


def _delta(
    name: str,
    scores: Floats,
    questions: Mapping[str, str],
    p: float | None,
    p_holm: float | None,
) -> MetricDelta:
    known = ~np.isnan(scores[:, 0])
    pairs = int(known.sum())
    before, after = scores[known].T.copy()
    rows = [(key, *pair) for key, pair, scored in zip(questions, scores.tolist(), known, strict=True) if scored]
    improved, worsened = changes(rows, questions, METRICS[name].higher_is_better)
    return MetricDelta(
        metric=name,
        base=float(before.mean()) if pairs else None,
        other=float(after.mean()) if pairs else None,
        delta=float((after - before).mean()) if pairs else None,
        interval=paired_interval(after - before) if pairs >= 2 else None,
        p=p,
        p_holm=p_holm,
        pairs=pairs,
        total=len(questions),
        improved=improved,
        worsened=worsened,
        equal=pairs - len(improved) - len(worsened),
    )


def changes(
    rows: Iterable[tuple[str, float, float]], texts: Mapping[str, str], higher_is_better: bool
) -> tuple[tuple[QueryChange, ...], tuple[QueryChange, ...]]:
    """Return (improved questions, worsened questions), each with the largest change first.

    Args:
        rows: (query id, score in the base, score in the other run).
        texts: query id -> question.
    """
    sign = 1 if higher_is_better else -1
    gains = [
        (sign * (after - before), QueryChange(key, texts.get(key, ""), before, after)) for key, before, after in rows
    ]
    gains.sort(key=lambda pair: (-round(abs(pair[0]), 9), pair[1].query_id))
    improved, worsened = (tuple(change for gain, change in gains if side * gain > _EQUAL) for side in (1, -1))
    return improved, worsened


def run_labels(runs: Sequence[RunLine]) -> dict[str, str]:
    """Return run id -> a letter with its strategy and provider/model, or the source of its answers.

    The letter tells apart runs of the same system. Of more than 26 runs, the others have a number in its place.
    """
    marks = [*_LETTERS, *map(str, range(len(_LETTERS) + 1, len(runs) + 1))]
    return {
        run.run_id: f"{mark} · {run.system if run_kind(run.kind).retrieves else run.dataset}"
        for mark, run in zip(marks, runs, strict=False)
    }
