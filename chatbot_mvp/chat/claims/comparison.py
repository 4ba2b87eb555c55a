"""Say how well a passage supports a statement, and name what differs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from chatbot_mvp.chat.claims.signs import Kind, Sign

_FALL = 0.65
"""Factor on the support for each kind of sign that is plain: after one of them it does not suffice."""
_SHOWN = 0.25
"""Signs that are less plain than this are told to nobody."""


@dataclass(frozen=True, slots=True)
class Difference:
    """What a sentence says otherwise than its passage."""

    kind: Kind
    said: str
    """Words of the sentence, for "negation" those that it denies; "" if it is the passage that has some."""
    source: str
    """Words of the passage, for "negation" what it denies; "" if it has none."""


def less(share: float, found: Iterable[Sign]) -> float:
    """Return the support (0-1) of a statement with this share of its words in a passage, and these signs."""
    plainest: dict[str, float] = {}
    for sign in found:
        plainest[sign.name] = max(plainest.get(sign.name, 0.0), sign.value)
    return share * _FALL ** sum(plainest.values())


def differences(found: Iterable[Sign]) -> tuple[Difference, ...]:
    """Return what differs, the plainest first, each pair of words once."""
    shown = sorted((sign for sign in found if sign.value >= _SHOWN), key=lambda sign: -sign.value)
    # Of a clause that is denied and its verb, the verb tells more.
    heads = [sign for sign in shown if sign.kind == "negation" and " " not in sign.said + sign.source]
    shown = [heads[0] if heads and sign.kind == "negation" else sign for sign in shown]
    return tuple(dict.fromkeys(Difference(sign.kind, sign.said, sign.source) for sign in shown))
