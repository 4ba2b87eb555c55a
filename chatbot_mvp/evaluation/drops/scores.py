"""Scores of one configuration per question, from one run or from repeats of it."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, variance
from typing import ClassVar

from pydantic import ConfigDict

from chatbot_mvp.errors import NotComparable
from chatbot_mvp.evaluation.benchmark.generation import is_abstention
from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.metrics.spec import MetricSpec
from chatbot_mvp.runs.comparable import ComparedRun
from chatbot_mvp.runs.kinds import run_kind
from chatbot_mvp.runs.masking import masked_settings
from chatbot_mvp.runs.rows import STORED, QueryRow, Recorded
from chatbot_mvp.text import LANGUAGES

ANSWERED = "answered"
"""1 for a question that got an answer, 0 for one that got none; not scored in runs without answers."""
TESTED_METRICS: dict[str, MetricSpec] = {**METRICS, ANSWERED: MetricSpec(ANSWERED, "row")}
"""Name -> specification of what can be tested."""
WATCHED = ("accepted", ANSWERED)
"""What every test compares besides its metrics: a system that answers less can look better in all others."""


@dataclass(frozen=True, slots=True)
class QuestionScores:
    """The scores of one question."""

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    digest: str
    """Identifies the question's text, kind and reference answer."""
    scores: dict[str, float | None]
    """Metric -> score, the mean over repeats; None if not scored. A failed question has the metric's worst score."""
    noise: dict[str, float]
    """Metric -> variance of that mean between repeats. Empty without repeats."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one configuration scored."""

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    kind: str
    """Kind of run, as in ``RunResult``."""
    dataset: str
    content_sha256: str
    """Hash of documents, questions and judgements; "" for an evaluation of answers, whose rows are to differ."""
    text_sha256: str
    """Hash of the knowledge base's text; "" for a data set."""
    strategy: str
    fingerprint: str
    code_version: str
    runs: tuple[str, ...]
    """Ids of the runs, one per repeat."""
    failed: int
    """Number of questions that failed in at least one of the runs."""
    questions: dict[str, QuestionScores]
    """Question id -> its scores."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Question id -> its text, for reports. A baseline does not hold texts."""
    settings: Recorded
    """The settings of the first run, secrets masked."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the metrics that at least one question has, in the registry's order."""
        found = {name for one in self.questions.values() for name, value in one.scores.items() if value is not None}
        return tuple(name for name in TESTED_METRICS if name in found)

    def only(self, metrics: Collection[str]) -> Measured:
        """Return the same scores without other metrics and without texts."""
        kept = {
            query_id: QuestionScores(
                one.digest,
                {name: value for name, value in one.scores.items() if name in metrics},
                {name: value for name, value in one.noise.items() if name in metrics},
            )
            for query_id, one in self.questions.items()
        }
        return replace(self, questions=kept, texts={})


def measured(runs: Sequence[ComparedRun]) -> Measured:
    """Return the scores of runs that repeat one configuration.

    Raises:
        NotComparable: the runs do not have the same questions or configuration, so they are no repeats.
    """
    first = runs[0]
    rows = [{row.query_id: row for row in run.result.per_query} for run in runs]
    same = {(run.manifest.kind, run.manifest.fingerprint, run.manifest.dataset_sha256) for run in runs}
    if len(same) > 1 or any(set(one) != set(rows[0]) for one in rows):
        raise NotComparable("nothing_to_compare", runs=", ".join(run.run_id for run in runs))
    repeats = {query_id: [one[query_id] for one in rows] for query_id in rows[0]}
    manifest = first.manifest
    return Measured(
        kind=manifest.kind,
        dataset=manifest.dataset,
        content_sha256=manifest.dataset_sha256 if run_kind(manifest.kind).retrieves else "",
        text_sha256=str(manifest.evaluation.get("kb_sha256", "")),
        strategy=manifest.strategy,
        fingerprint=manifest.fingerprint,
        code_version=manifest.code_version,
        runs=tuple(run.run_id for run in runs),
        failed=sum(any(row.has_failed for row in found) for found in repeats.values()),
        questions={query_id: _of_question(found, first.result.repeats) for query_id, found in repeats.items()},
        texts={query_id: found[0].question for query_id, found in repeats.items()},
        settings=masked_settings(manifest.settings_masked),
    )


def answered(row: QueryRow) -> float | None:
    """Return 1 if the question got an answer, 0 if the reply gives none; None in a run without answers."""
    if row.response is None:
        return None
    nothing = row.abstained or any(is_abstention(row.response, language) for language in LANGUAGES)
    return float(not nothing)


def _of_question(rows: Sequence[QueryRow], judged: int) -> QuestionScores:
    """Args: rows: the question in each run; judged: how often each run's judge scored it."""
    one = rows[0]
    scores: dict[str, float | None] = {}
    noise: dict[str, float] = {}
    for name in one.metrics:
        if name not in METRICS:
            continue
        values = [value for row in rows if (value := row.score(name)) is not None]
        scores[name] = round(fmean(values), 6) if values else None
        if len(values) > 1:
            noise[name] = round(variance(values) / len(values), 9)
        elif (spread := one.spread.get(name)) and spread.deviation is not None:
            noise[name] = round(spread.deviation**2 / judged, 9)
    if given := [value for row in rows if (value := answered(row)) is not None]:
        scores[ANSWERED] = round(fmean(given), 6)
    # A question without a history keeps the digest that baselines of earlier versions have of it.
    earlier = (part for turn in one.history for part in (turn.question, turn.answer))
    text = "\0".join((one.question, one.answer, one.question_type, *earlier))
    return QuestionScores(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16], scores, noise)
