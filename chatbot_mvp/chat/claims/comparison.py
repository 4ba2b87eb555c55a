"""Say how well a passage supports a statement, and name what differs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from chatbot_mvp.chat.claims.alignment import Aligned
from chatbot_mvp.chat.claims.checks import Kind, Sign, signs

WEIGHTS_PATH = Path(__file__).with_name("weights.json")
_FLOOR = 0.2
"""Below this support, the rest is drawn together towards 0."""
SHOWN = 0.1
"""Signs that take less than this from the support are not told to anybody."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What a sentence says otherwise than its passage."""

    kind: Kind
    said: str
    """Words of the sentence; "" if the passage alone has some."""
    source: str
    """Words of the passage; "" if it has none."""


def features(found: Iterable[Sign]) -> dict[str, float]:
    """Return name of a sign -> how plain the plainest of that name is, 0-1."""
    values: dict[str, float] = {}
    for sign in found:
        values[sign.name] = max(values.get(sign.name, 0.0), sign.value)
    return values


def loss(values: Mapping[str, float]) -> float:
    """Return what signs take from the support of a statement, at least 0; ``values`` are those of ``features``."""
    known = weights()
    return sum(known.get(name, 0.0) * value for name, value in values.items())


def less(support: float, taken: float) -> float:
    """Return a support (0-1) less what signs take from it, above 0 and in the order of the difference."""
    left = support - taken
    return left if left >= _FLOOR or not taken else _FLOOR * math.exp((left - _FLOOR) / _FLOOR)


def differences(found: Iterable[Sign]) -> tuple[Difference, ...]:
    """Return what differs, the plainest first, each pair of words once."""
    known = weights()
    ranked = sorted(found, key=lambda sign: -known.get(sign.name, 0.0) * sign.value)
    shown = [sign for sign in ranked if known.get(sign.name, 0.0) * sign.value >= SHOWN]
    return tuple(dict.fromkeys(Difference(sign.kind, sign.said, sign.source) for sign in shown))


def found_in(aligned: Aligned) -> list[Sign]:
    """Return all signs that a statement says otherwise than its passage."""
    return signs(aligned)


@cache
def weights() -> dict[str, float]:
    """Return name of a sign -> what it takes from the support, fitted by ``python -m benchmarks claims --fit``."""
    fitted: dict[str, float] = json.loads(WEIGHTS_PATH.read_text("utf-8"))
    return fitted
