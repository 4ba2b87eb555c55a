"""Split text into blocks that can be understood alone: paragraphs, the rows of a table, the items of a list."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

# Possessive: a repetition that can be undone keeps 120 bytes for every character of the paragraph.
_PARAGRAPH = re.compile(r"(?:[^\n]++|\n(?![ \t]*\n))++")
_ROW = re.compile(r"[ \t]*\|.*\|[ \t]*")
_RULE = re.compile(r"[\s|:+=-]*")
"""A table's line without text: the rule below its head, or a row of empty cells."""
_ITEM = re.compile(r"[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S")
_SHORT_LIST = 400  # characters: a shorter list is one block, because its items say little without each other

Span = tuple[int, int]


def paragraphs(text: str) -> list[Span]:
    """Return (start, end) of each run of lines without a blank line, without the white space around it."""
    return [_stripped(text, found.start(), found.end()) for found in _PARAGRAPH.finditer(text) if found.group().strip()]


def blocks(text: str) -> list[Span]:
    """Return (start, end) of each block of a text, in order.

    A block is a paragraph, a row of a Markdown table, or an item of a list of more than 400 characters. The line that
    introduces a list is a block too. Rules and empty rows of tables belong to no block.
    """
    found: list[Span] = []
    for start, end in paragraphs(text):
        found.extend((start + left, start + right) for left, right in _parts(text[start:end]))
    return found


def begins_block(line: str) -> bool:
    """Return whether a line is a row of a table or begins an item of a list."""
    return bool(_ROW.fullmatch(line) or _ITEM.match(line))


def _parts(paragraph: str) -> Iterator[Span]:
    lines = list(_lines(paragraph))
    if all(_ROW.fullmatch(paragraph[start:end]) for start, end in lines):
        yield from (_stripped(paragraph, *line) for line in lines if not _RULE.fullmatch(paragraph[slice(*line)]))
        return
    begins = [start for start, end in lines if _ITEM.match(paragraph[start:end])]
    if len(begins) < 2 or len(paragraph) <= _SHORT_LIST:
        yield 0, len(paragraph)
        return
    marks = [*sorted({0, *begins}), len(paragraph)]
    for start, end in itertools.pairwise(marks):
        yield _stripped(paragraph, start, end)


def _lines(text: str) -> Iterator[Span]:
    start = 0
    for line in text.split("\n"):
        yield start, start + len(line)
        start += len(line) + 1


def _stripped(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    left = len(piece) - len(piece.lstrip())
    return start + left, start + left + len(piece.strip())
