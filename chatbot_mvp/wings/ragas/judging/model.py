"""The rows to score, the judge's options, and the scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from chatbot_mvp.llm.base import Usage
from chatbot_mvp.text import detect_language

Status = Literal["ok", "not_scored"]
Reason = Literal["", "missing_input", "nothing_to_judge", "no_statements", "unusable_reply", "provider"]
"""Why a row has no score.

missing_input: a column that the metric needs is missing or empty.
nothing_to_judge: there are no passages or ids to score, or a vector has length zero.
no_statements: the response contains no statement, for example only "I don't know".
unusable_reply: the judge's reply could not be read in any attempt.
provider: the judge's provider failed on a request for this row.
"""

_ROWS_READ = 200
_NOTHING_USED = Usage()


@dataclass(frozen=True, slots=True)
class Row:
    """One question with a RAG system's answer, under the column names of Ragas. None means unknown."""

    user_input: str | None = None
    response: str | None = None
    retrieved_contexts: Sequence[str] | None = None
    """Passage texts, best first; empty if nothing was retrieved."""
    reference: str | None = None
    """The correct answer."""
    retrieved_context_ids: Sequence[str | int] | None = None
    reference_context_ids: Sequence[str | int] | None = None


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """Options for the requests to a judge."""

    attempts: int = 4
    """Maximum number of requests until a reply can be read, from 1."""
    rating_attempts: int = 5
    """Maximum number of requests for each of ContextRelevance's two ratings, as in the package."""
    strictness: int = 3
    """Number of questions generated per response for ResponseRelevancy, from 1."""
    max_tokens: int = 1024
    """Token limit of a first reply. After a cut reply the limit is raised."""
    temperature: float = 0.0
    """0-2. ResponseRelevancy generates its questions at 0.3 or more, because they would be identical otherwise."""
    repeat: int = 0
    """Number of the repetition, from 0. Each repetition has its own entries in the reply cache."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A metric's score of one row."""

    metric: str
    value: float | None
    """The score; None if and only if there is a ``reason``."""
    reason: Reason = ""
    problem: str = ""
    """The reason in words, with the column, the fault of the reply or the provider's message; "" if scored."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """The parts of the score (statements, verdicts with reasons, ratings, generated questions) as JSON values. If not
    scored, the parts obtained before the failure."""
    raw: str = ""
    """The judge's last reply if it is the reason for the missing score, else ""."""
    usage: Usage = _NOTHING_USED
    """Sum over all replies; a figure is None if no reply reports it."""
    requests: int = 0
    """Number of requests to the judge, including those answered from the cache."""

    @property
    def status(self) -> Status:
        return "not_scored" if self.value is None else "ok"


class NotScored(Exception):
    """Ends the scoring of a row. ``score_row`` catches it."""

    def __init__(self, reason: Reason, problem: str, raw: str = "") -> None:
        super().__init__(problem)
        self.reason: Reason = reason
        self.problem = problem
        self.raw = raw


def language_of(rows: Iterable[Row]) -> str:
    """Detect the language ("es" or "en") from the questions and responses of the first 200 rows."""
    texts = []
    for number, row in enumerate(rows):
        if number == _ROWS_READ:
            break
        texts += [text for text in (row.user_input, row.response) if text]
    return detect_language("\n".join(texts))
