"""Split a document into chunks along its own structure: headings, paragraphs, sentences.

A chunk is a slice of the source text and never crosses a heading. Two successive chunks of a section overlap by whole
paragraphs or sentences.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple, overload

from chatbot_mvp.documents.blocks import begins_block, blocks, paragraphs
from chatbot_mvp.text import each_sentence, sentences
from chatbot_mvp.types import Chunk, Document

CHUNKING_VERSION = 5
"""Part of every index's cache key. Raise it with every change that alters the chunks of any text."""

MIN_CHARS = 900
"""A chunk shorter than this is extended by the next paragraph if LIMIT_CHARS allows it."""
TARGET_CHARS = 1_100
"""A chunk of at least this length is complete."""
LIMIT_CHARS = 1_400
"""Maximum length of a chunk. Only a single longer word exceeds it."""
OVERLAP_CHARS = 250
"""Maximum length of the overlap, which is the last paragraph or the last sentences of the preceding chunk."""


_MARKDOWN = re.compile(r"^(#{1,6})[ \t]+(\S.*)$")
_EMPHASIS = re.compile(r"(\*\*|__|\*|`|(?<!\w)_)(\S(?:.*?\S)??)\1")
_MARKS = frozenset("*_`")
_FENCES = ("```", "~~~")
_NUMBERED = re.compile(r"^(\d+(?:\.\d+)*)[.)]?\s+(\S.*)$")
_ARTICLE = re.compile(
    r"^(?:art[íi]culo|art\.|article|cap[íi]tulo|chapter|secci[óo]n|section|anexo|annex|t[íi]tulo)\s+[\dIVXLC]+\b.*$",
    re.I,
)
_SMALL_WORDS = frozenset("a al and con de del e el en for in la las los o of on or para por the to u un una y".split())


class _Sizes(NamedTuple):
    """The lengths that decide where chunks end, in characters, as the constants of these names."""

    minimum: int
    target: int
    limit: int
    overlap: int


class Section(NamedTuple):
    """A heading and the span of the source up to the next heading."""

    path: str
    """Headings from the outermost to this one, joined by " > "; "" before the first heading."""
    start: int
    """Offset of the heading line."""
    body_start: int
    """Offset of the text below the heading line."""
    end: int
    """Offset behind the section."""


def chunk_document(document: Document, chars: int = TARGET_CHARS) -> list[Chunk]:
    """Split a text or Markdown document into chunks, in order. A document without text gives an empty list.

    Args:
        chars: length at which a chunk is complete, in characters.
    """
    found = packed(document.text, chars)
    return [
        Chunk(
            f"{document.doc_id}:{number:04d}", document.doc_id, path or document.title, text, start, start + len(text)
        )
        for number, (path, start, text) in enumerate(found)
    ]


def packed(text: str, chars: int = TARGET_CHARS, has_title: bool | None = None) -> Iterator[tuple[str, int, str]]:
    """Yield (path of headings, offset, text) of each chunk of a text. Arguments as for ``split_sections``."""
    # Chunks of another length keep the proportions of the usual ones.
    usual = (MIN_CHARS, TARGET_CHARS, LIMIT_CHARS, OVERLAP_CHARS)
    sizes = _Sizes(*(round(size * chars / TARGET_CHARS) for size in usual))
    for section in split_sections(text, has_title):
        for start, end in _pack(text, section, sizes):
            yield section.path, start, text[start:end]


def passage_chunk(document: Document) -> Chunk:
    """Return a corpus passage as a single chunk with the document's id."""
    return Chunk(document.doc_id, document.doc_id, document.title, document.text, 0, len(document.text))


class Passages(Sequence[Chunk]):
    """The chunks of documents, made when they are asked for.

    Args:
        documents: whole passages with distinct ids.
        rows: document id -> its position in ``documents``.
        chars: number of characters of all texts.
    """

    def __init__(self, documents: Sequence[Document], rows: Mapping[str, int], chars: int) -> None:
        self.documents = documents
        self.rows = rows
        self.chars = chars

    def __len__(self) -> int:
        return len(self.documents)

    @overload
    def __getitem__(self, row: int) -> Chunk: ...

    @overload
    def __getitem__(self, row: slice) -> list[Chunk]: ...

    def __getitem__(self, row: int | slice) -> Chunk | list[Chunk]:
        if isinstance(row, slice):
            return [passage_chunk(document) for document in self.documents[row]]
        return passage_chunk(self.documents[row])

    def __iter__(self) -> Iterator[Chunk]:
        return map(passage_chunk, self.documents)


