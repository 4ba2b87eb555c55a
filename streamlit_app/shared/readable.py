"""Passages as people read them: the marks of Markdown are left out, tables are tables, and nothing else changes."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from chatbot_mvp.api import cells_of

_CODE = re.compile(r"^```.*\n(?P<fenced>[\s\S]*?)(?:^```.*\n?|\Z)|(?<!`)`(?P<inline>[^`\n]+)`(?!`)", re.M)
_ROW = re.compile(r"^[ \t]*\|.*(?<!\\)\|[ \t]*$", re.M)
_RULE = re.compile(r"[ \t]*\|[-:| \t]+\|[ \t]*")
_BAR = re.compile(r"[ \t]*(?<!\\)\|[ \t]*")
_ITEM = re.compile(r"^- .*: .*$", re.M)
_EDITS = (
    (re.compile(r"^ {0,3}#{1,6} +(?=\S)", re.M), ""),
    (re.compile(r"^([ \t]*)[-*+] +(?=\S)", re.M), r"\1• "),
    (re.compile(r"^([ \t]*)[-*+•][ \t]*\n[ \t]*(?=[^\s*+•-])", re.M), r"\1• "),  # its item is in the next line
    (re.compile(r"^[ \t]*[-*+•][ \t]*(?:\n|\Z)", re.M), ""),  # without an item
    (re.compile(r"^> ?", re.M), ""),
    (re.compile(r"!?\[(?=[^\]\n]+\]\([^)\n]*\))"), ""),
    (re.compile(r"(?<=[^\]\n])\]\([^)\n]*\)"), ""),
    (re.compile(r"\*\*(?=\S)|(?<=\S)\*\*"), ""),
    (re.compile(r"(?<!\w)__(?=\S)|(?<=\S)__(?!\w)"), ""),
    (re.compile(r"\\(?=[*_`|#\[\]\\])"), ""),
)
"""What is replaced outside code and rows of tables, by what."""


def marked_html(text: str, marks: Iterable[tuple[int, int]], first: str = "") -> str:
    """Return a text as HTML, without the marks of Markdown and with its tables as tables.

    Args:
        marks: (start, end) of what is marked: offsets in the text, in characters; they may reach beyond it.
        first: attributes of the first mark.
    """
    shown, tags = readable(text)
    spans = [(max(0, start), min(len(text), end)) for start, end in marks]
    cuts = sorted({0, len(text), *tags, *(edge for span in spans for edge in span if 0 <= edge <= len(text))})
    parts: list[str] = []
    for begin, end in zip(cuts, [*cuts[1:], len(text)], strict=True):
        said = html.escape("".join(shown[begin:end]))
        if said and any(start <= begin < stop for start, stop in spans):
            said, first = f"<mark{first}>{said}</mark>", ""
        parts += tags.get(begin, ""), said
    return "".join(parts)


def readable(text: str) -> tuple[list[str], dict[int, str]]:
    """Return what is shown for each character of a text, and where the tags of its tables stand before a character.

    One entry per character, so that offsets in the text, such as those of a citation, stay true: "" for a mark, else
    the character or what stands for it.
    """
    shown, fixed = list(text), [False] * len(text)
    tags: dict[int, str] = {}

    def put(begin: int, end: int, instead: str) -> None:
        end = min(end, len(text))
        if begin < end and not any(fixed[begin:end]):
            shown[begin:end] = [instead, *[""] * (end - begin - 1)]
            fixed[begin:end] = [True] * (end - begin)

    for code in _CODE.finditer(text):
        begin, end = code.span("fenced" if code["fenced"] is not None else "inline")
        put(code.start(), begin, "")
        put(end, code.end(), "")
        fixed[begin:end] = [True] * (end - begin)
    rows = [row for row in _ROW.finditer(text) if not fixed[text.index("|", row.start())]]
    starts = {row.start() for row in rows}
    rules = {row.start() for row in rows if _RULE.fullmatch(row[0])}  # the line below the head of a table
    for names, table in _tables(text, fixed):
        _put_table(names, table, put, tags)
    after = -1
    for row in rows:
        begin, end = row.span()
        tags[begin] = "" if begin == after else "<table>"
        after = end + 1
        if begin in rules:
            put(begin, end, "")
        else:
            cell = "th" if after in rules else "td"
            for bar in _BAR.finditer(text, begin, end):
                closed = "" if bar.start() == begin else f"</{cell}>" + "</tr>" * (bar.end() == end)
                opened = "" if bar.end() == end else "<tr>" * (bar.start() == begin) + f"<{cell}>"
                if not fixed[text.index("|", bar.start())]:  # in code
                    tags[bar.start()] = tags.get(bar.start(), "") + closed + opened
                    put(*bar.span(), "")
        put(end, after, "")
        if after not in starts:
            tags[end] = "</table>"
    for pattern, instead in _EDITS:
        for found in pattern.finditer(text):
            put(*found.span(), found.expand(instead))
    return shown, tags


_Row = tuple[int, list[tuple[str, int, int]]]
"""Where its line begins, and (name of the column, start, end) of each cell that is not empty."""


def _tables(text: str, fixed: Sequence[bool]) -> Iterator[tuple[list[str], list[_Row]]]:
    """Yield (names of the columns, rows) of the tables that readers wrote as lists: at least two rows, whose names are
    those of one of them, in its order."""
    names: list[str] = []
    rows: list[_Row] = []
    for item in _ITEM.finditer(text):
        first = item.start() + 2
        cells = [(name, first + start, first + end) for name, start, end in cells_of(item[0][2:])]
        own = [name for name, _, _ in cells]
        if fixed[item.start()] or len(set(own)) < len(own):
            own, cells = [], []
        below = bool(rows and own) and rows[-1][1][-1][2] + 1 == item.start()
        if below and (_within(own, names) or _within(names, own)):
            names = max(names, own, key=len)
            rows.append((item.start(), cells))
            continue
        if len(rows) > 1 < len(names):
            yield names, rows
        names, rows = own, [(item.start(), cells)] if cells else []
    if len(rows) > 1 < len(names):
        yield names, rows


def _within(some: Sequence[str], names: Sequence[str]) -> bool:
    """Return whether names are some of others, in their order."""
    rest = iter(names)
    return all(name in rest for name in some)


def _put_table(
    names: Sequence[str], table: Sequence[_Row], put: Callable[[int, int, str], None], tags: dict[int, str]
) -> None:
    """Put the tags of a table around its cells, and its names once above it."""
    heads = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    for row in table:
        at, cells = row
        column = 0
        tags[at] = tags.get(at, "") + (f"<table><tr>{heads}</tr>" if row is table[0] else "") + "<tr>"
        for name, start, end in cells:
            put(at, start, "")
            empty = names.index(name) - column
            tags[start] = "</td>" * (column > 0) + "<td></td>" * empty + "<td>"
            at, column = end, column + empty + 1
        put(at, at + 1, "")
        tags[at] = (
            tags.get(at, "") + "</td>" + "<td></td>" * (len(names) - column) + "</tr>" + "</table>" * (row is table[-1])
        )
