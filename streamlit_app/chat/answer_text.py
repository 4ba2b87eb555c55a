"""Makes the text of a model safe to draw as Markdown: it keeps its formatting and its code, and nothing else.

A model may repeat what a document tells it to write. So images, links, HTML, formulas, icons and diagrams are shown as
text: an image would send what its address contains to another server without a click.
"""

from __future__ import annotations

import re

from streamlit_app.shared.i18n import BREAK, Markdown

_FENCE = re.compile(r"(?P<fence>`{3,}|~{3,})[ \t]*[\w+#.-]*[ \t]*")
_LIVE = re.compile(
    r"""(?P<escaped>\\[!-/:-@\[-`{-~])
    |(?P<link>https?|www|@)
    |(?P<mark>[\[\]<&$]|:(?=[:A-Za-z+\d-]))""",
    re.VERBOSE | re.IGNORECASE,
)
_SPAN = re.compile(r"`[^`]*`")


def safe_markdown(text: str, whole: bool = True) -> Markdown:
    """Return a model's text as Markdown: with formatting, lists, tables and code, without what loads or links.

    Args:
        whole: False for a piece of a text, in which it is unknown what is code.
    """
    lines = re.sub("\r\n?", "\n", text).split("\n")
    parts: list[str] = []
    block: list[str] = []
    end = ""

    def close_block() -> None:
        # A span of code is left unchanged only where it cannot be read otherwise: in pairs on each line of its block.
        simple = whole and not any(re.search(r"``|\\`|\|", line) or line.count("`") % 2 for line in block)
        parts.extend(_line(line, simple) for line in block)
        block.clear()

    for line in lines:
        opened = _FENCE.fullmatch(line) if whole and not end else None
        if end:
            parts.append(line)
            if re.fullmatch(rf" {{0,3}}{end[0]}{{{len(end)},}}[ \t]*", line):
                end = ""
        elif opened:  # a fence in the first column is no part of a list or a quotation
            close_block()
            end = opened["fence"]
            parts.append(_without_diagram(line))
        elif line.strip():
            block.append(line)
        else:
            close_block()
            parts.append(line)
    close_block()
    return Markdown("\n".join(parts))


def _line(line: str, simple: bool) -> str:
    if not simple:
        return _escaped(line)
    parts, position = [], 0
    for span in _SPAN.finditer(line):
        parts += [_escaped(line[position : span.start()]), span[0]]
        position = span.end()
    return "".join([*parts, _escaped(line[position:])])


def _escaped(text: str) -> str:
    return _without_diagram(_LIVE.sub(_replaced, text).replace(":material/", r":material\/"))


def _without_diagram(line: str) -> str:
    """Give a block of code another language: Streamlit draws diagrams of this one, which can contain images."""
    return re.sub(r"(`{3,}|~{3,})", r"\1text ", line, count=1) if "mermaid" in line.casefold() else line


def _replaced(found: re.Match[str]) -> str:
    text = found[0]
    if found.lastgroup == "link":
        return text + BREAK
    if found.lastgroup == "escaped":
        return text + (BREAK if text in (r"\:", r"\@") else "")
    return f"\\{text}{BREAK if text == ':' else ''}"
