"""The ways in which small models break the JSON they were asked for."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable


def _single_quotes(reply: str) -> str:
    return repr(json.loads(reply))


def _unquoted_names(reply: str) -> str:
    value = json.loads(reply)
    return "{" + ", ".join(f"{name}: {json.dumps(given, ensure_ascii=False)}" for name, given in value.items()) + "}"


def _bare(reply: str) -> str:
    value = json.loads(reply)
    return json.dumps(next(iter(value.values())), ensure_ascii=False) if len(value) == 1 else f"[{reply}]"


def _other_names(reply: str) -> str:
    return json.dumps({f"mi_{name}": given for name, given in json.loads(reply).items()}, ensure_ascii=False)


KINDS: tuple[Callable[[str], str], ...] = (
    lambda reply: f"```json\n{reply}\n```",
    lambda reply: f"¡Claro! Aquí tienes el resultado:\n\n{reply}\n\nEspero que te sirva.",
    lambda reply: f"<think>Veamos {{con calma}}: puede ser 0 o 1.</think>\n{reply}",
    lambda reply: reply[:-1] + ",}",
    _single_quotes,
    _unquoted_names,
    _bare,
    lambda reply: reply[:-1],
    lambda reply: reply[: len(reply) // 2],
    _other_names,
    lambda reply: "Después de leerlo con atención, diría que en general está bien fundamentado.",
    lambda reply: "Lo siento, no puedo ayudar con eso.",
    lambda reply: "{}",
)
"""A good reply -> a broken one. Most hold what was asked for; the last ones can only be asked for again."""


def perhaps_broken(reply: str, seed: str, share: float) -> str:
    """``reply`` broken in one of the ways, for a share of the seeds; the same seed gives the same reply."""
    drawn = hashlib.sha256(seed.encode()).digest()
    if int.from_bytes(drawn[:4], "big") / 2**32 >= share:
        return reply
    return KINDS[drawn[4] % len(KINDS)](reply)
