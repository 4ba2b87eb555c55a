"""Check each sentence of an answer against the passages that it cites, without asking a model."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from chatbot_mvp.chat.citations import MARKS, cited_numbers
from chatbot_mvp.chat.claims.alignment import Idf, Source, align, source_of
from chatbot_mvp.chat.claims.comparison import Difference, differences, doubt, features, less
from chatbot_mvp.chat.claims.reading import Reading, read
from chatbot_mvp.chat.claims.signs import Sign
from chatbot_mvp.chat.claims.signs import signs as signs_of
from chatbot_mvp.chat.code_blocks import code_blocks
from chatbot_mvp.text import Analyzer, sentences
from chatbot_mvp.types import Chunk

MIN_SUPPORT = 0.66
"""Sentences with a lower support (0-1) are marked as unsupported. Chosen on sentences that people labelled
(docs/research/evidence.md)."""
MIN_TICK = 0.9
"""Support from which on a sentence may have a tick: of two collections that people labelled nine in ten are right then,
and .85 of a third one, which it was not chosen on (docs/research/evidence.md)."""
_COMPARED = 3
"""Passages that a sentence without a citation is compared with: those that have most of its words."""
_ANYWHERE = ("name_absent", "figure_absent", "figure_rival")
"""Signs that a passage lacks something: void if another passage that is cited with it has that."""

_ITEM = re.compile(r"\s*(?:[-*+•]\s+)?(?:\d{1,2}[.)]\s+)?")


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence of an answer with its support by the passages."""

    start: int
    """Offset in the answer's text, in characters."""
    end: int
    """Offset behind the sentence."""
    numbers: tuple[int, ...]
    """Numbers of the cited passages. Without a citation, the number of the passage that supports the sentence best;
    empty if none does."""
    score: float
    """Support, 0-1."""
    supported: bool
    """True if ``score`` reaches MIN_SUPPORT."""
    cited: bool = True
    """False if the answer gives no citation for the sentence."""
    differences: tuple[Difference, ...] = ()
    """What the sentence says otherwise than its best passage, the plainest first."""

    @property
    def ticked(self) -> bool:
        """True if it names its passage and is well supported."""
        return self.supported and bool(self.numbers) and self.score >= MIN_TICK


def verify(answer: str, passages: Sequence[Chunk], analyzer: Analyzer, idf: Idf) -> tuple[Statement, ...]:
    """Return the statements of ``answer`` in order, each with its support.

    Support is the idf-weighted share of a sentence's terms in a cited passage; half of it is of two successive
    sentences there. Each sign that the sentence says otherwise takes from it (``claims``). Sentences without a
    citation are compared with the passages that have most of their words. Headings, lines without a term, and the
    numbers of list items are ignored.
    """
    return tuple(statement for statement, _ in with_nearest(answer, passages, analyzer, idf))


def with_nearest(
    answer: str, passages: Sequence[Chunk], analyzer: Analyzer, idf: Idf
) -> Iterator[tuple[Statement, int]]:
    """Yield the statements of ``verify``, each with the number of the passage that is nearest to it; 0 if none is."""
    found = [
        (start, end, numbers)
        for start, end, numbers in _cited_sentences(answer)
        if analyzer.terms(answer[start:end]) and not answer.startswith("#", start)
    ]
    every = range(1, len(passages) + 1)
    sources = [_source(chunk, analyzer) for chunk in passages]
    readings = [read(answer[start:end], analyzer) for start, end, _ in found]
    aligned = [
        {
            number: align(reading, sources[number - 1], idf)
            for number in [number for number in numbers if number in every] or _likeliest(reading, sources, idf)
        }
        for reading, (_, _, numbers) in zip(readings, found, strict=True)
    ]
    for (start, end, numbers), of_row in zip(found, aligned, strict=True):
        scores: dict[int, float] = {}
        signs = _without_shared({number: signs_of(one) for number, one in of_row.items()})
        for number, one in of_row.items():
            scores[number] = less(one.share, doubt(one.share, features(signs[number])), MIN_SUPPORT)
        best = max(scores, key=lambda number: (scores[number], -number), default=0)
        score = round(scores.get(best, 0.0), 4)
        supported = score >= MIN_SUPPORT
        named = numbers or ((best,) if supported else ())
        told = differences(signs[best]) if best else ()
        yield Statement(start, end, named, score, supported, bool(numbers), told), best


