"""``<run_id>.json``, the result of a finished run: its type, and how it is read and written."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from chatbot_mvp.errors import RunUnreadable
from chatbot_mvp.judges.agreement import Agreement
from chatbot_mvp.runs.rows import (
    STORED,
    Interval,
    Metrics,
    MetricSpread,
    QueryRow,
    Recorded,
    SplitFigure,
    row_json,
    stored,
)
from chatbot_mvp.runs.usage import RunUsage
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.storage.limits import Amount, Count, Figure, Name

FORMAT_VERSION = 1
"""Version of the format of ``<run_id>.json`` and of the lines of ``submissions.jsonl``. A file without it counts as
version 0. Increase it when a key changes its meaning or type, but not for a new key with a default."""

BENCHMARK, KB, RAGAS = "benchmark", "kb", "ragas"
"""Kinds of runs: a pipeline on the queries of a data set, a pipeline on questions about a knowledge base, and a data
set of given answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """A finished run: ids and figures, without the texts of the corpus.

    A field with a default may be absent from files of earlier versions. Unknown keys are ignored when a file is read,
    and dropped when the result is written again (by an import or a retry). This is intended: a result should contain
    only figures that this version can check and recompute.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    format_version: Count = 0
    """``FORMAT_VERSION`` of the program that wrote the file; 0 if that program had no format versions yet."""
    run_id: Name
    kind: Name = BENCHMARK
    """``BENCHMARK``, ``KB`` or ``RAGAS``."""
    dataset: Name
    """The data set's name."""
    dataset_sha256: Name = ""
    strategy: Name
    fingerprint: Name
    queries: Count
    documents: Count = 0
    """Number of documents; 0 if the file does not contain it."""
    corpus_slice: Name = ""
    """As in ``RunManifest``; "" in files of earlier versions, as is ``config``."""
    gold_missing: Count = 0
    """As in ``RunManifest``."""
    started_at: Name = ""
    """ISO 8601, UTC; "" if the file does not contain it."""
    generator: Name = ""
    """Provider and model that generated the answers; "" for a run with retrieval only."""
    judge: Name = ""
    """Provider and model that judged the answers; "" without a judge."""
    answer_rule: Name = ""
    """Official script whose rule exact match and F1 follow; "" without answers and in runs of earlier versions."""
    language: Name = ""
    """Language of the prompts in an evaluation of answers; "" for a benchmark run."""
    repeats: Count = 1
    """How often an evaluation of answers scored each row."""
    metrics: Metrics
    """Means over the scored queries."""
    scored: dict[Name, tuple[Count, Count]]
    """Metric -> (number of scored queries, number of queries that the metric applies to)."""
    readings: dict[Name, tuple[Figure | None, Figure | None]] = field(default_factory=dict)
    """Metric -> (mean without failed queries, mean with failed queries counted as the worst value). Empty in files of
    early versions, as are ``intervals``, ``splits`` and ``causes``."""
    intervals: dict[Name, Interval | None] = field(default_factory=dict)
    """Metric -> 95 % bootstrap interval of the mean; None with fewer than two scored queries."""
    splits: dict[Name, dict[Name, dict[Name, SplitFigure]]] = field(default_factory=dict)
    """Field by which queries are grouped -> value of the field -> metric -> figures."""
    causes: dict[Name, Count] = field(default_factory=dict)
    """Value of ``causes.Cause`` -> number of queries."""
    reranker_rescue_count: Count | None = None
    """None for a run without a reranker."""
    damaged_records: Count = 0
    """Number of lines of ``records.jsonl`` that could not be read."""
    failures: dict[Name, Count] = field(default_factory=dict)
    """Phase (in an evaluation of answers: metric) -> number of queries for which it failed. Zeros are left out."""
    rerank_failures: Count | None = None
    """None for an evaluation of answers, or if the file does not contain it."""
    abstentions: Count | None = None
    """Number of answers that are "I don't know"; None for a run without answers."""
    not_scored: dict[Name, dict[Name, Count]] = field(default_factory=dict)
    """Metric -> reason -> number of rows without a score. Only in evaluations of answers."""
    spread: dict[Name, MetricSpread] = field(default_factory=dict)
    """Metric -> its spread between repeats. Only in evaluations with several repeats."""
    agreement: dict[Name, Agreement] = field(default_factory=dict)
    """Metric -> agreement of its scores with human labels, if the rows have labels."""
    auroc: dict[Name, Figure | None] = field(default_factory=dict)
    """"near" and "far" -> AUROC of the evidence: answerable questions against this kind. Only in KB runs."""
    question_seconds: dict[Name, Amount] = field(default_factory=dict)
    """"p50" and "p95" -> that percentile of the seconds that the retrieval took for a question. Only in KB runs."""
    passage_questions: dict[Name, Count] = field(default_factory=dict)
    """The fields of ``QuestionCounts``; empty if no model wrote questions for the passages."""
    generator_fingerprint: Name = ""
    """As in ``RunManifest``; "" in files of earlier versions, as is ``judge_fingerprint``."""
    judge_fingerprint: Name = ""
    preset: Name = ""
    """As in ``RunManifest``."""
    imported: Name = ""
    """``records.BUNDLE`` or ``records.TREC``; "" for a run that was not imported."""
    seconds: dict[Name, Amount] = field(default_factory=dict)
    """Phase -> duration of the last attempt, in seconds."""
    usage: RunUsage = field(default_factory=RunUsage)
    """Requests and cost of all attempts; zero in files of versions that did not count requests."""
    peak_rss_mb: Amount | None = None
    """Highest resident memory in MB (10^6 bytes); None if the operating system does not report it."""
    finished_at: Name = ""
    config: Recorded = field(default_factory=dict)
    """The settings of the run, as ``settings_masked`` of its manifest: secrets as "***"."""
    per_query: tuple[QueryRow, ...]
    """One row per query, in the order of the data set."""


