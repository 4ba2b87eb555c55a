"""Facts, the parts that make them, and what counts as the same fact."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

JSON = Any
"""What ``json`` reads and writes."""
TIE = 1e-4
"""What vectors in float32 leave open between processors; also the distance at which two hits may change places."""
LATE = 2e-3
"""The same behind late interaction, which keeps tokens in 8 bits: one rounded the other way moves a score."""
_ROUNDED = 1.01e-4
"""How far apart two numbers are that were rounded to four digits from nearly the same one."""

PARTS: dict[str, str] = {
    "statements": "benchmarks.recorder.statements",
    "direct": "benchmarks.recorder.direct",
    "kept": "benchmarks.recorder.kept",
    "documents": "benchmarks.recorder.documents",
    "surfaces": "benchmarks.recorder.surfaces",
    "measuring": "benchmarks.recorder.measuring",
    "rankings": "benchmarks.recorder.rankings",
    "answers": "benchmarks.recorder.answers",
    "encoder": "benchmarks.recorder.encoder",
    "pages": "benchmarks.recorder.pages",
    "cost": "benchmarks.recorder.cost",
}
"""Part -> its module, which has ``facts(place: Place) -> Iterator[Fact]``; the quickest first."""


@dataclass(frozen=True)
class Fact:
    name: str
    """A path, such as "rankings/valle/BRIDGE_HYBRID/q07"; unique in the recording."""
    value: JSON
    like: str = "equal"
    """A row of ``LIKE``: what counts as the same value."""
    shared: bool = False
    """True if it is made from ../shared: it is not compared where that folder is absent."""


@dataclass(frozen=True)
class Place:
    """Where a part works, and how much of it is wanted."""

    work: Path
    """An empty temporary folder."""
    shared: Path | None
    """../shared/datasets, if it is there."""
    sample: bool
    """Only facts that cost a few seconds together: a subset of all, with the same names and values."""


class Verdict(StrEnum):
    EQUAL = "equal"
    NEAR_TIE = "near tie"
    DIFFERENT = "different"


@dataclass(frozen=True)
class Likeness:
    """What counts as the same value. Whatever is not a number is compared exactly."""

    close: Callable[[float, float], bool]
    """Whether a number (before, after) is the same."""
    tie: float = 0.0
    """Hits, rows [id, score, …], may change places if their scores differ by less, relative to 1 or the score."""
    tries: int = 1
    """How often a fact is made at most until it is the same."""


def _within(relative: float, absolute: float) -> Callable[[float, float], bool]:
    return lambda before, after: math.isclose(before, after, rel_tol=relative, abs_tol=absolute)


def _of_vectors(before: float, after: float) -> bool:
    rounded = all(round(number, 4) == number for number in (before, after)) and abs(before - after) < _ROUNDED
    return rounded or math.isclose(before, after, rel_tol=TIE, abs_tol=TIE)


LIKE: dict[str, Likeness] = {
    "equal": Likeness(_within(1e-6, 1e-6)),
    "exact": Likeness(_within(1e-9, 1e-12)),
    "vectors": Likeness(_of_vectors),
    "ranking": Likeness(_of_vectors, tie=TIE),
    "late": Likeness(_within(LATE, LATE), tie=LATE),
    "time": Likeness(lambda before, after: after <= 2.0 * before, tries=3),
    "memory": Likeness(lambda before, after: after <= 1.25 * before, tries=3),
}


def compare(before: Fact, after: Fact) -> tuple[Verdict, str]:
    """Return the verdict, and where two facts of one name differ: place, value before, value after."""
    if before.like != after.like:
        return Verdict.DIFFERENT, f"like: {before.like} → {after.like}"
    ties: list[str] = []
    for place, one, other in _differences(before.value, after.value, LIKE[before.like], ties, ""):
        return Verdict.DIFFERENT, f"{place.lstrip('.')}: {_short(one)} → {_short(other)}"
    return (Verdict.NEAR_TIE, ties[0]) if ties else (Verdict.EQUAL, "")


def _differences(
    before: JSON, after: JSON, like: Likeness, ties: list[str], at: str
) -> Iterator[tuple[str, JSON, JSON]]:
    if _is_number(before) and _is_number(after):
        if not like.close(before, after):
            yield at, before, after
    elif isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            yield from _differences(before.get(key), after.get(key), like, ties, f"{at}.{key}")
    elif isinstance(before, list) and isinstance(after, list):
        if like.tie and _tied(before, after, like):
            ties.append(at.lstrip("."))
        elif len(before) != len(after):
            yield at, before, after
        else:
            for row, (one, other) in enumerate(zip(before, after, strict=True)):
                yield from _differences(one, other, like, ties, f"{at}[{row}]")
    elif type(before) is not type(after) or before != after:
        yield at, before, after


def _tied(before: list[JSON], after: list[JSON], like: Likeness) -> bool:
    """Return whether two rankings differ in the order of hits with all but equal scores, and in nothing else."""
    rows = [*before, *after]
    if len(before) != len(after) or not all(
        isinstance(row, list) and len(row) > 1 and isinstance(row[0], str) and _is_number(row[1]) for row in rows
    ):
        return False
    one, other = ({row[0]: row[1:] for row in hits} for hits in (before, after))
    if len(one) != len(before) or [*one] == [*other]:
        return False  # the same order: compared row by row
    near = _within(like.tie, like.tie)
    # A hit that only one of them has stands where the other one ends.
    lost = [one[key][0] for key in one.keys() - other.keys()] + [other[key][0] for key in other.keys() - one.keys()]
    return (
        all(near(a[1], b[1]) for a, b in zip(before, after, strict=True))
        and all(near(score, before[-1][1]) for score in lost)
        and not any(next(_differences(one[key], other[key], like, [], ""), None) for key in one.keys() & other.keys())
    )


def _is_number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _short(value: JSON, length: int = 160) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= length else f"{text[: length - 1]}…"


def read_facts(path: Path) -> dict[str, tuple[Fact, bool]]:
    """Return name -> (fact, whether the sample has it) of a part's file; {} if there is none."""
    found = {}
    for line in path.read_text("utf-8").splitlines() if path.is_file() else []:
        row = json.loads(line)
        in_sample = row.pop("sample", False)
        found[row["name"]] = (Fact(**row), in_sample)
    return found


def write_facts(path: Path, facts: Mapping[str, tuple[Fact, bool]]) -> None:
    """Write a part's file: a fact a line, by name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(_line(*facts[name]) for name in sorted(facts)), "utf-8")


def _line(fact: Fact, in_sample: bool) -> str:
    more = {"like": fact.like} if fact.like != "equal" else {}
    flags = {name: True for name, flag in (("shared", fact.shared), ("sample", in_sample)) if flag}
    row = {"name": fact.name, **more, **flags, "value": fact.value}
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"


def plain(value: JSON) -> JSON:
    """Return a value as it is read from a file: numbers with 12 digits, tuples as lists, NaN and infinities as text."""
    if isinstance(value, float):
        return float(f"{value:.12g}") if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if value is None or isinstance(value, str | bool | int):
        return value
    raise TypeError(f"not JSON: {value!r}")
