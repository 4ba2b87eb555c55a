"""Help for wrong settings: finds misspelt names and describes legal values.

Pure functions; ``settings.model`` reads the environment.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import SecretStr
from rapidfuzz.distance import OSA

OTHER_NAMES = {
    "NIM_TIMEOUT": "NIM_REQUEST_TIMEOUT",
    "NIM_MAX_CONCURRENT": "NIM_MAX_CONCURRENT_REQUESTS",
    "MINIO_BUCKET": "MINIO_BUCKET_NAME",
    "MINIO_ROOT_USER": "MINIO_ACCESS_KEY",
    "MINIO_ROOT_PASSWORD": "MINIO_SECRET_KEY",  # nosec B105 -- the name of a setting
    "MINIO_SECURE": "MINIO_ENDPOINT",
    "MINIO_USE_SSL": "MINIO_ENDPOINT",
}
"""Common wrong names -> the setting that is probably meant."""

_OURS = {"NIM", "RETRIEVAL", "RERANKER", "EVAL", "MTEB", "KB", "GENERATION", "EMBEDDING", "CORPUS"}
"""First words of our names that hardly any other program uses."""

_SHORT, _LONG = 10, 16
"""Minimum lengths of a name for two, and for three, wrong letters to count as a misspelling."""

_RECOGNISABLE = 5
"""Minimum length of a first word to count as a misspelling of another: NIM is not a misspelt LLM."""


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A variable that is set and is not a setting, but looks like a misspelt one."""

    found: str
    where: str
    """"environment", or the name of the file."""
    meant: str
    """The setting that was probably meant."""

    def __str__(self) -> str:
        return f"{self.found} ({self.where}) is no setting; did you mean {self.meant}?"


def near_misses(found: Iterable[str], known: Iterable[str], where: str, own_file: bool) -> list[NearMiss]:
    """Return the names in ``found`` that look like a misspelling of one in ``known``.

    Args:
        found: names of variables, in any case.
        known: names of settings, in capitals.
        where: place of ``found``: "environment" or a file's name.
        own_file: True for a file of this project, where any similar name is reported. Otherwise only names that no
            other program is likely to use are reported.
    """
    names = tuple(sorted(set(known)))
    others = sorted({item.upper() for item in found}.difference(names))
    return [NearMiss(name, where, meant) for name in others if (meant := _meant(name, names, own_file))]


@lru_cache(maxsize=1024)
def _meant(name: str, known: tuple[str, ...], own_file: bool) -> str | None:
    # MinIO's server uses such variables itself; only in a file of this project are they meant as settings.
    if (meant := OTHER_NAMES.get(name)) in known and (own_file or name.split("_")[0] in _OURS):
        return meant
    candidates = [other for other in known if _similar(name, other, own_file)]
    return min(candidates, key=lambda other: (OSA.distance(name, other), other), default=None)


def _similar(name: str, known: str, own_file: bool) -> bool:
    if re.sub(r"_?\d+$", "", name) == known:  # a numbered variant, as in programs that take several keys
        return False
    mine, theirs = name.split("_"), known.split("_")
    if mine[0] == theirs[0] and (own_file or mine[0] in _OURS) and min(len(mine), len(theirs)) >= 2:
        fewer, more = sorted((mine, theirs), key=len)
        # Up to two words are missing or additional.
        if set(fewer) < set(more) and len(more) - len(fewer) <= 2:
            return True
    if name.replace("_", "") == known.replace("_", "") and (own_file or len(known) >= _SHORT):
        return True
    if mine[0] != theirs[0] and min(len(mine[0]), len(theirs[0])) < _RECOGNISABLE:
        return False
    allowed = 3 if len(known) >= _LONG else 2 if len(known) >= _SHORT else int(own_file or mine[0] in _OURS)
    return OSA.distance(name, known, score_cutoff=allowed) <= allowed


def legal_values(annotation: Any, metadata: Iterable[Any]) -> str:
    """Describe the legal values of a pydantic field, as in "a whole number from 1 to 1000"; "" if any text is legal.

    Args:
        annotation: the field's type.
        metadata: its constraints, as ``FieldInfo.metadata`` holds them.
    """
    origin = get_origin(annotation)
    if origin is Literal:
        return " or ".join(str(value) for value in get_args(annotation))
    if origin in (Union, types.UnionType):
        annotation = next(part for part in get_args(annotation) if part is not type(None))
    if annotation is bool:
        return "true or false"
    if annotation not in (int, float):
        return "" if annotation is not SecretStr else "a text in ASCII without spaces"
    bounds = bounds_of(metadata)
    kind = "a whole number" if annotation is int else "a number"
    low = f" from {bounds['ge']:g}" if "ge" in bounds else f" above {bounds['gt']:g}" if "gt" in bounds else ""
    high = f" to {bounds['le']:g}" if "le" in bounds else ""
    return f"{kind}{low}{high}" if low or not high else f"{kind} up to {bounds['le']:g}"


def bounds_of(metadata: Iterable[Any]) -> dict[str, float]:
    """Return the limits among a field's constraints: "ge", "gt" or "le" -> the number."""
    found = {}
    for constraint in metadata:
        for name in ("ge", "gt", "le"):
            value = getattr(constraint, name, None)
            if value is not None:
                found[name] = value
    return found
