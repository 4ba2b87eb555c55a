"""Tell whether later documents say otherwise than a quote, as the minutes of the next meeting do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date

from chatbot_mvp.llm.base import Grounding
from chatbot_mvp.llm.extractive.kinds import asked, last_clause, plain_of
from chatbot_mvp.llm.extractive.proof import content_of, context_of, has, text_of
from chatbot_mvp.llm.extractive.reader import Reader
from chatbot_mvp.llm.extractive.units import Unit
from chatbot_mvp.llm.extractive.values import VALUES, value_asked
from chatbot_mvp.text import fold

_SAID = ("money", "time", "days", "date", "percentage")
"""Kinds of values that a question may say itself: "Is the watering on Tuesdays?"."""


def day_of(unit: Unit, grounding: Grounding) -> date | None:
    """Return the day that the headings say which a unit stands under; None if they say none."""
    return grounding.date_of(unit.topic) or grounding.date_of(grounding.quotable[unit.passage].section)


def is_later(unit: Unit, grounding: Grounding) -> bool:
    """Return whether a unit is of a later day than the question asks about."""
    day = day_of(unit, grounding) if grounding.until else None
    return bool(grounding.until and day and day > grounding.until)


def superseded_on(chosen: Sequence[Unit], units: Iterable[Unit], grounding: Grounding, reader: Reader) -> date | None:
    """Return the last day, later than that of all that is chosen, of a unit that has the words of the question and says
    another value or name of the kind that the question asks for, or says itself; None if there is none.

    One of three words or more may be missing: the later minutes say "the shop" where the first say "the members' shop".
    """
    days = [day for one in chosen if (day := day_of(one, grounding))]
    clause = last_clause(grounding.question.rpartition("? ")[2] or grounding.question)
    plain = plain_of(clause)
    value, rest = value_asked(plain)
    kind = value or next((kind for kind in _SAID if VALUES[kind].given.search(plain)), "")
    if not days or not (kind or asked(clause, reader).kind in ("who", "where")):
        return None
    said = () if value or not kind else VALUES[kind].given.finditer(plain)
    own = {word for one in said for word in one.group().split()}
    words = [one for one in content_of(clause, plain, rest, reader) if fold(one[0].text) not in own]
    quoted, found = "\n".join(map(text_of, chosen)), set[date]()
    for other in units:
        day = day_of(other, grounding)
        if day and day > max(days) and _says_another(kind, text_of(other), quoted, reader):
            lacks = [literal for word, literal in words if not has(context_of(grounding, other), word, reader)]
            if words and not any(lacks) and len(lacks) <= (len(words) > 2):
                found.add(day)
    return max(found, default=None)


def _says_another(kind: str, said: str, quoted: str, reader: Reader) -> bool:
    """Return whether a text has a value of a kind that a quote lacks; without a kind, a name."""
    if kind:
        return any(one.group() not in fold(quoted) for one in VALUES[kind].given.finditer(fold(said)))
    names = (word for word in reader.words(said)[1:] if word.text[:1].isupper() and not word.is_stop)
    return any(fold(word.text) not in fold(quoted) for word in names)
