"""Find, without a model, the place in a passage that a sentence of an answer is based on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from chatbot_mvp.documents.kb_files import FilePlace
from chatbot_mvp.knowledge_base.places import Places, paragraphs_around
from chatbot_mvp.llm.base import Quote
from chatbot_mvp.text import Analyzer, sentences
from chatbot_mvp.types import Chunk

_MARK_LIST = re.compile(r"\[(\d{1,2}(?:\s*[,;]\s*\d{1,2})+)\]")
# Blanks match from their first one only, which keeps the search linear in a long run of them.
_ANY_MARK = re.compile(r"(?<![ \t])[ \t]*+\[(\d{1,3})\]")
_LOOSE_MARK = re.compile(r"(?:(?<![ \t])[ \t]++|(?<![\w`\])]))\[\d{1,3}\]")
MARKS = re.compile(r"(?:(?<!\s)\s*+\[\d{1,2}\])+")
"""Citation marks that follow each other, with the white space before them."""
_CODE = re.compile(r"(```.*?(?:```|\Z)|`[^`\n]*`)", re.S)
_MIN_SHARE = 0.5
"""A passage's sentence is highlighted if it has at least this share of the terms of the answer's sentence."""


@dataclass(frozen=True, slots=True)
class Source:
    """A passage that an answer cites."""

    number: int
    """Number of the citation [n] in the answer, from 1."""
    chunk: Chunk
    highlights: tuple[tuple[int, int], ...]
    """(start, end) of the cited sentences in the *source document*, in characters; sorted, without overlaps."""
    place: FilePlace | None = None
    """File and page of the first highlight, or of the passage's start; None if the files are not known."""

    @property
    def offset(self) -> int:
        """Where the source document is cited: the first highlight, or the passage's start, in characters."""
        return self.highlights[0][0] if self.highlights else self.chunk.start

    @property
    def cited(self) -> str:
        """The paragraphs of the passage with its highlights; without one, the whole passage."""
        if not self.highlights:
            return self.chunk.text
        first, last = self.highlights[0][0] - self.chunk.start, self.highlights[-1][1] - self.chunk.start
        start, end = paragraphs_around(self.chunk.text, first, last)
        return self.chunk.text[start:end]


def placed(sources: Sequence[Source], places: Places) -> tuple[Source, ...]:
    """Return sources with their places in the documents of their knowledge base."""
    return tuple(replace(source, place=places.at(source.offset)) for source in sources)


def clean_citations(text: str, count: int) -> str:
    """Remove citations that name none of ``count`` passages, and rewrite ``[1, 3]`` to ``[1] [3]``.

    Code is left unchanged. If ``count`` is 0, brackets attached to a word (``list[0]``) are kept too.
    """

    def cleaned(part: str) -> str:
        spread = _MARK_LIST.sub(lambda found: " ".join(f"[{n}]" for n in re.findall(r"\d+", found.group(1))), part)
        if count == 0:
            return _LOOSE_MARK.sub("", spread)
        return _ANY_MARK.sub(lambda found: found.group() if 1 <= int(found.group(1)) <= count else "", spread)

    parts = _CODE.split(text)
    return "".join(part if row % 2 else cleaned(part) for row, part in enumerate(parts)).strip()


def quoted_sources(quotes: Sequence[Quote], passages: Sequence[Chunk]) -> tuple[Source, ...]:
    """Return the passages that a model reports as quoted, by number, with the quotes as highlights."""
    spans: dict[int, set[tuple[int, int]]] = {}
    for quote in quotes:
        offset = passages[quote.number - 1].start
        spans.setdefault(quote.number, set()).add((offset + quote.start, offset + quote.end))
    return _sources(spans, passages)


def find_sources(answer: str, passages: Sequence[Chunk], analyzer: Analyzer) -> tuple[Source, ...]:
    """Return the passages that an answer cites, by number, with highlights. Invalid numbers are left out."""
    spans: dict[int, set[tuple[int, int]]] = {}
    for statement, numbers in _statements(answer):
        for number in numbers:
            if 1 <= number <= len(passages):
                found = spans.setdefault(number, set())
                if place := _locate(statement, passages[number - 1], analyzer):
                    found.add(place)
    return _sources(spans, passages)


def cited_numbers(marks: re.Match[str]) -> tuple[int, ...]:
    """Return the passages that a match of ``MARKS`` names, each once."""
    return tuple(dict.fromkeys(int(number) for number in re.findall(r"\d+", marks.group())))


def _sources(spans: Mapping[int, set[tuple[int, int]]], passages: Sequence[Chunk]) -> tuple[Source, ...]:
    return tuple(Source(number, passages[number - 1], _merged(spans[number])) for number in sorted(spans))


def _statements(answer: str) -> list[tuple[str, tuple[int, ...]]]:
    """Split the answer at its citation marks into (text before the marks, cited numbers)."""
    pieces: list[tuple[str, tuple[int, ...]]] = []
    position = 0
    for match in MARKS.finditer(answer):
        # If the mark precedes the full stop, the full stop does not belong to the next piece.
        pieces.append((answer[position : match.start()].lstrip(" .,;:!?…\n\t").rstrip(), cited_numbers(match)))
        position = match.end()
    return pieces


def _locate(statement: str, chunk: Chunk, analyzer: Analyzer) -> tuple[int, int] | None:
    if statement and (at := chunk.text.find(statement)) >= 0:
        return chunk.start + at, chunk.start + at + len(statement)
    # Not verbatim: find the passage's sentence that shares most terms with the statement's last sentence.
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