def split_sections(text: str, has_title: bool | None = None) -> list[Section]:
    """Split a text at its headings. A heading without text of its own only appears in the paths of those below it.

    Args:
        has_title: whether the first heading is the title of all, which paths leave out; None if that is so where it is
            alone on its level.
    """
    marks: list[tuple[int, int, int, str]] = []  # (line start, body start, level, heading)
    lines = text.split("\n")
    stripped = [line.strip() for line in lines]
    in_fence = False
    end = -1
    for index, line in enumerate(lines):
        start, end = end + 1, end + 1 + len(line)
        if not stripped[index]:
            continue
        fence = stripped[index][:3]
        previous_blank = index == 0 or not stripped[index - 1]
        next_blank = index + 1 == len(lines) or not stripped[index + 1]
        if fence in _FENCES and line.count(fence) == 1:
            in_fence = not in_fence
        elif in_fence and line.startswith("##") and previous_blank and next_blank:
            in_fence = False  # converted documents lose closing fences, and code hardly ever has such a line
        if not in_fence and (found := _heading(stripped[index], previous_blank, next_blank)):
            marks.append((start, min(end + 1, len(text)), *found))
    sections: list[Section] = []
    if not marks or text[: marks[0][0]].strip():
        sections.append(Section("", 0, 0, marks[0][0] if marks else len(text)))
    if has_title is None:
        has_title = sum(mark[2] == marks[0][2] for mark in marks) == 1
    open_headings: list[tuple[int, str]] = []
    for index, (start, body_start, level, heading) in enumerate(marks):
        end = marks[index + 1][0] if index + 1 < len(marks) else len(text)
        while open_headings and open_headings[-1][0] >= level:
            open_headings.pop()
        open_headings.append((level, heading))
        deeper = index + 1 < len(marks) and marks[index + 1][2] > level
        has_text = bool(text[body_start:end].strip())
        if not has_text and not deeper:
            body_start = start  # no text and no deeper heading below it: the heading line itself is the body
        if has_text or not deeper:
            # The document's title, alone on the outermost level, would be repeated in every path: leave it out.
            path = [name for _, name in open_headings]
            if len(path) > 1 and has_title:
                path = path[1:]
            sections.append(Section(" > ".join(path), start, body_start, end))
    return sections


def heading_text(line: str) -> str:
    """Return the words of a heading's line, without the marks of Markdown."""
    text = line.strip().lstrip("#").strip().rstrip("#").strip()
    while not _MARKS.isdisjoint(text) and (plain := _EMPHASIS.sub(r"\2", text)) != text:
        text = plain
    return text


def _heading(stripped: str, previous_blank: bool, next_blank: bool) -> tuple[int, str] | None:
    """Return (level, heading) if a line, given without the white space around it, is a heading; else None.

    Level 1 is the outermost.
    """
    if match := _MARKDOWN.match(stripped):
        return len(match.group(1)), heading_text(stripped)
    if len(stripped) > 90 or not previous_blank or not stripped or stripped[-1] in ".;,:?!":
        return None
    if _ARTICLE.match(stripped):
        return 2, stripped
    if (match := _NUMBERED.match(stripped)) and (next_blank or "." in match.group(1)) and match.group(2)[0].isupper():
        return 1 + match.group(1).count(".") + 1, stripped
    return (2, stripped) if next_blank and _looks_like_title(stripped) else None


def _looks_like_title(line: str) -> bool:
    """Return whether a line is short and in capitals, or has a capital at the start of each significant word."""
    words = re.findall(r"[^\W\d_]+", line)
    if not 1 <= len(words) <= 10 or line[0] in "-*+•|>[\"'«“":
        return False
    if line.isupper():
        return len(line) > 3
    weighty = [word for word in words if word.lower() not in _SMALL_WORDS]
    return bool(weighty) and words[0][0].isupper() and all(word[0].isupper() for word in weighty)


