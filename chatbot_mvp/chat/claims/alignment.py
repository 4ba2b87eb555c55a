"""Lay a statement beside the sentences of a passage that it is about, word by word."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from chatbot_mvp.chat.claims.matching import Places
from chatbot_mvp.chat.claims.reading import Reading, Token, read
from chatbot_mvp.text import Analyzer

Idf = Callable[[str], float]
_BESIDE, _NEAR = 6, 7
"""Words to either side that decide which of several places a word is matched with, and how near theirs must be."""
_LEAST_WORDS = 14
"""Words that a window has at least, if its passage has them."""
_LIGHT = 0.25
"""Factor for the weight of words that only say that something is said, or may be."""
_SAYING = frozenset(
    """texto documento pasaje fuente indica dice señala senala cabe segun afirma menciona text document passage says
    states noted according source note mentioned mentions
    may might must shall would could""".split()
)


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
    """Read a passage. Its heading, which often names the subject that its sentences leave out, is its first sentence."""
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
    """Share of the weight that the window has, 0-1."""

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """(row of the statement, row of the source) of each content word that is matched."""
        return [(row, at) for row, at in enumerate(self.at) if at is not None and self.weights[row]]

    def token(self, row: int) -> Token:
        return self.source.reading.tokens[row]


def align(statement: Reading, source: Source, idf: Idf) -> Aligned:
    """Lay a statement beside a passage."""
    tokens = statement.tokens
    weights = tuple(
        0.0 if token.stop else idf(token.stem) * (_LIGHT if token.plain in _SAYING else 1.0) for token in tokens
    )
    rows = tuple(tuple(source.places.of(token)) for token in tokens)
    figured = _same_figures(statement, source)
    rows = tuple(tuple(sorted({*found, *figured.get(row, ())})) for row, found in enumerate(rows))
    total = sum(weights)
    by_sentence: dict[int, set[int]] = {}
    for row, found in enumerate(rows):
        for at in found:
            by_sentence.setdefault(source.reading.tokens[at].sentence, set()).add(row)
    count = len(source.by_sentence)
    best, first = -1.0, 0
    heading = by_sentence.get(0, set())
    for number in range(min(1, count - 1), count):
        has = by_sentence.get(number, set()) | by_sentence.get(number + 1, set())
        # The nearer sentence alone decides between windows that have the same.
        value = sum(weights[row] for row in has | heading)
        value += 1e-3 * sum(weights[row] for row in by_sentence.get(number, set()))
        if value > best:
            best, first = value, number
    window = set(source.by_sentence[0]) if count else set()
    for number in range(first, count):
        # Items of a list are short; what stands above them says what they are about.
        if number > first + 1 and len(window) >= _LEAST_WORDS:
            break
        window.update(source.by_sentence[number])
    inside = [[at for at in found if at in window] for found in rows]
    at = tuple(_nearest(row, inside, weights) for row in range(len(tokens)))
    share = sum(weight for weight, found in zip(weights, inside, strict=True) if found) / total if total else 0.0
    return Aligned(statement, source, weights, rows, at, frozenset(window), min(1.0, share))


def _nearest(row: int, inside: list[list[int]], weights: tuple[float, ...]) -> int | None:
    """Return the place of a word around which most of its neighbours stand."""
    places = inside[row]
    if len(places) < 2:
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
    for figure in statement.figures:
        row = own.get(figure.start)
        if row is None:
            continue
        for other in source.reading.figures:
            if figure.value == other.value and other.start in starts:
                found.setdefault(row, []).append(starts[other.start])
                # Its unit, too: "two weeks" has both words of "14 days".
                if figure.kind and figure.kind == other.kind and row + 1 < len(statement.tokens):
                    unit = statement.tokens[row + 1]
                    if unit.text in figure.written:
                        found.setdefault(row + 1, []).append(starts[other.start])
    return found
