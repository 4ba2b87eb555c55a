"""Passages as people read them: the marks of Markdown are left out, and nothing else changes."""

from __future__ import annotations

import re

_CODE = re.compile(r"^```.*\n(?P<fenced>[\s\S]*?)(?:^```.*\n?|\Z)|(?<!`)`(?P<inline>[^`\n]+)`(?!`)", re.M)
_ROW = re.compile(r"^[ \t]*\|.*\|[ \t]*$", re.M)
_RULE = re.compile(r"[ \t]*\|[-:| \t]+\|[ \t]*")
_BAR = re.compile(r"[ \t]*\|[ \t]*")
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


def readable(text: str) -> list[str]:
    """Return what is shown for each character of a text: "" for a mark, else the character or what stands for it.

    One entry per character, so that offsets in the text, such as those of a citation, stay true.
    """
    shown, fixed = list(text), [False] * len(text)

    def put(begin: int, end: int, instead: str) -> None:
        if begin < end and not any(fixed[begin:end]):
            shown[begin:end] = [instead, *[""] * (end - begin - 1)]
            fixed[begin:end] = [True] * (end - begin)

    for code in _CODE.finditer(text):
        begin, end = code.span("fenced" if code["fenced"] is not None else "inline")
        put(code.start(), begin, "")
        put(end, code.end(), "")
        fixed[begin:end] = [True] * (end - begin)
    for row in _ROW.finditer(text):
        begin, end = row.span()
        if _RULE.fullmatch(row[0]):  # the line below the head of a table
            put(begin, min(end + 1, len(text)), "")
        for bar in _BAR.finditer(text, begin, end):
            put(*bar.span(), "" if bar.start() == begin or bar.end() == end else " · ")
    for pattern, instead in _EDITS:
        for found in pattern.finditer(text):
            put(*found.span(), found.expand(instead))
    return shown