def _pack(text: str, section: Section, sizes: _Sizes) -> list[tuple[int, int]]:
    """Pack the section's paragraphs into overlapping slices (start, end) of at most ``sizes.limit`` characters."""
    if section.end - section.start <= sizes.target:
        body = text[section.body_start : section.end].rstrip()
        return [(section.start, section.body_start + len(body))] if body else []
    units = _units(text, section, sizes)
    unit = next(units, None)
    if unit is None:
        return []
    slices: list[tuple[int, int]] = []
    # The heading line belongs to its first chunk, so that a citation shows it.
    start = section.start if unit[1] - section.start <= sizes.limit else unit[0]
    is_first = True  # of the units that the next slice adds
    for following in chain(units, [None]):
        end = unit[1]
        length, longer = end - start, None if following is None else following[1] - start
        full = longer is None or longer > sizes.limit or length >= sizes.target
        # Add one more paragraph rather than leave a chunk below the minimum, if the limit allows it.
        complete = full and (longer is None or length >= sizes.minimum or longer > sizes.limit)
        if complete:
            slices.append((start, end))
        if following is None:
            break
        if complete:
            start = _overlap_start(text, unit, following, sizes, is_only=is_first)
        is_first, unit = complete, following
    return slices


def _overlap_start(text: str, last: tuple[int, int], following: tuple[int, int], sizes: _Sizes, is_only: bool) -> int:
    """Return the start of the next chunk: this chunk's last paragraph or sentences if they fit, else behind them.

    Args:
        is_only: whether ``last`` is all that this chunk added to the one before.
    """
    (begin, end), (next_start, next_end) = last, following
    room = min(sizes.overlap, sizes.limit - (next_end - next_start))
    if not is_only and next_start - begin <= room:
        return begin
    best, piece = next_start, text[begin:end]
    listed = any(map(begins_block, piece.split("\n")))
    for start, stop in reversed(sentences(piece)[1:]):
        if next_start - (begin + start) > room:
            break
        # The end of a row says nothing without its beginning.
        if not listed or begins_block(piece[start:stop].partition("\n")[0]):
            best = begin + start
    return best


def _units(text: str, section: Section, sizes: _Sizes) -> Iterator[tuple[int, int]]:
    """Yield the section's paragraphs; long ones split into sentences, long sentences split between words."""
    is_first = True
    for left, right in paragraphs(text[section.body_start : section.end]):
        para_start, para_end = section.body_start + left, section.body_start + right
        # The first one shares its chunk with the heading.
        if para_end - (section.start if is_first else para_start) <= sizes.limit:
            is_first = False
            yield para_start, para_end
            continue
        for left, right in blocks(text[para_start:para_end]):
            is_first = False
            yield from _pieces(text, para_start + left, para_start + right, sizes.limit)


def _pieces(text: str, start: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
    """Yield a block, or the sentences of a long one; sentences that are too long are split between words."""
    if end - start <= limit // 2:
        yield start, end
        return
    # A piece includes the white space behind it, so that the pieces of a block join to the exact source.
    for (begin, stop), (following, _) in pairwise(chain(_short_sentences(text, start, end, limit), [(end, end)])):
        yield begin, following if following - begin <= limit else stop


def _short_sentences(text: str, start: int, end: int, limit: int) -> Iterator[tuple[int, int]]:
    for left, right in each_sentence(text[start:end]):
        if right - left <= limit:
            yield start + left, start + right
        else:
            yield from _word_pieces(text, start + left, start + right, limit)


def _word_pieces(text: str, start: int, end: int, limit: int) -> list[tuple[int, int]]:
    pieces = []
    while end - start > limit:
        cut = max(text.rfind(mark, start + 1, start + limit) for mark in ("\n", " ", "\t"))
        if cut <= start:
            following = [at for mark in ("\n", " ", "\t") if (at := text.find(mark, start + 1, end)) > 0]
            if not following:
                break
            cut = min(following)
        pieces.append((start, cut))
        start = cut + 1
        while start < end and text[start].isspace():
            start += 1
    if start < end:
        pieces.append((start, end))
    return pieces
