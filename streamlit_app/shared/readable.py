"""Passages as people read them: the marks of Markdown are left out, tables are tables, and nothing else changes."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable

_CODE = re.compile(r"^```.*\n(?P<fenced>[\s\S]*?)(?:^```.*\n?|\Z)|(?<!`)`(?P<inline>[^`\n]+)`(?!`)", re.M)
_ROW = re.compile(r"^[ \t]*\|.*(?<!\\)\|[ \t]*$", re.M)
_RULE = re.compile(r"[ \t]*\|[-:| \t]+\|[ \t]*")
_BAR = re.compile(r"[ \t]*(?<!\\)\|[ \t]*")
_EDITS = (
    (re.compile(r"^ {0,3}#{1,6} +(?=\S)", re.M), ""),
    (re.compile(r"^([ \t]*)[-*+] +(?=\S)", re.M), r"\1• "),
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
        put(end, min(after, len(text)), "")
        if after not in starts:
            tags[end] = "</table>"
    for pattern, instead in _EDITS:
        for found in pattern.finditer(text):
            put(*found.span(), found.expand(instead))
    return shown, tags
