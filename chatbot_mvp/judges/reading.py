"""From what a judge wrote to the structure it was asked for: strictly if possible, else mended, never guessed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, TypeVar

import json_repair
from pydantic import BaseModel, BeforeValidator, Field, ValidationError

Reading = Literal["whole", "repaired", "cut"]
"""How a reply was read. whole: it was the JSON asked for; repaired: that had to be found or mended first; cut: it
broke off, so that the end of a list may be missing."""
T = TypeVar("T", bound=BaseModel)

_LONGEST = 100_000  # characters; what is longer is no verdict
_THOUGHT = re.compile(r"<(think|thinking|thought|reasoning)>.*?(?:</\1>|\Z)", re.S | re.I)
_UNOPENED_THOUGHT = re.compile(r"\A(?:(?!<think).)*?</(?:think|thinking|thought|reasoning)>", re.S | re.I)
_OPENING = re.compile(r"[\[{]")
_FENCED = re.compile(r"```[a-zA-Z0-9]*[ \t]*\n?(.*?)(?:```|\Z)", re.S)
_ROUND, _ROUNDS = 60, 3
"""Characters, and how often they come in a reply that goes in circles."""
_PROBLEMS_SHOWN = 3
_STARTS_TRIED = 200
"""Brackets at which a value may begin; each costs a look at what follows it."""
_ELEMENT_END = re.compile(r"[\"'}\]]\s*,|\}")

_YES = ("1", "1.0", "yes", "y", "true", "si", "sí", "s", "verdadero", "cierto")
_NO = ("0", "0.0", "no", "n", "false", "falso")


class Unreadable(ValueError):
    """A reply from which the structure cannot be had; its text says why, in few words and without the reply's own."""


def _binary(value: object) -> object:
    if isinstance(value, str):
        said = value.strip().strip(".\"'").lower()
        return 1 if said in _YES else 0 if said in _NO else value
    return int(value) if isinstance(value, bool) else value


Binary = Annotated[int, Field(ge=0, le=1), BeforeValidator(_binary)]
"""A verdict of 0 or 1 as the field of a reply. What says the same in words ("sí", "no", true) is taken too; any other
number is not: 2 is no verdict."""


def without_thoughts(text: str) -> str:
    """A reply without what its model thought aloud between ``<think>`` marks."""
    return _UNOPENED_THOUGHT.sub("", _THOUGHT.sub("", text)).strip()


def ends_in_the_middle(text: str) -> bool:
    """Whether JSON breaks off within a quoted text or before a value, whatever the provider says of its end.

    A bracket that was left open does not count: models forget those, and nothing is lost with them.
    """
    begin = _OPENING.search(text)
    if begin is None:
        return False
    rest = re.sub(r"\\.", "", text[begin.start() :].rstrip())
    return rest.count('"') % 2 == 1 or rest.endswith((",", ":"))


def repeats_itself(text: str) -> bool:
    """Whether a reply goes round in circles at its end, as small models do until their limit; more would not help."""
    end = text[-_ROUND:]
    return len(end) == _ROUND and text.count(end) >= _ROUNDS


def until_cut(text: str) -> str:
    """What came whole of a reply that reached its limit of tokens: up to the last element that was ended.

    Half a sentence would be judged as another one, and the first digit of a number read as the number.
    """
    ends = [found.end() for found in _ELEMENT_END.finditer(text)]
    return text[: ends[-1]] if ends else ""


def read_reply(text: str, reply: type[T]) -> tuple[T, Reading]:
    """What ``text`` says in the structure ``reply``.

    Tried in turn, and the first that holds is taken: the text as JSON; without a thinking block; what stands in a code
    fence; the last JSON value in the prose; the same mended (single quotes, Python's literals, trailing commas,
    comments, brackets left open). Where ``reply`` has one field, a bare list or value stands for it.

    Raises:
        Unreadable: none holds.
    """
    if len(text) > _LONGEST:
        raise Unreadable("it is far too long")
    clean = without_thoughts(text)
    if not clean:
        raise Unreadable("it is empty")
    problem = "it holds no JSON object"
    for position, value in enumerate(_candidates(clean, text.strip())):
        for wrapped in _forms(value, reply):
            try:
                return reply.model_validate(wrapped), "repaired" if position else "whole"
            except ValidationError as error:
                # An object that is nearly right says more than a stray word.
                if isinstance(value, dict | list):
                    problem = _told(error)
    raise Unreadable(problem)


def _candidates(clean: str, whole: str) -> Iterator[Any]:
    """Values that the text may mean, the likeliest first; the very first is the text itself, None if it is no JSON."""
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
        # A list in the middle of prose is more often a quotation mark than an answer: mended, only an object counts.
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
    # Any text would do for a field of text.
    if not (isinstance(value, str) and field.annotation is str):
        yield {name: value}


def _strict(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _values_in(text: str) -> Iterator[Any]:
    """The outermost objects and lists of valid JSON in a text, in order."""
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
    try:
        return json_repair.loads(text, skip_json_loads=True)
    except (ValueError, RecursionError):
        return None


def _told(error: ValidationError) -> str:
    """What was wrong with the fields, for the judge: their names and rules, not the values it gave."""
    told = []
    for problem in error.errors(include_url=False, include_input=False)[:_PROBLEMS_SHOWN]:
        place = ".".join(str(part) for part in problem["loc"])
        told.append(f"{place}: {problem['msg']}" if place else problem["msg"])
    return "; ".join(told)
