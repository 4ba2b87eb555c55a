"""Put, of passages that say the same of different times, the one first that held at the time a question asks about.

A passage is of the last date that its headings or its file's name have, as minutes and notices do; a heading that only
names a month is of the month's end. Passages without such a date stay where they are.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Sequence
from datetime import date, timedelta
from typing import TypeVar

from chatbot_mvp.chat.claims.lexicon import MONTHS
from chatbot_mvp.text import fold

T = TypeVar("T")

_MONTH = "|".join(MONTHS)
_DATE = re.compile(
    r"(?P<iso>[12]\d{3})-(?P<m>\d\d)(?:-(?P<d>\d\d))?|"
    rf"(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?: de| of)? )?\b(?P<month>{_MONTH})\b"
    r"(?: (?P<after>\d{1,2})(?:st|nd|rd|th)?\b(?!\d))?,?(?: de| del)?(?: (?P<year>[12]\d{3}))?"
)
_NOW = re.compile(
    r"\b(?:ahora|actual(?:es|mente)?|hoy|vigentes?|ultim[oa]s?|now|current(?:ly)?|today|latest|last|nowadays)\b"
)
_BEFORE = re.compile(r"\b(?:antes de|hasta|before|until)(?: el| del| la)? *$")


def _date(match: re.Match[str], year: int | None) -> date | None:
    """The last day of what is matched; None without a year, or if there is no such day."""
    year = int(match["iso"] or match["year"] or year or 0)
    month = int(match["m"]) if match["iso"] else MONTHS[match["month"]]
    day = match["d"] or match["day"] or match["after"]
    try:
        return date(year, month, int(day) if day else monthrange(year, month)[1])
    except ValueError:
        return None


def date_of(heading: str) -> date | None:
    """Return the last date with a year that a heading path or a file's name says."""
    dates = [found for match in _DATE.finditer(fold(heading)) if (found := _date(match, None))]
    return dates[-1] if dates else None


def asked_date(question: str, newest: date) -> date | None:
    """Return the date that a question asks about: the newest for *now*, or what it names; None if it says no time.

    Args:
        newest: the last date of the documents. A month without a year is the last one until then.
    """
    plain = fold(question)
    # "May" is a month, "may" is not.
    months = (
        one for one in _DATE.finditer(plain) if one["month"] not in ("may", "march") or one["month"].title() in question
    )
    found = next(months, None)
    if found is None:
        return newest if _NOW.search(plain) else None
    of = _date(found, newest.year)
    if of and not (found["iso"] or found["year"]) and of.replace(day=1) > newest:
        of = _date(found, newest.year - 1)
    if of and _BEFORE.search(plain[: found.start()]):
        return (of if found["d"] or found["day"] or found["after"] else of.replace(day=1)) - timedelta(1)
    return of


def held_first(question: str, found: Sequence[T], headings: Sequence[str], alike: Sequence[bool]) -> list[T]:
    """Return what was found, those first, newest first, that were said by the time which the question asks about.

    Args:
        found: nearest first.
        headings: the heading path of each.
        alike: of each, whether it says as much of the question as the first one does. Others keep their places.
    """
    rows = [row for row, same in enumerate(alike) if same]
    dated = {row: of for row in rows if (of := date_of(headings[row]))}
    if 0 not in dated or len(dated) == 1:
        return list(found)
    newest = max(dated.values())
    asked = asked_date(question, newest) or newest
    order = iter(sorted(dated, key=lambda row: (dated[row] <= asked, dated[row]), reverse=True))
    return [found[next(order) if row in dated else row] for row in range(len(found))]
