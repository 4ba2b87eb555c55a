"""What helps with a setting that is not as it should be: names that were nearly meant, and which values are legal.

Pure functions; who reads the environment is ``settings``.
"""

from __future__ import annotations

import re
import types
from collections.abc import Iterable, Mapping
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
    "MINIO_ROOT_PASSWORD": "MINIO_SECRET_KEY",
    "MINIO_SECURE": "MINIO_ENDPOINT",
    "MINIO_USE_SSL": "MINIO_ENDPOINT",
}
"""Names that are known to be taken for ours."""

_OURS = {"NIM", "RETRIEVAL", "RERANKER", "EVAL", "MTEB", "KB", "GENERATION", "EMBEDDING", "CORPUS"}
"""First words of names that hardly any other program uses."""

_SHORT, _LONG = 10, 16
"""Letters from which on two, and three, wrong ones leave a name recognisable."""

_RECOGNISABLE = 5
"""Letters that a first word must have to be taken for another: NIM is not LLM."""


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A variable that is set, is no setting, and looks like one."""

    found: str
    where: str
    """"environment", or the name of the file."""
    meant: str
    """The setting that it looks like."""

    def __str__(self) -> str:
        return f"{self.found} ({self.where}) is no setting; did you mean {self.meant}?"


def near_misses(found: Iterable[str], known: Iterable[str], where: str, own_file: bool) -> list[NearMiss]:
    """Those of ``found`` that look like one of ``known``, in capitals.

    Args:
        own_file: the names are from a file of ours, where a similar name is ours; elsewhere only one that no other
            program would use is.
    """
    names = tuple(sorted(set(known)))
    misses = []
    for name in sorted({item.upper() for item in found} - set(names)):
        meant = _meant(name, names, own_file)
        if meant is not None:
            misses.append(NearMiss(name, where, meant))
    return misses


@lru_cache(maxsize=1024)
def _meant(name: str, known: tuple[str, ...], own_file: bool) -> str | None:
    # MinIO's server has variables of its own; only in a file of ours are they meant for us.
    if (meant := OTHER_NAMES.get(name)) in known and (own_file or name.split("_")[0] in _OURS):
        return meant
    candidates = [other for other in known if _similar(name, other, own_file)]
    return min(candidates, key=lambda other: (OSA.distance(name, other), other), default=None)


def _similar(name: str, known: str, own_file: bool) -> bool:
    if re.sub(r"_?\d+$", "", name) == known:  # a second one of its kind, as some programs take several keys
        return False
    mine, theirs = name.split("_"), known.split("_")
    if mine[0] == theirs[0] and (own_file or mine[0] in _OURS) and min(len(mine), len(theirs)) >= 2:
        fewer, more = sorted((mine, theirs), key=len)
        # A word left out or put in between.
        if set(fewer) < set(more) and len(more) - len(fewer) <= 2:
            return True
    if name.replace("_", "") == known.replace("_", "") and (own_file or len(known) >= _SHORT):
        return True
    if mine[0] != theirs[0] and min(len(mine[0]), len(theirs[0])) < _RECOGNISABLE:
        return False
    allowed = 3 if len(known) >= _LONG else 2 if len(known) >= _SHORT else int(own_file or mine[0] in _OURS)
    return OSA.distance(name, known, score_cutoff=allowed) <= allowed


def legal_values(annotation: Any, metadata: Iterable[Any]) -> str:
    """What a field of pydantic takes, in words: "a whole number from 1 to 1000"; "" where that says nothing.

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
    bounds = _bounds(metadata)
    kind = "a whole number" if annotation is int else "a number"
    low = f" from {bounds['ge']:g}" if "ge" in bounds else f" above {bounds['gt']:g}" if "gt" in bounds else ""
    high = f" to {bounds['le']:g}" if "le" in bounds else ""
    return f"{kind}{low}{high}" if low or not high else f"{kind} up to {bounds['le']:g}"


def _bounds(metadata: Iterable[Any]) -> Mapping[str, float]:
    found = {}
    for constraint in metadata:
        for name in ("ge", "gt", "le"):
            value = getattr(constraint, name, None)
            if value is not None:
                found[name] = value
    return found
