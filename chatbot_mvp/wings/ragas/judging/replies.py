"""The structures of the replies that the prompts request."""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from chatbot_mvp.judges.reading import Binary

_LONE_RATING = re.compile(r"(?<![\w.,/-])[0-2](?![\w/]|[.,-]\d)")


class _Reasoned(BaseModel):
    """The reason comes first, so that the verdict can follow from it; without one it still is a verdict."""

    reason: str

    @model_validator(mode="before")
    @classmethod
    def _reason_may_be_missing(cls, given: Any) -> Any:
        return {**given, "reason": str(given.get("reason") or "")} if isinstance(given, dict) else given


class Usefulness(_Reasoned):
    verdict: Binary


class Classification(_Reasoned):
    statement: str
    attributed: Binary


class Classifications(BaseModel):
    classifications: list[Classification]


class Statements(BaseModel):
    statements: list[str]


class NumberedVerdict(_Reasoned):
    number: int
    """Number of the statement, from 1; 0 if the judge omitted it."""
    verdict: Binary

    @model_validator(mode="before")
    @classmethod
    def _number_may_be_missing(cls, given: Any) -> Any:
        return {"number": 0, **given} if isinstance(given, dict) else given


class NumberedVerdicts(BaseModel):
    verdicts: list[NumberedVerdict]

    def problem(self, statements: int) -> str:
        """Describe the fault of these verdicts for a given number of statements; "" if there is none."""
        numbers = [verdict.number for verdict in self.verdicts]
        if sorted(numbers) == list(range(1, statements + 1)) or numbers == [0] * statements:
            return ""
        return f"there must be one verdict for each statement from 1 to {statements}, with its number"

    def in_order(self) -> list[NumberedVerdict]:
        return sorted(self.verdicts, key=lambda verdict: verdict.number)


class JudgedStatement(_Reasoned):
    statement: str
    verdict: Binary


class JudgedStatements(BaseModel):
    # Verdicts as the ragas package asks for them: each repeats its statement, and has no number. This is no docstring,
    # because that would go to the judge with the schema.
    statements: list[JudgedStatement]

    def problem(self, statements: int) -> str:
        """Describe the fault of these verdicts for a given number of statements; "" if there is none."""
        if len(self.statements) == statements:
            return ""
        return f"there must be one verdict for each of the {statements} statements, in the same order"

    def in_order(self) -> list[JudgedStatement]:
        return self.statements


class GeneratedQuestion(BaseModel):
    question: str
    noncommittal: Binary


def _rating(value: object) -> object:
    if isinstance(value, str):
        said = set(_LONE_RATING.findall(value))
        return int(said.pop()) if len(said) == 1 else value
    return "a truth value" if isinstance(value, bool) else value


class Rating(BaseModel):
    rating: Annotated[int, Field(ge=0, le=2), BeforeValidator(_rating)]
    """0-2. A number in prose is accepted if it is the only possible one."""


REPLIES: dict[str, dict[str, type[BaseModel]]] = {
    "context_precision": {"verdict": Usefulness},
    "context_recall": {"classification": Classifications},
    "faithfulness": {"statements": Statements, "verdicts": NumberedVerdicts},
    "answer_relevancy": {"question": GeneratedQuestion},
    "context_relevance": {"first": Rating, "second": Rating},
}
"""Prompt file -> prompt name -> structure of the reply."""
