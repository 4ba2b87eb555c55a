"""Mark the words that an answer and its reference share, as the F1 of answers counts them, in any order."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from chatbot_mvp.metrics.answers.text import normalise

_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a text."""

    text: str
    shared: bool
    """True if the other text has its words too, or if it has no words that count (articles, punctuation, spaces)."""


def word_difference(reference: str, answer: str, language: str) -> tuple[tuple[Part, ...], tuple[Part, ...]]:
    """Return (parts of the reference, parts of the answer), alternately shared and not. Joined they give the texts.

    A word that occurs twice in one text and once in the other is shared at its first occurrence only.
    """
    common = Counter(_words(reference, language)) & Counter(_words(answer, language))
    return _parts(reference, Counter(common), language), _parts(answer, Counter(common), language)


def _words(text: str, language: str) -> list[str]:
    return [word for found in _WORD.findall(text) for word in normalise(found, language).split()]


def _parts(text: str, left: Counter[str], language: str) -> tuple[Part, ...]:
    pieces: list[list[str | bool]] = []
    position = 0
    for match in _WORD.finditer(text):
        words = normalise(match[0], language).split()
        shared = all(left[word] > 0 for word in words)
        if shared:
            left.subtract(words)
        piece = text[position : match.end()]
        position = match.end()
        if pieces and pieces[-1][1] == shared:
            pieces[-1][0] = f"{pieces[-1][0]}{piece}"
        else:
            pieces.append([piece, shared])
    if position < len(text):
        pieces.append([text[position:], True])
    return tuple(Part(str(piece), bool(shared)) for piece, shared in pieces)
