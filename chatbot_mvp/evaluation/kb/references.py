"""Find the short answer in a passage that a person confirmed, so that what models write can be compared with it."""

from __future__ import annotations

from chatbot_mvp.llm.extractive.values import VALUES, last_clause, plain_of, value_asked
from chatbot_mvp.text import fold

_KINDS = ("money", "duration")
"""Kinds of values that a right answer repeats as they stand, in whatever words it is given."""
_OF_NUMBERS = ".,%€$£"


def reference_in(question: str, passage: str) -> str:
    """Return the value that a question asks for as the passage has it, such as "20 euros".

    "" if the question asks for no such value, or if the passage has none or several of them.
    """
    kind = value_asked(plain_of(last_clause(question)))[0]
    folded = fold(passage)
    if kind not in _KINDS or len(folded) != len(passage):
        return ""
    found = set()
    for match in VALUES[kind].given.finditer(folded):
        start, end = match.span()
        while start > 0 and _in_number(passage[start - 1 : start + 1]):
            start -= 1
        while end < len(passage) and _in_number(passage[end - 1 : end + 1]):
            end += 1
        found.add(passage[start:end].strip(" ,.;"))
    return found.pop() if len(found) == 1 else ""


def _in_number(pair: str) -> bool:
    """Return whether two neighbouring characters belong to one number or its sign."""
    return all(one.isdigit() or one in _OF_NUMBERS for one in pair) and any(map(str.isdigit, pair))
