"""Read a text into words, each with its clause, and say which clauses deny something."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from chatbot_mvp.chat.claims.lexicon import BREAKS, DENYING, DENYING_WORDS, NEGATORS, NOT_BEFORE
from chatbot_mvp.chat.claims.quantities import Quantity, quantities
from chatbot_mvp.text import Analyzer, fold, sentences

_TOKEN = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W_]{1,1000}(?:['’][^\W_]{1,100}){0,3}|[.,;:()!?¿¡—\n]")
_MARKS = frozenset(".,;:()!?¿¡—\n")
_DENYING_PAIRS = ("anything but", "far from", "todo menos", "libre de", "free of", "free from")
_EXCEEDING = ("exced", "exceed", "supera", "sobrepas")
_ALONE = frozenset("sin without unless salvo excepto except".split())
"""Negators that cancel out with another one of their clause ("sin toalla no se entra")."""
_STOPPING = frozenset("deja dejo dejan dejaron".split())


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
            if plain in BREAKS and not (tokens and tokens[-1].plain in ("anything", "todo")):
                clause += 1
            word = analyzer.word(written)
            tokens.append(Token(written, plain, word.stem, word.is_stop, found.start(), number, clause, first))
            first = False
    denied, heads = _denials(tokens)
    return Reading(text, tuple(tokens), quantities(text, analyzer), denied, heads, spans)


def is_negator(tokens: list[Token] | tuple[Token, ...], row: int) -> bool:
    """Return whether a word denies its clause."""
    token = tokens[row]
    if token.plain not in NEGATORS and not token.plain.endswith(("n't", "n’t")):
        return False
    following = tokens[row + 1] if row + 1 < len(tokens) else None
    # "If not, …" and "No." deny no word of their own, and "not higher than" and "not exceed" set a bound.
    if following is None or following.clause != token.clause or following.plain in NOT_BEFORE:
        return False
    ahead = [one.plain for one in tokens[row + 1 : row + 6] if one.clause == token.clause]
    return "than" not in ahead and not any(one.startswith(_EXCEEDING) for one in ahead[:3])


def denies(token: Token, following: str = "") -> bool:
    """Return whether a word says that what follows is not so ("prohibido", "unable", "deja de")."""
    return (
        token.plain.startswith(DENYING)
        or token.plain in DENYING_WORDS
        or (token.plain in _STOPPING and following == "de")
        or f"{token.plain} {following}" in _DENYING_PAIRS
    )


def _denials(tokens: list[Token]) -> tuple[frozenset[int], frozenset[int]]:
    plainly: set[int] = set()
    by_words: dict[int, int] = {}
    heads: set[int] = set()
    for row, token in enumerate(tokens):
        if negator := is_negator(tokens, row):
            if token.plain in _ALONE:
                by_words[token.clause] = by_words.get(token.clause, 0) + 1
            else:
                plainly.add(token.clause)
        elif denies(token, tokens[row + 1].plain if row + 1 < len(tokens) else ""):
            by_words[token.clause] = by_words.get(token.clause, 0) + 1
        else:
            continue
        ahead = [at for at in range(row + 1, min(row + 7, len(tokens))) if tokens[at].clause == token.clause]
        content = [at for at in ahead if not tokens[at].stop][:1]
        for at in content:
            heads ^= {at}
        if not negator:
            heads ^= {row}
    odd = {clause for clause, count in by_words.items() if count % 2}
    return frozenset(plainly ^ odd), frozenset(heads)
