"""Say how well a passage supports a statement, and name what differs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from chatbot_mvp.chat.claims.signs import Kind, Sign

WEIGHTS_PATH = Path(__file__).with_name("weights.json")
USUAL = 2.0
"""Weight of a sign that no statement of the fit had, and what the weights of rare ones are drawn to."""
_LEAST = 0.3
"""What words speak for a statement at least, in units of the regression."""
_CAREFUL = 0.85
"""Factor on the doubt: a mark on a true sentence costs more trust than a false one without."""
_FALL = 1.5
"""How fast the support falls with a doubt above 1."""
_BELOW = 0.999
"""Factor that keeps a support with a doubt of 1 below what suffices."""
SHOWN = 0.5
"""Signs that speak less than this against a statement are told to nobody."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What a sentence says otherwise than its passage."""

    kind: Kind
    said: str
    """Words of the sentence, for "negation" those that it denies; "" if it is the passage that has some."""
    source: str
    """Words of the passage, for "negation" what it denies; "" if it has none."""


def features(found: Iterable[Sign]) -> dict[str, float]:
    """Return name of a sign -> how plain the plainest of that name is, 0-1."""
    values: dict[str, float] = {}
    for sign in found:
        values[sign.name] = max(values.get(sign.name, 0.0), sign.value)
    return values


def doubt(share: float, values: Mapping[str, float]) -> float:
    """Return how much signs speak against a statement: from 1 on more than its words speak for it; 0 without any.

    Args:
        share: of the statement's words in its passage, 0-1.
        values: of ``features``.
    """
    known = fitted()
    against: float = sum(known["signs"].get(name, USUAL) * value for name, value in values.items())
    words: float = known["intercept"] + known["share"] * share
    return _CAREFUL * against / max(_LEAST, words)


def less(support: float, doubted: float, enough: float) -> float:
    """Return a support (0-1) less the doubt in it. From a doubt of 1 on it is below ``enough``, which suffices."""
    low = min(support, enough)
    if doubted < 1.0:
        return support - (support - low) * doubted
    return low * math.exp(-_FALL * (doubted - 1.0)) * _BELOW


def differences(found: Iterable[Sign]) -> tuple[Difference, ...]:
    """Return what differs, the plainest first, each pair of words once."""
    known = fitted()["signs"]
    ranked = sorted(found, key=lambda sign: -known.get(sign.name, USUAL) * sign.value)
    shown = [sign for sign in ranked if known.get(sign.name, USUAL) * sign.value >= SHOWN]
    # Of a clause that is denied and its verb, the verb tells more.
    heads = [sign for sign in shown if sign.kind == "negation" and " " not in sign.said + sign.source]
    shown = [heads[0] if heads and sign.kind == "negation" else sign for sign in shown]
    return tuple(dict.fromkeys(Difference(sign.kind, sign.said, sign.source) for sign in shown))


@cache
def fitted() -> dict[str, Any]:
    """Return the regression that ``python -m benchmarks claims --fit`` writes.

    ``intercept``, ``share`` (weight of the share of words), and ``signs``: name -> what it takes.
    """
    found: dict[str, Any] = json.loads(WEIGHTS_PATH.read_text("utf-8"))
    return found
