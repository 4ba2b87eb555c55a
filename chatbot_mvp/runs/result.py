"""``<run_id>.json``, the result of a finished run: its type, and how it is read and written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, asdict, dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from chatbot_mvp.errors import RunUnreadable
from chatbot_mvp.runs.kinds import run_kind
from chatbot_mvp.runs.rows import (
    STORED,
    Agreement,
    Interval,
    Metrics,
    MetricSpread,
    QueryRow,
    Recorded,
    SplitFigure,
    row_json,
)
from chatbot_mvp.runs.usage import RunUsage
from chatbot_mvp.storage.formats import RESULT, VERSION
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.storage.limits import Amount, Count, Figure, Name

Stored = TypeVar("Stored")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """A finished run: ids and figures, without the texts of the corpus.

    A file has every key but those with a default here, which only some runs have. Unknown keys, which a later version
    may have added, are ignored when a file is read, and dropped when the result is written again (by an import or a
    retry). This is intended: a result should contain only figures that this version can check and recompute.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    format_version: Count
    """``storage.formats.RESULT`` of the program that wrote the file."""
    run_id: Name
    kind: Name
    """"benchmark", "kb", or the name of a kind of run that is added."""
    dataset: Name
    """The data set's name."""
    dataset_sha256: Name
    strategy: Name
    fingerprint: Name
    queries: Count
    documents: Count
    """Number of documents; 0 for an evaluation of answers."""
    corpus_slice: Name = ""
    """As in ``RunManifest``; "" for a whole corpus."""
    gold_missing: Count = 0
    """As in ``RunManifest``."""
    started_at: Name
    """ISO 8601, UTC."""
    generator: Name
    """Provider and model that generated the answers; "" for a run with retrieval only."""
    chat_model: Name = ""
    """Provider and model that the chat answered with, "demo" for literal quotes. Only in KB runs."""
    judge: Name
    """Provider and model that judged the answers; "" without a judge."""
    answer_rule: Name
    """Official script whose rule exact match and F1 follow; "" without answers."""
    language: Name
    """Language of the prompts of a run that scores given answers; "" for other runs."""
    repeats: Count
    """How often a run that scores given answers scored each row."""
    metrics: Metrics
    """Means over the scored queries."""
    scored: dict[Name, tuple[Count, Count]]
    """Metric -> (number of scored queries, number of queries that the metric applies to)."""
    readings: dict[Name, tuple[Figure | None, Figure | None]]
    """Metric -> (mean without failed queries, mean with failed queries counted as the worst value)."""
    intervals: dict[Name, Interval | None]
    """Metric -> 95 % score interval of the mean; None with fewer than two scored queries."""
    splits: dict[Name, dict[Name, dict[Name, SplitFigure]]]
    """Field by which queries are grouped -> value of the field -> metric -> figures."""
    causes: dict[Name, Count]
    """Value of ``causes.Cause`` -> number of queries."""
    reranker_rescue_count: Count | None = None
    """None for a run without a reranker."""
    damaged_records: Count
    """Number of lines of ``records.jsonl`` that could not be read."""
    failures: dict[Name, Count]
    """Phase (in a run that scores given answers: metric) -> number of queries for which it failed. Zeros are left
    out."""
    rerank_failures: Count | None
    """Number of queries whose reranking failed; None for a run that scores given answers."""
    abstentions: Count | None
    """Number of answers that are "I don't know"; None for a run without answers."""
    not_scored: dict[Name, dict[Name, Count]]
    """Metric -> reason -> number of rows without a score. Only in runs that score given answers."""
    spread: dict[Name, MetricSpread]
    """Metric -> its spread between repeats. Only in runs with several repeats."""
    agreement: dict[Name, Agreement]
    """Metric -> agreement of its scores with human labels, if the rows have labels."""
    auroc: dict[Name, Figure | None]
    """"near" and "far" -> AUROC of the evidence: answerable questions against this kind. Only in KB runs."""
    question_seconds: dict[Name, Amount]
    """"p50" and "p95" -> that percentile of the seconds that the retrieval took for a question. Only in KB runs."""
    passage_questions: dict[Name, Count]
    """The fields of ``QuestionCounts``; empty if no model wrote questions for the passages."""
    generator_fingerprint: Name
    """As in ``RunManifest``."""
    judge_fingerprint: Name
    preset: Name
    """As in ``RunManifest``."""
    imported: Name
    """``records.BUNDLE`` or ``records.TREC``; "" for a run that was not imported."""
    seconds: dict[Name, Amount]
    """Phase -> duration of the last attempt, in seconds."""
    usage: RunUsage
    """Requests and cost of all attempts."""
    peak_rss_mb: Amount | None
    """Highest resident memory in MB (10^6 bytes); None if the operating system does not report it."""
    finished_at: Name
    config: Recorded
    """The settings of the run, as ``settings_masked`` of its manifest: secrets as "***"."""
    per_query: tuple[QueryRow, ...]
    """One row per query, in the order of the data set."""


def figures_json(result: RunResult) -> dict[str, Any]:
    """Return the JSON object of a result's file, without ``per_query``."""
    values = asdict(replace(result, per_query=()))
    values = {name: value for name, value in values.items() if name not in _OF_SOME or value != _OF_SOME[name]}
    del values["per_query"]
    return {**values, "usage": result.usage.to_json(), VERSION: RESULT}


def result_json(result: RunResult) -> dict[str, Any]:
    """Return the JSON object of a result's file."""
    besides = {"response"}
    if run_kind(result.kind).retrieves:
        besides = {"response", "abstained"} if result.generator else set()
    return {**figures_json(result), "per_query": [row_json(row, besides) for row in result.per_query]}


def parse_result(content: bytes, run_id: str) -> RunResult:
    """Parse the content of a result's file.

    Raises:
        RunUnreadable: the content is not JSON, has a later format version, or a field is missing, has a wrong type, is
            NaN or infinite, or is far larger than any run makes it; the reason names the field.
    """
    try:
        return parsed(RunResult, content)
    except ValueError as error:
        raise RunUnreadable(run_id=run_id, reason=f"{run_id}.json: {error}") from error


def parsed(kind: Callable[..., Stored], content: bytes) -> Stored:
    """Parse a result or a line of one.

    Raises:
        ValueError: as in ``parse_result``; the message is the reason.
    """
    try:
        found: Stored = adapter(kind).validate_json(content)
    except ValidationError as error:
        raise ValueError(later_format(content, RESULT) or first_problem(error)) from error
    if getattr(found, VERSION) > RESULT:
        raise ValueError(later_format(content, RESULT))
    return found


def later_format(content: bytes, known: int) -> str:
    """Say that a JSON object was written in a later format, whose fields may be others; "" if it was not.

    Args:
        known: the latest format of its kind, as in ``storage.formats``.
    """
    try:
        found = parse_json(content)[VERSION]
    except (ValueError, TypeError, KeyError):
        return ""
    if not isinstance(found, int) or found <= known:
        return ""
    return f"{VERSION} is {found}; this version reads up to {known}, so update the program"


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


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """Return the one validator of a type, which is made when it is first needed."""
    return TypeAdapter(kind)


_OF_SOME = {one.name: one.default for one in fields(RunResult) if one.default is not MISSING}
"""Fields that are not written at their default: RAG_P's users read from their absence that there was no reranker."""
