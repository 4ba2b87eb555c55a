"""Read a judge's reply as the requested structure, strictly if possible, else after repair, without guessing values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar

import json_repair
from pydantic import BaseModel, BeforeValidator, Field, StrictFloat, StrictInt, ValidationError

from chatbot_mvp.llm.thoughts import without_thoughts
from chatbot_mvp.storage.json_object import parse_json

Reading = Literal["whole", "repaired", "cut"]
"""How a reply was read. whole: it was exactly the requested JSON; repaired: the JSON had to be extracted or repaired;
cut: the reply was truncated, so the end of a list may be missing."""
T = TypeVar("T", bound=BaseModel)

_LONGEST = 100_000  # characters; longer replies are rejected
_OPENING = re.compile(r"[\[{]")
_FENCED = re.compile(r"```[a-zA-Z0-9]*[ \t]*\n?(.*?)(?:```|\Z)", re.S)
_ROUND, _ROUNDS = 60, 3
"""A reply repeats itself if its last 60 characters occur at least 3 times."""
_PROBLEMS_SHOWN = 3
_STARTS_TRIED = 200
"""Maximum number of brackets tried as the start of a value, since each attempt parses the text behind it."""
_MOST_BRACKETS, _MOST_QUOTES = 300, 2_000
"""Repair takes time with the square of these: 4,000 characters of ``{0}`` took five seconds. A reply with more of them
is read only if it is valid JSON."""
_ELEMENT_END = re.compile(r"[\"'}\]]\s*,|\}")

_YES = ("1", "1.0", "yes", "y", "true", "si", "sí", "s", "verdadero", "cierto")
_NO = ("0", "0.0", "no", "n", "false", "falso")

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


class Unreadable(ValueError):
    """A reply does not contain the requested structure. The message gives the reason without quoting the reply."""


def _binary(value: object) -> object:
    if isinstance(value, str):
        said = value.strip().strip(".\"'").lower()
        return 1 if said in _YES else 0 if said in _NO else value
    return int(value) if isinstance(value, bool) else value


Binary = Annotated[int, Field(ge=0, le=1), BeforeValidator(_binary)]
"""A verdict of 0 or 1 as a field of a reply. Accepts equivalent words ("sí", "no", true) but no other number."""


def ends_in_the_middle(text: str) -> bool:
    """Return whether JSON is truncated inside a string or before a value, whatever the provider reports.

    Unclosed brackets do not count: models often forget them, and no content is lost.
    """
    begin = _OPENING.search(text)
    if begin is None:
        return False
    rest = re.sub(r"\\.", "", text[begin.start() :].rstrip())
    return rest.count('"') % 2 == 1 or rest.endswith((",", ":"))


def repeats_itself(text: str) -> bool:
    """Return whether a reply repeats itself at its end, as small models do. A higher limit would not help."""
    end = text[-_ROUND:]
    return len(end) == _ROUND and text.count(end) >= _ROUNDS


def until_cut(text: str) -> str:
    """Cut a truncated reply behind its last complete element.

    A truncated sentence or number would otherwise be read as a different one.
    """
    ends = [found.end() for found in _ELEMENT_END.finditer(text)]
    return text[: ends[-1]] if ends else ""


def read_reply(text: str, reply: type[T]) -> tuple[T, Reading]:
    """Read ``text`` as an instance of ``reply``.

    Tries in this order: the text as JSON; the text without a thinking block; the content of a code fence; the last
    JSON value in the prose; these after repair (single quotes, Python literals, trailing commas, comments, unclosed
    brackets). If ``reply`` has a single field, a bare list or value is accepted for it.

    Raises:
        Unreadable: none of these is valid.
    """
    if len(text) > _LONGEST:
        raise Unreadable("it is far too long")
    clean = without_thoughts(text).strip()
    if not clean:
        raise Unreadable("it is empty")
    problem = "it holds no JSON object"
    for position, value in enumerate(_candidates(clean, text.strip())):
        for wrapped in _forms(value, reply):
            try:
                return reply.model_validate(wrapped), "repaired" if position else "whole"
            except ValidationError as error:
                # Report the fault of a nearly correct object rather than that of a stray word.
                if isinstance(value, dict | list):
                    problem = _told(error)
    raise Unreadable(problem)


def _candidates(clean: str, whole: str) -> Iterator[Any]:
    """Yield possible values of the text, most likely first. The first is the whole text, None if it is not JSON."""
    yield _strict(whole)
    texts = [clean, *(found for found in reversed(_FENCED.findall(clean)) if found.strip())]
    for text in texts:
        yield _strict(text)
    for text in texts:
        yield from reversed(list(_values_in(text)))
    for text in reversed(texts):
        first = _OPENING.search(text)
        if first is None:
            continue
        # A bracket in prose is usually a citation mark such as [1], so a repaired value there must be an object.
        begin = first.start() if not text[: first.start()].strip() else text.find("{")
        if begin < 0:
            continue
        mended = _mended(text[begin:])
        yield mended
        if isinstance(mended, list):
            yield from (item for item in reversed(mended) if isinstance(item, dict))
    yield clean


def _forms(value: Any, reply: type[BaseModel]) -> Iterator[Any]:
    if value is None:
        return
    yield value
    if len(reply.model_fields) != 1 or isinstance(value, dict):
        return
    [(name, field)] = reply.model_fields.items()
    # For a single text field any text would be accepted, even an unrelated one.
    if not (isinstance(value, str) and field.annotation is str):
        yield {name: value}


def _strict(text: str) -> Any:
    try:
        return parse_json(text)
    except (ValueError, RecursionError):
        return None


def _values_in(text: str) -> Iterator[Any]:
    """Yield the outermost valid JSON objects and lists in a text, in order."""
    decoder = json.JSONDecoder()
    position = 0
    for _ in range(_STARTS_TRIED):
        found = _OPENING.search(text, position)
        if found is None:
            return
        try:
            value, position = decoder.raw_decode(text, found.start())
        except (ValueError, RecursionError):
            position = found.end()
        else:
            yield value


def _mended(text: str) -> Any:
    if text.count("{") + text.count("[") > _MOST_BRACKETS or text.count('"') > _MOST_QUOTES:
        return None
    try:
        return json_repair.loads(text, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None


def _told(error: ValidationError) -> str:
    """Describe up to three faulty fields for the judge, with names and rules but without the values."""
    told = []
    for problem in error.errors(include_url=False, include_input=False)[:_PROBLEMS_SHOWN]:
        place = ".".join(str(part) for part in problem["loc"])
        told.append(f"{place}: {problem['msg']}" if place else problem["msg"])
    return "; ".join(told)


class _Score(BaseModel):
    score: StrictInt | StrictFloat | str
    # A second field, so that a bare number is not taken for the object.
    reason: object = None


def score_from_text(text: str) -> float | None:
    """Read a judge's score (RAG_P's DT-9), 0-1; None if the text does not state one clearly.

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
