"""Read a text into words, each with its clause, and say which clauses deny something."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from chatbot_mvp.chat.claims.lexicon import BREAKS, DENYING, NEGATORS
from chatbot_mvp.chat.claims.quantities import Quantity, quantities
from chatbot_mvp.text import Analyzer, fold, sentences

_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W_]{1,1000}(?:['’][^\W_]{1,100}){0,3}|[.,;:()!?¿¡—\n]")
_MARKS = frozenset(".,;:()!?¿¡—\n")


class Token(NamedTuple):
    """A word of a text."""

    text: str
    plain: str
    """Folded."""
    stem: str
    stop: bool
    start: int
    """Offset in the text, in characters."""
    sentence: int
    clause: int
    """Number of its clause in the text."""
    first: bool
    """Whether it begins its sentence."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says, taken apart."""

    text: str
    tokens: tuple[Token, ...]
    figures: tuple[Quantity, ...]
    denied: frozenset[int]
    """Clauses that deny something."""
    heads: frozenset[int]
    """Rows of the tokens that a negation stands before: the next word that is no stop word."""
    spans: tuple[tuple[int, int], ...]
    """Of each sentence."""


def read(text: str, analyzer: Analyzer) -> Reading:
    """Take a text apart."""
    spans = tuple(sentences(text))
    tokens: list[Token] = []
    clause = 0
    for number, (start, end) in enumerate(spans):
        first = True
        clause += 1
        for found in _TOKEN.finditer(text, start, end):
            written = found.group()
            if written in _MARKS:
                clause += 1
                continue
            plain = fold(written)
            if plain in BREAKS:
                clause += 1
            word = analyzer.word(written)
            tokens.append(Token(written, plain, word.stem, word.is_stop, found.start(), number, clause, first))
            first = False
    denied, heads = _denials(tokens)
    return Reading(text, tuple(tokens), quantities(text, analyzer), denied, heads, spans)


def _negates(token: Token) -> bool:
    return token.plain in NEGATORS or token.plain.endswith(("n't", "n’t"))


def _denials(tokens: list[Token]) -> tuple[frozenset[int], frozenset[int]]:
    plainly: set[int] = set()
    odd: set[int] = set()
    heads: set[int] = set()
    for row, token in enumerate(tokens):
        if _negates(token):
            plainly.add(token.clause)
        elif token.plain.startswith(DENYING):
            odd ^= {token.clause}
            heads ^= {row}
        else:
            continue
        ahead = (at for at in range(row + 1, min(row + 7, len(tokens))) if tokens[at].clause == token.clause)
        heads ^= {*[at for at in ahead if not tokens[at].stop][:1]}
    return frozenset(plainly ^ odd), frozenset(heads)
