"""Read a score from a judge's prose (RAG_P's DT-9), by explicit patterns only and without a default."""

from __future__ import annotations

import re

from pydantic import BaseModel, StrictFloat, StrictInt

from chatbot_mvp.judges.reading import Unreadable, read_reply
from chatbot_mvp.llm.thoughts import without_thoughts

_NAME = r"(?:score|rating|puntuaci[oó]n|puntaje|nota|calificaci[oó]n|valoraci[oó]n)"
_PREFIX = rf"\b{_NAME}\b[\"'*_\s]*(?:[:=]|\bis\b|\bes(?: de)?\b)[\"'*_\s]*"
_BEFORE = r"(?<![\w.,/%$€-])"
_AFTER = r"(?![\w/]|\s*%|[.,-]\d)"
_FRACTION = r"(\d+(?:[.,]\d+)?)\s*/\s*(\d+)"
_OUT_OF = r"(\d+(?:[.,]\d+)?)\s*(?:/|\bout of\b|\bsobre\b|\bde\b|\bof\b)\s*(\d+)"
_DECIMAL = r"(0[.,]\d+|1[.,]0+)"
_PATTERNS = tuple(
    re.compile(pattern, re.I)
    for pattern in (
        _PREFIX + _OUT_OF + _AFTER,
        _PREFIX + _DECIMAL + _AFTER,
        _PREFIX + r"(\d+)" + _AFTER,
        _BEFORE + _FRACTION + _AFTER,
        _BEFORE + _DECIMAL + _AFTER,
    )
)
"""Most explicit first. The first pattern that occurs decides."""
_LARGEST_WHOLE = 100  # largest denominator of a fraction; "3/2024" is a date


class _Score(BaseModel):
    score: StrictInt | StrictFloat | str
    # A second field, so that a bare number is not taken for the object.
    reason: object = None


def score_from_text(text: str) -> float | None:
    """Read a judge's score, 0-1; None if the text does not state one clearly.

    Accepted, in this order: the field ``score`` of a JSON object; after "score:", "puntuación:" or similar, a fraction,
    a decimal 0.x or 1.0, or an integer of 0-10 (in tenths); a fraction N/M of at most 1; a decimal 0.x or 1.0 on its
    own. If the first form that occurs has several different values, the result is None.

    "score: 1" in prose is None, because it can mean 1 of 10 or 1 of 1. In JSON, the requested form, it is 1.0. Never
    accepted: "10.5", "100", "20", "-0.3", "80 %".
    """
    clean = without_thoughts(text).strip()
    try:
        given = read_reply(clean, _Score)[0].score
    except Unreadable:
        pass
    else:
        if isinstance(given, str):
            return score_from_text(f"score: {given}") if len(given) <= len("100.00/100") else None
        if isinstance(given, float) or given == 1:
            return float(given) if 0 <= given <= 1 else None
        return given / 10 if 0 <= given <= 10 else None
    for pattern in _PATTERNS:
        found = {_value(*match.groups()) for match in pattern.finditer(clean)}
        if found:
            return found.pop() if len(found) == 1 else None
    return None


def _value(number: str, whole: str | None = None) -> float | None:
    value = float(number.replace(",", "."))
    if whole is not None:
        of = float(whole)  # of any number of digits
        return value / of if 0 < of <= _LARGEST_WHOLE and value <= of else None
    if not number.isdigit():
        return value
    return value / 10 if value <= 10 and value != 1 else None