def with_citations(answer: str, statements: Sequence[Statement]) -> tuple[str, tuple[Statement, ...]]:
    """Add citations to supported sentences without one; return (the answer, the statements with moved offsets).

    Citations of sentences inside a block of code stand below the block.
    """
    blocks = code_blocks(answer)
    ends = [end for _, end in blocks]
    added: dict[int, dict[int, None]] = {}
    for statement in statements:
        if not statement.cited and statement.numbers:
            row = bisect_left(ends, statement.end)
            inside = row < len(blocks) and blocks[row][0] < statement.end
            at = ends[row] if inside else statement.end
            there = cited_numbers(marks) if inside and (marks := MARKS.match(answer, at)) else ()
            if new := [number for number in statement.numbers if number not in there]:
                added.setdefault(at, {}).update(dict.fromkeys(new))
    pieces, shifts, position = [], [0], 0
    below = set(ends)
    for at, numbers in added.items():
        mark = ("\n\n" if at in below else " ") + " ".join(f"[{number}]" for number in numbers)
        pieces += [answer[position:at], mark]
        position = at
        shifts.append(shifts[-1] + len(mark))
    places = list(added)
    moved = (
        replace(
            statement,
            start=statement.start + shifts[bisect_right(places, statement.start)],
            end=statement.end + shifts[bisect_left(places, statement.end)],
        )
        for statement in statements
    )
    return "".join([*pieces, answer[position:]]), tuple(moved)


def _cited_sentences(answer: str) -> list[tuple[int, int, tuple[int, ...]]]:
    """Return (start, end, cited numbers) of each sentence. Citation marks follow the sentence that they support."""
    found: list[tuple[int, int, tuple[int, ...]]] = []
    position = 0
    for match in [*MARKS.finditer(answer), None]:
        end = match.start() if match else len(answer)
        numbers = cited_numbers(match) if match else ()
        spans = [
            (position + left + _item_mark(answer[position + left : position + right]), position + right)
            for left, right in sentences(answer[position:end])
        ]
        # Marks belong to the sentence directly before them; earlier sentences have no citation.
        found += [(*span, numbers if row == len(spans) - 1 else ()) for row, span in enumerate(spans)]
        position = match.end() if match else end
    return found


def _item_mark(sentence: str) -> int:
    """Return the length of a list marker at the start of a sentence, 0 if there is none."""
    found = _ITEM.match(sentence)
    return found.end() if found else 0


@lru_cache(maxsize=64)
def _source(chunk: Chunk, analyzer: Analyzer) -> Source:
    # While an answer is being written, its beginning is checked again and again.
    return source_of(chunk.section, chunk.text, analyzer)


def _likeliest(statement: Reading, sources: Sequence[Source], idf: Idf) -> list[int]:
    """Return the numbers of the passages that have most of a statement's words, in order."""
    weights = [(token, idf(token.stem)) for token in statement.tokens if not token.stop]
    found = [sum(weight for token, weight in weights if source.places.of(token)) for source in sources]
    ranked = sorted(range(len(sources)), key=lambda row: (-found[row], row))
    return sorted(row + 1 for row in ranked[:_COMPARED])


def _without_shared(found: Mapping[int, Sequence[Sign]]) -> dict[int, list[Sign]]:
    """Drop the signs that a passage lacks what another one, cited with it, has."""
    lacking = {number: {sign.said for sign in signs if sign.name in _ANYWHERE} for number, signs in found.items()}
    shared = set.intersection(*lacking.values()) if lacking else set()
    return {
        number: [sign for sign in signs if sign.name not in _ANYWHERE or sign.said in shared]
        for number, signs in found.items()
    }