_LEFT_OUT = frozenset(
    (
        *("reranker_rescue_count", "rerank_failures", "abstentions", "spread", "agreement", "imported"),
        *("auroc", "question_seconds", "passage_questions", "generator_fingerprint", "judge_fingerprint"),
        *("answer_rule", "corpus_slice", "gold_missing", "config", "preset"),
    )
)
"""Fields that are not written if they have their default value."""
_OF_RAGAS = frozenset(("kind", "language", "repeats", "not_scored"))
"""Fields that are written only for an evaluation of answers."""


def figures_json(result: RunResult) -> dict[str, Any]:
    """Return the JSON object of a result's file, without ``per_query``."""
    left_out = _LEFT_OUT if result.kind == RAGAS else _LEFT_OUT | _OF_RAGAS
    values = stored(replace(result, per_query=()), _NAMES - left_out)
    del values["per_query"]
    nested = {
        "splits": {
            name: {value: {metric: asdict(cell) for metric, cell in cells.items()} for value, cells in groups.items()}
            for name, groups in result.splits.items()
        },
        "spread": {name: asdict(found) for name, found in result.spread.items()},
        "agreement": {name: found.to_json() for name, found in result.agreement.items()},
        "usage": result.usage.to_json(),
    }
    known = {name: value for name, value in nested.items() if name in values}
    return {**values, **known, "format_version": FORMAT_VERSION}


def result_json(result: RunResult) -> dict[str, Any]:
    """Return the JSON object of a result's file. ``read_intervals`` requires that ``per_query`` is the last key."""
    besides = {"response"} if result.kind == RAGAS else {"response", "abstained"} if result.generator else set()
    return {**figures_json(result), "per_query": [row_json(row, besides) for row in result.per_query]}


def parse_result(content: bytes, run_id: str) -> RunResult:
    """Parse the content of a result's file.

    Raises:
        RunUnreadable: the content is not JSON, has a later format version, or a field is missing, has a wrong type, is
            NaN or infinite, or is far larger than any run makes it; the reason names the field.
    """
    try:
        result = _adapter().validate_json(content)
    except ValidationError as error:
        raise RunUnreadable(run_id=run_id, reason=f"{run_id}.json: {first_problem(error)}") from error
    if result.format_version > FORMAT_VERSION:
        reason = f"{run_id}.json has format {result.format_version}; this version reads up to {FORMAT_VERSION}"
        raise RunUnreadable(run_id=run_id, reason=reason)
    return result


def read_result(path: Path, run_id: str) -> RunResult:
    """Read the result of a finished run.

    Raises:
        RunUnreadable: as in ``parse_result``, or the file cannot be opened.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RunUnreadable(run_id=run_id, reason=f"{path.name}: {error}") from error
    return parse_result(content, run_id)


def first_problem(error: ValidationError) -> str:
    """Describe the first invalid field, for example "per_query.0.metrics: Field required"."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))[:200]
    return f"{place}: {first['msg']}" if place else str(first["msg"])


# --- the start of a file, before the queries

# Relies on the indentation of ``write_json``. Strings cannot match, because JSON escapes their line breaks as \n.
_QUERIES = b'\n  "per_query": ['
_PIECE, _LONGEST = 1 << 17, 1 << 22


def read_intervals(path: Path) -> dict[str, Interval | None]:
    """Read ``RunResult.intervals`` from the start of a file, which is fast because the queries are not parsed.

    The intervals are empty if the file is missing, has none, or is not laid out as this program writes it.
    """
    head = b""
    try:
        with path.open("rb") as file:
            while (end := head.find(_QUERIES)) < 0 and len(head) < _LONGEST:
                piece = file.read(_PIECE)
                if not piece:
                    return {}
                head += piece
        values = parse_json(head[:end].rstrip().removesuffix(b",") + b"}") if end >= 0 else {}
        return _intervals_adapter().validate_python(values.get("intervals") or {}, strict=False)
    except (OSError, ValueError, AttributeError):
        return {}


@cache
def _adapter() -> TypeAdapter[RunResult]:
    return TypeAdapter(RunResult)


@cache
def _intervals_adapter() -> TypeAdapter[dict[str, Interval | None]]:
    return TypeAdapter(dict[str, Interval | None], config=STORED)


_NAMES = frozenset(RunResult.__slots__)
