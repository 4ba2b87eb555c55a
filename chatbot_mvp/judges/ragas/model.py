"""What is scored, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from chatbot_mvp.llm.base import Usage
from chatbot_mvp.text import detect_language

Status = Literal["ok", "not_scored"]
Reason = Literal["", "missing_input", "nothing_to_judge", "no_statements", "unusable_reply", "provider"]
"""Why a row has no score.

missing_input: a column that the metric needs is not there or empty.
nothing_to_judge: no passages or ids to score, or vectors of length zero.
no_statements: the response states nothing, as one that only says that it does not know.
unusable_reply: the judge's replies could not be read, in as many attempts as there were.
provider: the judge's provider failed on this row's request.
"""

_ROWS_READ = 200
_NOTHING_USED = Usage()


@dataclass(frozen=True, slots=True)
class Row:
    """One question with what a RAG system made of it, under the names that Ragas gives the columns. None: not known."""

    user_input: str | None = None
    response: str | None = None
    retrieved_contexts: Sequence[str] | None = None
    """Texts, best first; empty: nothing was retrieved."""
    reference: str | None = None
    """The answer that was wished for."""
    retrieved_context_ids: Sequence[str | int] | None = None
    reference_context_ids: Sequence[str | int] | None = None


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """How a judge is asked."""

    attempts: int = 4
    """Requests per question to the judge until its reply can be read, from 1."""
    rating_attempts: int = 5
    """The same for each of ContextRelevance's two ratings, as in the package."""
    strictness: int = 3
    """Questions generated per response for ResponseRelevancy, from 1."""
    max_tokens: int = 1024
    """Of a first reply; one that was cut is asked for again with more."""
    temperature: float = 0.0
    """0-2. The questions of ResponseRelevancy are generated at 0.3 or more, or they would all be one."""
    repeat: int = 0
    """Number of the repetition, from 0: another one is not answered from the cache of replies."""


@dataclass(frozen=True, slots=True)
class Scored:
    """A metric's score of one row."""

    metric: str
    value: float | None
    """None if and only if ``status`` is "not_scored"."""
    status: Status
    reason: Reason = ""
    problem: str = ""
    """The reason in words, with the column, the reply's fault or the provider's message; "" when scored."""
    detail: Mapping[str, Any] = field(default_factory=dict)
    """What the score was made of (statements, verdicts and reasons, ratings, generated questions); fit for JSON. Of a
    row that is not scored, what there was until then."""
    raw: str = ""
    """The judge's last reply when it is the reason for no score, else ""."""
    usage: Usage = _NOTHING_USED
    """Sums over all replies; None for what no reply told."""
    requests: int = 0
    """Sent to the judge, those answered from the cache included."""
    cut: bool = False
    """True if a reply broke off in every attempt, so that the last statements may be missing."""


class NotScored(Exception):
    """Ends the scoring of a row. Never leaves ``score_row``."""

    def __init__(self, reason: Reason, problem: str, raw: str = "") -> None:
        super().__init__(problem)
        self.reason: Reason = reason
        self.problem = problem
        self.raw = raw


def language_of(rows: Iterable[Row]) -> str:
    """ "es" or "en", by the questions and responses of the first 200 rows."""
    texts = []
    for number, row in enumerate(rows):
        if number == _ROWS_READ:
            break
        texts += [text for text in (row.user_input, row.response) if text]
    return detect_language("\n".join(texts))
