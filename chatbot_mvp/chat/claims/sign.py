"""A sign that a statement says otherwise than its passage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["negation", "name", "figure", "date"]


@dataclass(frozen=True, slots=True)
class Sign:
    """A sign that a statement says otherwise than its passage."""

    name: str
    """Which sign it is: what its weight is fitted by."""
    kind: Kind
    value: float
    """How plain it is, 0-1."""
    said: str = ""
    """Words of the statement; "" if it is the passage alone that has some."""
    source: str = ""
    """Words of the passage; "" if it has none."""
