"""Lay a statement beside the sentences of a passage that it is about, word by word."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from chatbot_mvp.chat.claims.quantities import Quantity
from chatbot_mvp.chat.claims.reading import Reading, Token, read
from chatbot_mvp.text import Analyzer

Idf = Callable[[str], float]
_BESIDE, _NEAR = 6, 7
"""Words to either side that decide which of several places a word is matched with, and how near theirs must be."""
LONGEST = 120
"""Words of a statement that is looked at closely: no sentence of a person is longer."""
_PLACES = 12
"""Places of a word that are looked at: a text may repeat one word for pages."""
_LEAST_WORDS = 14
"""Words that a window has at least, if its passage has them."""
_STEM = 5
"""Words with this many letters in common at their beginning are forms of one word …"""
_TAIL = 5
"""… if no more letters than this follow in either."""
_LIGHT = 0.25
"""Factor for the weight of words that only say that something is said, or may be."""
_SAYING = frozenset(
    """texto documento pasaje fuente indica dice señala senala cabe segun afirma menciona text document passage says
    states noted according source note mentioned mentions
    may might must shall would could""".split()
)


class Places:
    """Where the words of a passage stand."""

    def __init__(self, reading: Reading) -> None:
        self._rows: dict[str, list[int]] = {}
        self._by_start: dict[str, list[int]] = {}
        for row, token in enumerate(reading.tokens):
            self._rows.setdefault(token.stem, []).append(row)
            if token.plain != token.stem:
                self._rows.setdefault(token.plain, []).append(row)
            if len(token.plain) >= _STEM and not token.stop:
                self._by_start.setdefault(token.plain[:_STEM], []).append(row)
        self._tokens = reading.tokens

    def of(self, token: Token) -> list[int]:
        """Return the rows where a word stands, as it is or in another form."""
        if found := self._rows.get(token.stem) or self._rows.get(token.plain):
            return found
        if token.stop or len(token.plain) < _STEM or token.plain.isdigit():
            return []
        same = len(token.plain)
        return [
            row
            for row in self._by_start.get(token.plain[:_STEM], ())
            if max(same, len(self._tokens[row].plain)) - _common(token.plain, self._tokens[row].plain) <= _TAIL
        ]


def _common(one: str, other: str) -> int:
    most = min(len(one), len(other))
    return next((at for at in range(most) if one[at] != other[at]), most)


@dataclass(frozen=True)
class Source:
    """A passage, read once for all statements."""

    reading: Reading
    places: Places

    @cached_property
    def by_sentence(self) -> list[list[int]]:
        """The rows of each sentence."""
        rows: list[list[int]] = [[] for _ in self.reading.spans]
        for row, token in enumerate(self.reading.tokens):
            rows[token.sentence].append(row)
        return rows


def source_of(section: str, text: str, analyzer: Analyzer) -> Source:
    """Read a passage. Its heading is its first sentence: it often names the subject that the others leave out."""
    reading = read(f"# {section}\n{text}", analyzer)
    return Source(reading, Places(reading))


@dataclass(frozen=True)
class Aligned:
    """A statement beside its source."""

    statement: Reading
    source: Source
    weights: tuple[float, ...]
    """Of each word of the statement; 0 for stop words."""
    rows: tuple[tuple[int, ...], ...]
    """Of each word of the statement: all rows of the source that have it."""
    at: tuple[int | None, ...]
    """Of each word of the statement: the row within the window that it is matched with, None without one."""
    window: frozenset[int]
    """Rows of the two successive sentences that match best, and of the heading."""
    share: float
    """Share of the weight that stands in the passage, and in its window, 0-1: the mean of both."""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """(row of the statement, row of the source) of each content word that is matched."""
        return [(row, at) for row, at in enumerate(self.at) if at is not None and self.weights[row]]

    def token(self, row: int) -> Token:
        """Return a word of the source."""
        return self.source.reading.tokens[row]

    def inside(self, row: int) -> list[int]:
        """Return the rows of the window that have a word of the statement."""
        return [at for at in self.rows[row] if at in self.window][:_PLACES]

    def is_name(self, row: int) -> bool:
        """Return whether a word of the statement is part of a name."""
        token = self.statement.tokens[row]
        if not token.text[0].isupper() or token.stop or len(token.text) < 2:
            return False
        if not token.first:
            return True
        there = [self.token(at).text[0].isupper() for at in self.rows[row][:_PLACES]]
        following = self.statement.tokens[row + 1 : row + 2]
        return any(there) or (not there and bool(following) and following[0].text[0].isupper())


def align(statement: Reading, source: Source, idf: Idf) -> Aligned:
    """Lay a statement beside a passage."""
    tokens = statement.tokens
    weights = tuple(
        0.0 if token.stop else idf(token.stem) * (_LIGHT if token.plain in _SAYING else 1.0) for token in tokens
    )
    found = {stem: tuple(source.places.of(token)) for stem, token in {token.stem: token for token in tokens}.items()}
    figured = _same_figures(statement, source)
    # A word that is said a thousand times has the same places each time: they are joined once, not at each word.
    keys = [(token.stem, tuple(figured.get(row, ()))) for row, token in enumerate(tokens)]
    places_of = {key: tuple(sorted({*found[key[0]], *key[1]})) if key[1] else found[key[0]] for key in set(keys)}
    rows = tuple(places_of[key] for key in keys)
    of_stem: dict[str, float] = {}
    for token, weight in zip(tokens, weights, strict=True):
        of_stem[token.stem] = of_stem.get(token.stem, 0.0) + weight
    by_sentence: dict[int, set[str]] = {}
    for (stem, _), places in places_of.items():
        for at in places:
            by_sentence.setdefault(source.reading.tokens[at].sentence, set()).add(stem)
    window = _window(source, by_sentence, of_stem)
    inside_of = {key: [at for at in places if at in window][:_PLACES] for key, places in places_of.items()}
    inside = [inside_of[key] for key in keys]
    total = sum(weights)
    chosen = tuple(_nearest(row, inside, weights) for row in range(len(tokens)))
    found_twice = zip(weights, rows, inside, strict=True)
    share = sum(weight * (bool(some) + bool(near)) / 2 for weight, some, near in found_twice) / (total or 1.0)
    return Aligned(statement, source, weights, rows, chosen, window, min(1.0, share))


def _window(source: Source, by_sentence: dict[int, set[str]], weights: Mapping[str, float]) -> frozenset[int]:
    """Return the rows of the heading and of the two successive sentences that have most of some words."""
    count = len(source.by_sentence)
    heading = by_sentence.get(0, set())
    best, first = -1.0, 0
    for number in range(min(1, count - 1), count):
        own = by_sentence.get(number, set())
        # The nearer sentence alone decides between windows that have the same.
        value = math.fsum(weights[stem] for stem in own | by_sentence.get(number + 1, set()) | heading)
        value += 1e-3 * math.fsum(weights[stem] for stem in own)
        if value > best:
            best, first = value, number
    window = set(source.by_sentence[0]) if count else set()
    for number in range(first, count):
        # Items of a list are short; what stands above them says what they are about.
        if number > first + 1 and len(window) >= _LEAST_WORDS:
            break
        window.update(source.by_sentence[number])
    return frozenset(window)


def _nearest(row: int, inside: list[list[int]], weights: tuple[float, ...]) -> int | None:
    """Return the place of a word around which most of its neighbours stand."""
    places = inside[row]
    if len(places) < 2 or len(inside) > LONGEST:
        return places[0] if places else None
    beside = [
        other
        for other in range(max(0, row - _BESIDE), min(len(inside), row + _BESIDE + 1))
        if other != row and weights[other] and inside[other]
    ]

    def company(at: int) -> float:
        near = [(weights[other], min(abs(at - place) for place in inside[other])) for other in beside]
        return sum(weight / (1 + distance) for weight, distance in near if distance <= _NEAR)

    return max(places, key=lambda at: (company(at), -at))


def _same_figures(statement: Reading, source: Source) -> dict[int, list[int]]:
    """Return row of the statement -> rows of the source for figures with the same value in other words."""
    found: dict[int, list[int]] = {}
    starts = {token.start: row for row, token in enumerate(source.reading.tokens)}
    own = {token.start: row for row, token in enumerate(statement.tokens)}
    by_value: dict[float | str, list[Quantity]] = {}
    for other in source.reading.figures:
        if other.start in starts:
            by_value.setdefault(other.value, []).append(other)
    for figure in statement.figures:
        row = own.get(figure.start)
        if row is None:
            continue
        for other in by_value.get(figure.value, [])[:_PLACES]:
            found.setdefault(row, []).append(starts[other.start])
            # Its unit, too: "two weeks" has both words of "14 days".
            if figure.kind and figure.kind == other.kind and row + 1 < len(statement.tokens):
                unit = statement.tokens[row + 1]
                if unit.text in figure.written:
                    found.setdefault(row + 1, []).append(starts[other.start])
    return found
