"""What the phases of a benchmark run record of a query, as types. On disk a payload is a JSON object."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from chatbot_mvp.errors import RunUnreadable
from chatbot_mvp.runs.records import QueryRecord
from chatbot_mvp.runs.result import first_problem
from chatbot_mvp.runs.rows import Metrics
from chatbot_mvp.runs.usage import Spent

RETRIEVE, GENERATE, JUDGE = "retrieve", "generate", "judge"
"""Phases."""

# Lists become tuples, which strict validation of Python values would refuse.
_RECORDED = ConfigDict(allow_inf_nan=False, extra="ignore")


@dataclass(frozen=True, slots=True)
class GoldRanks:
    """How far each relevant document came; see ``retrieving.gold_ranks``."""

    depths: dict[str, int] = field(default_factory=dict)
    """Stage -> documents that it had."""
    ranks: dict[str, dict[str, int | None]] = field(default_factory=dict)
    """Document -> stage -> rank from 1, None where it is not."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Of ``RETRIEVE``; of a failed query all defaults. Versions before a field was recorded leave it at its default."""

    __pydantic_config__: ClassVar[ConfigDict] = _RECORDED

    doc_ids: tuple[str, ...] = ()
    """The best first."""
    scores: tuple[float, ...] = ()
    evidence: float | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    """Stage -> seconds."""
    gold: GoldRanks = field(default_factory=GoldRanks)
    generation_doc_ids: tuple[str, ...] | None = None
    """None: the run has neither a reranker nor answers."""
    reranked: bool | None = None
    """None: the run has no reranker."""
    rerank_error: str | None = None
    pre_rerank_candidate_ids: tuple[str, ...] = ()
    """All that the reranker got; empty without one."""


@dataclass(frozen=True, slots=True)
class Generated:
    """Of ``GENERATE``, where that went well."""

    __pydantic_config__: ClassVar[ConfigDict] = _RECORDED

    response: str
    abstained: bool
    """The response is "I don't know"."""
    model: str = ""
    finish_reason: str | None = None
    seconds: float | None = None
    usage: Spent | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """Of ``JUDGE``; of a failed request all defaults."""

    __pydantic_config__: ClassVar[ConfigDict] = _RECORDED

    scores: Metrics = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    """Metric -> what the judge said."""
    model: str = ""
    usage: Spent | None = None
    """None: the request failed."""
    raw: dict[str, str] = field(default_factory=dict)
    """Metric -> the judge's reply that held no score."""


Payload = TypeVar("Payload")

_RETRIEVED, _GENERATED, _JUDGED = TypeAdapter(Retrieved), TypeAdapter(Generated), TypeAdapter(Judged)


def retrieved_of(record: QueryRecord) -> Retrieved:
    """
    Raises:
        RunUnreadable: a field has another type; the following functions raise it too.
    """
    return _read(_RETRIEVED, record)


def generated_of(record: QueryRecord) -> Generated:
    """The payload of a record whose status is "ok"."""
    return _read(_GENERATED, record)


def judged_of(record: QueryRecord) -> Judged:
    return _read(_JUDGED, record)


def _read(payload: TypeAdapter[Payload], record: QueryRecord) -> Payload:
    try:
        return payload.validate_python(record.payload)
    except ValidationError as error:
        reason = f"records.jsonl, query {record.query_id!r}, phase {record.phase!r}: {first_problem(error)}"
        raise RunUnreadable(run_id=record.run_id, reason=reason) from error
