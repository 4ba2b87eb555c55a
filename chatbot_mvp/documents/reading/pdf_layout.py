"""Compose text from the lines of a PDF: remove running heads, mark headings, join lines to paragraphs.

The text contains no page marks, so that a sentence across two pages stays whole. Page starts are returned as offsets,
from which citations get their page numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from chatbot_mvp.documents.reading.extracted import Extracted
from chatbot_mvp.documents.reading.pdf_whole import Table
from chatbot_mvp.text import fold

_RUNNING_SHARE = 0.4
"""A line is a running head if it occurs at one height on this share of the pages (numbers may differ)."""
_RUNNING_PAGES = 3
"""Minimum number of pages with a running head."""
_EDGE = 3
"""Number of lines at the top, and at the bottom, that can be running heads."""
_HEADING_SCALE = 1.12
"""Minimum font size of a heading, relative to the body text."""
_MAX_HEADING = 120
"""Maximum length of a heading in characters."""
_COMPARED = 500
"""Characters of a line that are compared with other lines and with titles."""
_PROSE = 40
"""Lines with more characters belong to paragraphs."""
_MAX_LEVELS = 4
_NEAR = 2.5
"""Distance of a row to the table above it, in font sizes."""
_GAP = 1.35
"""A paragraph begins where the distance to the line above exceeds the usual one by this factor."""
_FULL = 0.7
"""A line of at least this share of the usual length continues in the next line."""

_BULLET = re.compile(r"^(?:[•▪◦‣●○■□–—*·\uf0b7\uf0a7\uf0d8\uf0fc-]\s+(?=\S)|(?=\[[x ]\] \S))")
_LABELLED = re.compile(r"[^\W\d][^:.]{0,40}: \S")
"""Of a form: what stands in it, behind what it is."""
_PAGE_NUMBER = re.compile(r"^[-–— ]*(?:\d{1,4}|[ivxlc]{1,7})(?:\s*(?:/|de|of)\s*\d{1,4})?[-–— ]*$")
_NO_TITLE = re.compile(r"[<>{}=;|\\]|://|www\.|\.(?:com|org|es)\b|\S@\S")
"""What stands in code and addresses, which are large or bold as well."""
_HYPHEN = re.compile(r"\w\w[-–]$")
_NEXT = re.compile(r"(?:[yeou]|and|or|und|et)\b|\W")
"""What goes on with another word, so that a hyphen before it stays apart: "pre- y postventa"."""
_ITEM = re.compile(r"^(?:- |\(?\d{1,3}[.)]\s|\(?[a-z][.)]\s)")


@dataclass(frozen=True)
class Line:
    """One line of a page."""

    text: str
    size: float
    """Font size of most of its letters, in points. For a table, whose text are its rows, it is below zero."""
    bold: bool
    y: float
    """Vertical position in points. Only differences are used."""
    table: Table | None = None
    """What it is the text of, or what it may be a row of."""


@dataclass(frozen=True)
class OutlineEntry:
    title: str
    page: int
    """Page index from 0."""
    level: int
    """Heading level from 1."""


def compose(pages: Sequence[Sequence[Line]], outline: Sequence[OutlineEntry]) -> Extracted:
    """Join the lines of all pages to paragraphs and Markdown headings. The text is empty if no page has any."""
    pages = _with_whole_tables(_without_running_heads(pages))
    levels = _heading_levels(pages, outline)
    usual = _usual_length(pages)
    parts: list[str] = []
    starts: list[int] = []
    length = 0
    last: Line | None = None
    last_level = 0
    listed = False  # whether the last line is of an item of a list
    for number, page in enumerate(pages):
        gap = _usual_gap(page)
        first = True
        for row, line in enumerate(page):
            level = levels.get((number, row), 0)
            text = _BULLET.sub("- ", line.text) if line.size > 0 else line.text
            if last is None:
                joint = ""
            elif min(line.size, last.size) <= 0:
                goes_on = last.table and line.table and last.table.names is line.table.names
                joint = "\n" if goes_on else "\n\n"  # a table
            elif level and level == last_level and not first and abs(line.y - last.y) < 1.8 * line.size:
                joint, text = " ", line.text  # a heading over two lines
            elif level or last_level:
                joint = "\n\n"
            elif first:
                joint = " " if _goes_on(last.text, text) else "\n\n"
            else:
                joint = _joint(last, line, text, gap, usual, listed)
            listed = bool(_ITEM.match(text)) or (listed and joint == " ")
            if level and joint != " ":
                text = f"{'#' * level} {line.text}"
            if joint == " " and not level and _HYPHEN.search(parts[-1]) and not _NEXT.match(text):
                joint = ""
                if parts[-1][-2:-1].islower() and parts[-1][-1] == "-" and text[0].islower():  # a word in two lines
                    parts[-1] = parts[-1][:-1]
                    length -= 1
            if first:
                starts.extend([length + len(joint)] * (number + 1 - len(starts)))
            parts.append(joint + text)
            length += len(parts[-1])
            last, last_level, first = line, level, False
    starts.extend([length] * (len(pages) - len(starts)))
    return Extracted("".join(parts), tuple(starts), sum(not page for page in pages))


def _without_running_heads(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Remove page numbers, and lines at the top or bottom that recur at the same height (numbers may differ).

    What says the same on all pages stays once, so that nothing is lost: at the top of the first page that has it, or at
    the bottom of the last one, where it breaks no sentence.
    """

    keys = [{line: _key(line) for line in page} for page in pages]
    seen = Counter(its for page in keys for its in {*page.values()})
    first = {its: number for number, page in reversed([*enumerate(keys)]) for its in page.values()}
    last = {its: number for number, page in enumerate(keys) for its in page.values()}
    often = max(_RUNNING_PAGES, _RUNNING_SHARE * sum(bool(page) for page in pages))
    kept: list[list[Line]] = []
    for number, page in enumerate(pages):
        heights = sorted({line.y for line in page})
        bottom, top = heights[:_EDGE], heights[-_EDGE:]
        running: dict[Line, bool] = {}
        for line, its in keys[number].items():
            # The outermost line may change with each chapter, so fewer repetitions suffice. A lone number there is
            # the page number.
            outermost = line.y in (heights[0], heights[-1])
            again = seen[its] >= (_RUNNING_PAGES if outermost else often)
            if line.size > 0 and line.y in bottom + top and (again or (outermost and _PAGE_NUMBER.match(line.text))):
                running[line] = "#" not in its[0] and number == (first if line.y in top else last)[its]  # it stays
        # If all lines of a page recur, as on forms, running heads cannot be told from text: keep the page.
        whole = len(page) > _EDGE and all(line in running for line in page)
        kept.append([line for line in page if whole or running.get(line, True)])
    return kept


