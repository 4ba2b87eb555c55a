"""Find the fenced blocks of code in a model's answer, and end each of them as Markdown wants it."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LINE = re.compile(r"[^\n]+\n?|\n")
_OPENS = re.compile(r"(?P<indent>[ \t]*)(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})")
_CLOSES = re.compile(r"(?P<indent>[ \t]*)(?P<fence>`{3,}|~{3,})[ \t]*(?P<cited>(?:\[\d{1,3}\][ \t.,;]*)*)$")


def with_closed_fences(text: str) -> str:
    """Return an answer in which every block of code ends at its fence.

    Models write citations behind the closing fence. Markdown takes that line for code, and all that follows, so the
    citations get a paragraph of their own. A block that the end of the reply cut off is closed.
    """
    parts: list[str] = []
    fence = ""
    for line in _LINE.findall(text):
        found = _OPENS.match(line.rstrip("\n")) if not fence else _closing(line, fence)
        if found and fence:
            cited = found["cited"]
            parts.append(f"{line[: found.start('cited')].rstrip()}\n\n{found['indent']}" if cited else line)
            parts.append(line[found.start("cited") :] if cited else "")
            fence = ""
        else:
            fence = found["fence"] if found else fence
            parts.append(line)
    whole = "".join(parts)
    return f"{whole.rstrip()}\n{fence}" if fence else whole


def code_blocks(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each fenced block of code with its fences, without the last line break."""
    return list(_spans(text))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    fence, start, position = "", 0, 0
    for line in _LINE.findall(text):
        if fence:
            found = _closing(line, fence)
            if found and not found["cited"]:
                yield start, position + len(line.rstrip("\n"))
                fence = ""
        elif found := _OPENS.match(line.rstrip("\n")):
            fence, start = found["fence"], position
        position += len(line)
    if fence:
        yield start, len(text)


def _closing(line: str, fence: str) -> re.Match[str] | None:
    """Return the match if a line closes the block, with or without citations behind its fence."""
    found = _CLOSES.match(line.rstrip("\n"))
    return found if found and found["fence"].startswith(fence) else None
