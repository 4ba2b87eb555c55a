"""Finds, without any model, the place in a passage that a sentence of an answer rests on."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from chatbot_mvp.llm.base import Quote
from chatbot_mvp.text import Analyzer, sentences
from chatbot_mvp.types import Chunk

_MARK = re.compile(r"\[(\d{1,2})\]")
_MARK_LIST = re.compile(r"\[(\d{1,2}(?:\s*[,;]\s*\d{1,2})+)\]")
_ANY_MARK = re.compile(r"[ \t]*\[(\d{1,3})\]")
_LOOSE_MARK = re.compile(r"(?:[ \t]+|(?<![\w`\])]))\[\d{1,3}\]")
_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`)", re.S)
_MIN_SHARE = 0.5
"""A passage's sentence supports an answer's sentence if it has at least this share of its terms."""


@dataclass(frozen=True, slots=True)
class Source:
    """A passage that an answer cites."""

    number: int
    """As in the answer's [n]; from 1."""
    chunk: Chunk
    highlights: tuple[tuple[int, int], ...]
    """Spans of the cited sentences, in characters of the *source document*; ordered, not overlapping."""


def clean_citations(text: str, count: int) -> str:
    """``text`` without the citations that name none of ``count`` passages; ``[1, 3]`` becomes ``[1] [3]``.

    What stands in code is no citation, nor what hangs on a word (``list[0]``) where there is nothing to cite.
    """

    def cleaned(part: str) -> str:
        spread = _MARK_LIST.sub(lambda found: " ".join(f"[{n}]" for n in re.findall(r"\d+", found.group(1))), part)
        if count == 0:
            return _LOOSE_MARK.sub("", spread)
        return _ANY_MARK.sub(lambda found: found.group() if 1 <= int(found.group(1)) <= count else "", spread)

    parts = _CODE.split(text)
    return "".join(part if row % 2 else cleaned(part) for row, part in enumerate(parts)).strip()


def quoted_sources(quotes: Sequence[Quote], passages: Sequence[Chunk]) -> tuple[Source, ...]:
    """The passages that a model says it quoted, in order of their numbers."""
    spans: dict[int, set[tuple[int, int]]] = {}
    for quote in quotes:
        offset = passages[quote.number - 1].start
        spans.setdefault(quote.number, set()).add((offset + quote.start, offset + quote.end))
    return tuple(Source(number, passages[number - 1], _merged(spans[number])) for number in sorted(spans))


def find_sources(answer: str, passages: Sequence[Chunk], language: str) -> tuple[Source, ...]:
    """The cited passages in order of their numbers; a number that names no passage is left out."""
    analyzer = Analyzer(language)
    spans: dict[int, set[tuple[int, int]]] = {}
    for statement, numbers in _statements(answer):
        for number in numbers:
            if 1 <= number <= len(passages):
                found = spans.setdefault(number, set())
                if place := _locate(statement, passages[number - 1], analyzer):
                    found.add(place)
    return tuple(Source(number, passages[number - 1], _merged(spans[number])) for number in sorted(spans))


def _statements(answer: str) -> list[tuple[str, list[int]]]:
    """Each piece of the answer that ends in citation marks, with the numbers cited."""
    pieces: list[tuple[str, list[int]]] = []
    position = 0
    for match in re.finditer(r"(?:\s*\[\d{1,2}\])+", answer):
        numbers = [int(number) for number in _MARK.findall(match.group())]
        # A mark may stand before the full stop of its sentence, which is then no part of the next one.
        pieces.append((answer[position : match.start()].lstrip(" .,;:!?…\n\t").rstrip(), numbers))
        position = match.end()
    return pieces


def _locate(statement: str, chunk: Chunk, analyzer: Analyzer) -> tuple[int, int] | None:
    if statement and (at := chunk.text.find(statement)) >= 0:
        return chunk.start + at, chunk.start + at + len(statement)
    # Not verbatim: the sentence that shares most of the statement's last sentence.
    bounds = sentences(statement)
    terms = set(analyzer.terms(statement[slice(*bounds[-1])])) if bounds else set()
    best, place = 0.0, None
    for start, end in sentences(chunk.text):
        share = len(terms & set(analyzer.terms(chunk.text[start:end]))) / len(terms) if terms else 0.0
        if share > best:
            best, place = share, (chunk.start + start, chunk.start + end)
    return place if best >= _MIN_SHARE else None


def _merged(spans: set[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return tuple(merged)
