"""Makes texts of others inert as Markdown: what a model or a document wrote loads and links nothing where it is pasted.

A model may repeat what a document tells it to write. An image would send what its address contains to another server
without a click.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_ALIVE = re.compile(r"\\[!-/:-@\[-`{-~]|(?:\[\d{1,3}\]){1,9}+(?![(\[:])|[\[\]]|<(?=[A-Za-z/!?])|&(?=#?\w+;)")
"""Escaped characters and citations, which stay, and what begins or ends a link, an image, a tag or an entity."""
_SPAN = re.compile(r"`[^`]*`")
_DIAGRAM = re.compile(r"(`{3,}|~{3,})(?=.*mermaid)", re.IGNORECASE)


def inert(text: str) -> str:
    """Return a Markdown text with its formatting, code and citations, without images, links, HTML and diagrams.

    A block of code that does not end is ended, so that what follows the text is read as it is meant.
    """
    safe = outside_code(text, lambda part: _ALIVE.sub(lambda found: _dead(found[0]), part))
    fence, lines = _open_fence(safe), safe.split("\n")
    return "\n".join([*lines, fence] if fence else lines)


def inert_line(text: object) -> str:
    """Return a text as one line of Markdown that shows it literally, also in a cell of a table."""
    return re.sub(r"([\\|`*_\[\]<>])", r"\\\1", " ".join(str(text).split()))


def outside_code(text: str, escape: Callable[[str], str], whole: bool = True) -> str:
    """Escape a Markdown text, except for its code; no block of code is a diagram.

    Args:
        escape: escapes HTML, definitions of links and all else that could change what is code.
        whole: False for a piece of a text, in which it is unknown what is code.
    """
    lines = re.sub("\r\n?", "\n", text).split("\n")
    code: set[int] = set()
    for token in _parser().parse("\n".join(lines)) if whole else ():
        if token.type in ("fence", "code_block") and token.map:
            code.update(range(*token.map))
    parts: list[str] = []
    block: list[str] = []

    def close_block() -> None:
        # A span of code is left unchanged only where it cannot be read otherwise: in pairs on each line of its block,
        # and in each cell if that is a table.
        simple = whole and not any(
            re.search(r"``|\\`", line) or any(cell.count("`") % 2 for cell in line.split("|")) for line in block
        )
        parts.extend(_line(line, escape, simple) for line in block)
        block.clear()

    for number, line in enumerate(lines):
        if number not in code and line.strip():
            block.append(line)
        else:
            close_block()
            parts.append(_without_diagram(line))
    close_block()
    return "\n".join(parts)


def _line(line: str, escape: Callable[[str], str], simple: bool) -> str:
    parts, position = [], 0
    for span in _SPAN.finditer(line) if simple else ():
        parts += [escape(line[position : span.start()]), span[0]]
        position = span.end()
    return _without_diagram("".join([*parts, escape(line[position:])]))


def _dead(found: str) -> str:
    return found if len(found) > 1 else f"\\{found}"


def _without_diagram(line: str) -> str:
    """Give a block of code another language: some programs draw diagrams of this one, which can contain images."""
    return _DIAGRAM.sub(r"\1text ", line, count=1)


def _open_fence(text: str) -> str:
    """Return the fence that would end the last block of code of a text; "" if that has ended, or ends with the text."""
    lines = text.split("\n")
    for token in _parser().parse(text)[-1:]:
        closes = re.fullmatch(rf" {{0,3}}{re.escape(token.markup)}[`~]*[ \t]*", lines[-1]) if token.map else None
        if token.type == "fence" and token.map and token.map[1] == len(lines):
            return "" if closes and token.map[1] - token.map[0] > 1 else token.markup
    return ""


@cache
def _parser() -> MarkdownIt:
    """Return a reader of blocks. It knows neither HTML nor definitions of links: both are escaped."""
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).disable(["inline", "reference"])
