"""Check the types of an answer that was read from a file, so that no page or export meets a value of another type."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, TypeAdapter

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


class _Found(BaseModel):
    chunk_id: str
    section: str
    score: float
    signals: dict[str, float]
    parts: dict[str, float]


class _StageError(BaseModel):
    stage: str
    error: str


class _Timing(BaseModel):
    stage: str
    seconds: float


class _Message(BaseModel):
    role: str
    content: str


class _Debug(BaseModel):
    """What ``record_of`` keeps for the debug panel. Keys that a later version may have added are left as they are."""

    model_config = ConfigDict(extra="allow")

    query: str
    query_expanded: str
    expansion_notes: list[str]
    candidates: list[_Found]
    chunks_final: list[_Found]
    chunks_added_by_stitching: list[str]
    stitching_added_count: int
    context_chars_used: int
    context_chars_budget: int
    evidence: float | None
    topic: float | None
    reranked: bool
    stage_errors: list[_StageError]
    timings: list[_Timing]
    min_evidence: float
    relevance: float | None
    decided_by: str
    strategy: str
    fingerprint: str
    prompt: list[_Message]
    withheld: str
    proof: float | None = None
    garbage: str = ""


def require_types(record: DataclassInstance, debug: object) -> None:
    """Check every field of an answer, which is given without the data of its debug panel, and those data.

    Raises:
        ValueError: names the field that has another type.
    """
    # In JSON, a list is a tuple and an object is a dataclass; Python values would be refused as such.
    _adapter(type(record)).validate_json(json.dumps(asdict(record)), strict=True)
    _adapter(_Debug).validate_python(debug, strict=True)


@lru_cache
def _adapter(kind: type[object]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
