"""Tell what rules a text out as the answer, though it has the value asked for: another number, another time.

All texts are folded: lower case, no accents.
"""

from __future__ import annotations

import re

from chatbot_mvp.llm.extractive.values import FIGURE, MEASURE, UNIT_OF_TIME

_AMOUNT = re.compile(rf"\b({FIGURE}) ({UNIT_OF_TIME}|{MEASURE})\b")
_LIMIT = re.compile(
    rf"\b(mas de|mayor(?:es)? de|more than|over|menos de|menor(?:es)? de|less than|"
    rf"under) ({FIGURE}) ({UNIT_OF_TIME}|{MEASURE})\b"
)
_ABOVE = ("mas", "mayor", "more", "over")
_COUNTED = {
    word: number
    for words in (
        "un dos tres cuatro cinco seis siete ocho nueve diez once doce",
        "una",
        "one two three four five six seven eight nine ten eleven twelve",
    )
    for number, word in enumerate(words.split(), 1)
}
_PERIOD = "ano|mes|curso|semana|temporada|verano|invierno"
_OTHER_TIME = re.compile(
    rf"(?<!del )(?<!de la )(?<!of )(?<!from )\b(?:(?:{_PERIOD}) (?:pasad[oa]|anterior|que viene|proxim[oa])|"
    rf"(?:pasad[oa]|proxim[oa]) (?:{_PERIOD})|"
    r"(?:last|next|previous) (?:year|month|week|season|summer|winter))\b"
)
_SAYS_WHEN = re.compile(
    r"\b(?:pasad[oa]s?|anterior\w*|que viene|proxim[oa]s?|futur[oa]s?|last|next|previous|future|(?:19|20)\d\d)\b"
)


def contradicts(plain: str, question: str) -> bool:
    """Return whether a folded text is about other numbers than the one of a folded question.

    "If you cancel more than seven days before" says nothing about five days. Only the numbers before the same unit of
    time or measure are compared; with several of them in the question, none.
    """
    asked = [(_number(found[1]), found[2][:3]) for found in _AMOUNT.finditer(question)]
    number, unit = asked[0] if len(asked) == 1 else (None, "")
    if number is None:
        return False
    limits = [
        (found[1].startswith(_ABOVE), limit)
        for found in _LIMIT.finditer(plain)
        if found[3].startswith(unit) and (limit := _number(found[2])) is not None
    ]
    return bool(limits) and all(number <= limit if above else number >= limit for above, limit in limits)


def other_time(plain: str, question: str) -> bool:
    """Return whether a question is about the last or next year, month or season, and a text names no such time.

    "The days left from last year" is a thing, not the time that is asked about.
    """
    return bool(_OTHER_TIME.search(question)) and not _SAYS_WHEN.search(plain)


def _number(word: str) -> float | None:
    """Return the value of a number in figures, or of a numeral up to twelve; None for another one."""
    if word in _COUNTED:
        return float(_COUNTED[word])
    return float(word) if word.isdigit() else None