def _key(line: Line) -> tuple[str, int]:
    """Return what a running head has on all pages."""
    return re.sub(r"\d+|\b[ivxlc]+\b", "#", fold(line.text[:_COMPARED])), round(line.y / 3)


def _with_whole_tables(pages: Sequence[Sequence[Line]]) -> list[list[Line]]:
    """Give the rest of a table, below it or on the next page, the names of its columns."""
    out: list[list[Line]] = []
    before: Table | None = None
    keys = [{_key(line) for line in page if line.size > 0} for page in ([], *pages, [])]
    for page, others in zip(pages, zip(keys, keys[2:], strict=False), strict=True):
        around = set.union(*others)
        begins = True  # whether nothing stands above but what runs through both pages
        out.append([])
        for line, above in zip(page, [None, *page], strict=False):
            table = line.table
            near = begins or line.size <= 0 or (above and abs(above.y - line.y) < _NEAR * line.size)
            if table and before and near and (rest := table.going_on(before)):
                table, line = rest, replace(line, text=rest.text, size=-abs(line.size), table=rest)
            names = out[-1][-1].table if out[-1] else None
            if table and line.size <= 0 and names and (whole := table.below(names)):
                table, line = whole, replace(line, text=whole.text, table=whole)
                del out[-1][-1]
            runs = line.size > 0 and _key(line) in around
            if line.size <= 0:
                before = table
            elif not runs:
                before = None
            begins = begins and runs
            if line.text:
                out[-1].append(line)
    return out


