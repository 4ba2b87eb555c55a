"""Types of what each phase of a benchmark run records for a query. On disk each payload is a JSON object."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import ClassVar, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from chatbot_mvp.errors import RunUnreadable
from chatbot_mvp.runs.records import QueryRecord
from chatbot_mvp.runs.result import first_problem
from chatbot_mvp.runs.rows import Metrics
from chatbot_mvp.runs.usage import Spent

RETRIEVE, GENERATE, JUDGE = "retrieve", "generate", "judge"
"""Names of the phases."""

RETRIEVAL = "retrieval"
"""Name in a run's usage for the language model requests of enrichment, questions, expansion and reranking."""

# JSON lists are converted to tuples; strict validation of Python values would reject lists.
Span = tuple[int, int]
"""(start, end): offsets of the first character and of the one after the last."""

_RECORDED = ConfigDict(allow_inf_nan=False, extra="ignore")


@dataclass(frozen=True, slots=True)
class GoldRanks:
    """Ranks of each relevant document in the stages of retrieval; see ``searching.gold_ranks``."""

    depths: dict[str, int] = field(default_factory=dict)
    """Stage -> number of documents that it returned."""
    ranks: dict[str, dict[str, int | None]] = field(default_factory=dict)
    """Document id -> stage -> rank from 1; None if the stage did not return the document."""


@dataclass(frozen=True, slots=True)
class Said:
    """What the chat in strict mode says to a question."""

    outcome: str
    """Of ``chat.relevance.OUTCOMES``; "" for no answer of any kind in a run of before they were recorded."""
    tick: bool
    places: tuple[Span, ...]
    """Where in the text of the knowledge base stands what it cites, or without an answer, the first passage shown."""
    proof: float | None = None
    """As ``Completion.proof``; None if a model answered, or if it was not recorded."""
    text: str = ""
    """What a model wrote in answer, also if that is not shown; "" if none did, or if it was not recorded."""
    why: str = ""
    """As ``Answer.why``; "" if there is an answer, or if it was not recorded."""


@dataclass(frozen=True, slots=True)
class Retrieved:
    """Payload of ``RETRIEVE``. A field with a default is written only in runs that have it; all have it if the query
    failed."""

    __pydantic_config__: ClassVar[ConfigDict] = _RECORDED

    doc_ids: tuple[str, ...] = ()
    """Ids of the retrieved documents, best first."""
    scores: tuple[float, ...] = ()
    evidence: float | None = None
    topic: float | None = None
    """As ``RetrievalTrace.topic``."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Stage -> duration in seconds."""
    gold: GoldRanks = field(default_factory=GoldRanks)
    generation_doc_ids: tuple[str, ...] | None = None
    """Ids of the documents in the context; None if the run has neither a reranker nor answers."""
    reranked: bool | None = None
    """Whether the reranker succeeded; None if the run has no reranker."""
    rerank_error: str | None = None
    pre_rerank_candidate_ids: tuple[str, ...] = ()
    """Ids of the documents that were sent to the reranker, in their order before it; empty if nothing was sent."""
    passages: tuple[tuple[str, str, int, int], ...] = ()
    """(chunk id, section, start, end) of the context in the text of the knowledge base; only in a KB run."""
    places: tuple[Span, ...] = ()
    """Where the expected paragraph is in that text; only in a KB run."""
    search_query: str = ""
    """What was searched for a query with a history; "" for one without."""
    search_how: str = ""
    """As ``chat.followup.Search.how``."""
    quotes: tuple[Span, ...] | None = None
    """What strict mode quotes from that text without a model; empty if it does not answer. Only in a KB run of before
    ``said``."""
    said: Said | None = None
    """Only in a KB run."""

    @property
    def answer(self) -> Said | None:
        """``said``, in a run of before too; None if nothing was recorded."""
        if self.said is not None or self.quotes is None:
            return self.said
        return Said("answered" if self.quotes else "", bool(self.quotes), self.quotes)


@dataclass(frozen=True, slots=True)
class Generated:
    """Payload of ``GENERATE`` for a successful request."""

    __pydantic_config__: ClassVar[ConfigDict] = _RECORDED

    response: str
    abstained: bool
    """The response is "I don't know"."""
    model: str
    finish_reason: str | None
    seconds: float
    usage: Spent


@dataclass(frozen=True, slots=True)
class Judged:
    """Payload of ``JUDGE``. All fields have their defaults if the request failed."""

    __pydantic_config__: ClassVar[ConfigDict] = _RECORDED

    scores: Metrics = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    """Metric -> the judge's reason."""
    model: str = ""
    usage: Spent | None = None
    """Tokens and cost of the request; None if it failed."""
    raw: dict[str, str] = field(default_factory=dict)
    """Metric -> the judge's reply, for replies without a score."""


Payload = TypeVar("Payload")

_OF_EVERY_RANKING = ("doc_ids", "scores", "evidence", "topic", "seconds")
_OF_EVERY_JUDGEMENT = ("scores", "reasons", "model", "usage")

_RETRIEVED, _GENERATED, _JUDGED = TypeAdapter(Retrieved), TypeAdapter(Generated), TypeAdapter(Judged)


def retrieved_of(record: QueryRecord) -> Retrieved:
    """Parse the payload of a ``RETRIEVE`` record.

    Raises:
        RunUnreadable: a field is missing or has a wrong type. The other functions for payloads raise this error, too.
    """
    return _read(_RETRIEVED, record, _OF_EVERY_RANKING)


def generated_of(record: QueryRecord) -> Generated:
    """Parse the payload of a ``GENERATE`` record whose status is "ok"."""
    return _read(_GENERATED, record, ())


def judged_of(record: QueryRecord) -> Judged:
    return _read(_JUDGED, record, _OF_EVERY_JUDGEMENT)


def _read(payload: TypeAdapter[Payload], record: QueryRecord, always: Collection[str]) -> Payload:
    """Parse a payload; that of a success has the keys ``always``."""
    place = f"records.jsonl, query {record.query_id!r}, phase {record.phase!r}"
    try:
        found = payload.validate_python(record.payload)
    except ValidationError as error:
        raise RunUnreadable(run_id=record.run_id, reason=f"{place}: {first_problem(error)}") from error
    if record.status == "ok" and (missing := [name for name in always if name not in record.payload]):
        raise RunUnreadable(run_id=record.run_id, reason=f"{place}: {missing[0]}: the key is missing")
    return found
