"""``<run_id>.json``, a finished run's result: its type, and the one place where it is read and written."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from chatbot_mvp.errors import RunUnreadable
from chatbot_mvp.judges.agreement import Agreement
from chatbot_mvp.runs.rows import STORED, Interval, Metrics, MetricSpread, QueryRow, SplitFigure, row_json, stored
from chatbot_mvp.runs.usage import RunUsage

FORMAT_VERSION = 1
"""Of ``<run_id>.json`` and of the lines of ``submissions.jsonl``. Files of earlier versions have none, which counts as
0. Raise it when a key changes its meaning or type; a new key that has a default does not need another version."""

BENCHMARK, RAGAS = "benchmark", "ragas"
"""What a run measures: a pipeline over a data set's queries, or a data set of answers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """A finished run: ids and figures, no text of the corpus.

    A field with a default may be absent from the file: the version that wrote it did not have the field. Unknown keys
    are ignored. They are lost only if the result is written again (an import, a retry), and this is intended: a figure
    that this version cannot check or recompute should not stand beside those that it did.
    """

    __pydantic_config__: ClassVar[ConfigDict] = STORED

    format_version: int = 0
    """``FORMAT_VERSION`` of the program that wrote the file; 0: before there were versions."""
    run_id: str
    kind: str = BENCHMARK
    """``BENCHMARK`` or ``RAGAS``."""
    dataset: str
    """The data set's name."""
    dataset_sha256: str = ""
    strategy: str
    fingerprint: str
    queries: int
    documents: int = 0
    """0 where the file does not tell."""
    started_at: str = ""
    """ISO 8601, UTC; "" where the file does not tell."""
    generator: str = ""
    """Provider and model of the answers; "" for a run of retrieval only."""
    judge: str = ""
    """Provider and model of the judgements; "" without any."""
    language: str = ""
    """Of the prompts of an evaluation of answers; "" for a benchmark run."""
    repeats: int = 1
    """How often an evaluation of answers scored each row."""
    metrics: Metrics
    """Means over the scored queries."""
    scored: dict[str, tuple[int, int]]
    """Metric -> (queries that were scored, queries that it applies to)."""
    readings: dict[str, tuple[float | None, float | None]] = field(default_factory=dict)
    """Metric -> (mean with failures left out, mean with failures as the worst value); empty in early files, as the
    three following."""
    intervals: dict[str, Interval | None] = field(default_factory=dict)
    """Metric -> 95 % bootstrap interval of the mean; None below two scored queries."""
    splits: dict[str, dict[str, dict[str, SplitFigure]]] = field(default_factory=dict)
    """Field of the queries -> its value -> metric -> figures."""
    causes: dict[str, int] = field(default_factory=dict)
    """Value of ``causes.Cause`` -> queries."""
    reranker_rescue_count: int | None = None
    """None: a run without a reranker."""
    damaged_records: int = 0
    """Lines of ``records.jsonl`` that could not be read."""
    failures: dict[str, int] = field(default_factory=dict)
    """Phase, or metric of an evaluation of answers -> queries that it failed for; only those that failed for any."""
    rerank_failures: int | None = None
    """None: an evaluation of answers, or a file that does not tell."""
    abstentions: int | None = None
    """Answers that are "I don't know"; None: a run without answers."""
    not_scored: dict[str, dict[str, int]] = field(default_factory=dict)
    """Of an evaluation of answers: metric -> reason -> rows without a score."""
    spread: dict[str, MetricSpread] = field(default_factory=dict)
    """Of an evaluation with several repeats: metric -> its spread."""
    agreement: dict[str, Agreement] = field(default_factory=dict)
    """Metric -> its agreement with people, where the rows have labels."""
    imported: str = ""
    """``records.BUNDLE`` or ``records.TREC``; "" for a run of this machine."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Phase -> seconds of the last attempt."""
    usage: RunUsage = field(default_factory=RunUsage)
    """Of all attempts; zero in files of versions that did not count requests."""
    peak_rss_mb: float | None = None
    """Highest resident memory in MB (10^6 bytes); None where the system does not tell."""
    finished_at: str = ""
    per_query: tuple[QueryRow, ...]
    """In the order of the data set."""


_LEFT_OUT = frozenset(("reranker_rescue_count", "rerank_failures", "abstentions", "spread", "agreement", "imported"))
"""Not written at their defaults."""
_OF_RAGAS = frozenset(("kind", "language", "repeats", "not_scored"))
"""Written for an evaluation of answers only."""


def figures_json(result: RunResult) -> dict[str, Any]:
    """The JSON object of a result's file without ``per_query``."""
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
    """The JSON object of a result's file; ``read_head`` relies on ``per_query`` standing last."""
    besides = {"response"} if result.kind == RAGAS else {"response", "abstained"} if result.generator else set()
    return {**figures_json(result), "per_query": [row_json(row, besides) for row in result.per_query]}


def parse_result(content: bytes, run_id: str) -> RunResult:
    """The result in a file's content.

    Raises:
        RunUnreadable: it is no JSON, of a later format, or a field is missing, of another type, NaN or infinite.
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
    """A finished run's result.

    Raises:
        RunUnreadable: as ``parse_result``, or the file cannot be opened.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise RunUnreadable(run_id=run_id, reason=f"{path.name}: {error}") from error
    return parse_result(content, run_id)


def first_problem(error: ValidationError) -> str:
    """The first field that is wrong, and how: "per_query.0.metrics: Field required"."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else str(first["msg"])


# --- the head of a file

# As ``write_json`` indents it; within a text a line break is written as \n, so that it cannot stand there.
_QUERIES = b'\n  "per_query": ['
_PIECE, _LONGEST = 1 << 17, 1 << 22


def read_intervals(path: Path) -> dict[str, Interval | None]:
    """Read ``RunResult.intervals`` from the part of a file before its queries: the first few KB of 18 MB.

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
        values = json.loads(head[:end].rstrip().removesuffix(b",") + b"}") if end >= 0 else {}
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