def _heading_levels(pages: Sequence[Sequence[Line]], outline: Sequence[OutlineEntry]) -> dict[tuple[int, int], int]:
    """Return (page, row) -> level from 1, by the outline if most of its titles are found, else by font size."""
    found: dict[tuple[int, int], int] = {}
    for entry in outline:
        if entry.page < len(pages) and (title := _plain(entry.title)):
            for row, line in enumerate(pages[entry.page]):
                if _plain(line.text) == title and (entry.page, row) not in found:
                    found[entry.page, row] = min(entry.level, 6)
                    break
    if outline and len(found) >= len(outline) / 2:
        return found
    weights: Counter[float] = Counter()
    for page in pages:
        for line in page:
            weights[round(abs(line.size) * 2) / 2] += len(line.text)
    if not weights:
        return {}
    body = weights.most_common(1)[0][0]
    large = [
        (number, row, round(line.size * 2) / 2)
        for number, page in enumerate(pages)
        for row, line in enumerate(page)
        if line.size >= _HEADING_SCALE * body and _like_a_heading(line.text)
    ]
    order = sorted({size for _, _, size in large}, reverse=True)
    levels = {size: min(rank, _MAX_LEVELS) for rank, size in enumerate(order, 1)}
    found = {(number, row): levels[size] for number, row, size in large}
    deepest = min(len(order), _MAX_LEVELS) + 1
    for number, page in enumerate(pages):
        gap = _usual_gap(page)
        for row, line in enumerate(page[:-1]):
            apart = row == 0 or abs(page[row - 1].y - line.y) > _GAP * gap
            if line.bold and apart and len(line.text) <= 80 and (number, row) not in found:
                following = page[row + 1]
                # A bold line above short lines is the head of a table, not a heading.
                if _is_lead(following) and _like_a_heading(line.text):
                    found[number, row] = deepest
    return found


def _is_lead(following: Line) -> bool:
    """Return whether what follows a bold line is prose that begins there, and not the rest of its sentence."""
    prose = following.size > 0 and not following.bold and len(following.text) > _PROSE
    return prose and not following.text[0].islower()


def _like_a_heading(text: str) -> bool:
    letters = sum(char.isalpha() for char in text)
    usual = letters >= 2 and len(text) <= _MAX_HEADING and text[-1] not in ".,;:"
    return usual and not _BULLET.match(text) and not _NO_TITLE.search(text)


def _plain(text: str) -> str:
    """Normalise a title for comparison: letters and digits only, without a leading number."""
    return re.sub(r"[\W_]+", " ", re.sub(r"^[\dIVXivx]+(?:\.\d+)*[.)]?\s+", "", fold(text[:_COMPARED]))).strip()


def _usual_gap(page: Sequence[Line]) -> float:
    """Return the lower quartile of line distances in points. On a short page the median may be between paragraphs."""
    gaps = sorted(gap for a, b in pairwise(page) if 0.8 * b.size < (gap := abs(a.y - b.y)) < 8 * b.size)
    return gaps[len(gaps) // 4] if gaps else 12.0


def _usual_length(pages: Sequence[Sequence[Line]]) -> float:
    lengths = sorted(len(line.text) for page in pages for line in page if line.size > 0)
    return lengths[int(0.8 * (len(lengths) - 1))] if lengths else 0.0


def _joint(last: Line, line: Line, text: str, gap: float, usual: float, listed: bool) -> str:
    """Return the separator between two lines of a page: a space, a line break or a blank line.

    Args:
        listed: whether the first of them is of an item of a list.
    """
    if _ITEM.match(text) and not (listed or last.text[-1] == ":") and abs(last.y - line.y) > _GAP * gap:
        return "\n\n"  # a list that is not introduced
    if _ITEM.match(text) or (_LABELLED.match(text) and _LABELLED.match(last.text)):
        return "\n"
    if abs(last.y - line.y) > _GAP * gap and not _goes_on(last.text, text):
        return "\n\n"
    if len(last.text) >= _FULL * usual or _goes_on(last.text, text):
        return " "
    return "\n\n" if last.text[-1] in ".!?:" else "\n"


def _goes_on(before: str, after: str) -> bool:
    """Return whether a sentence surely continues: it has no end mark, and the next line begins in lower case."""
    return before[-1] not in ".!?:;" and after[0].islower() and len(before) > 30
