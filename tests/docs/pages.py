"""The blocks and commands of the pages that people read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(
    path.relative_to(ROOT).as_posix()
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    # Decisions say what was true when they were taken.
    if "decisions" not in path.parts
)
PROGRAMS = ("chatbot-mvp", "make", "python", ".venv/bin/python", "pip", "streamlit")

_FENCE = re.compile(r"^ *```(?P<language>\w*)\n(?P<text>.*?)^ *```$", re.M | re.S)
_SPAN = re.compile(r"`((?:chatbot-mvp )?(?:benchmark|kb|datasets|ragas|serve|doctor|gate|hash-password)(?: [^`]*)?)`")


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    page: str
    line: int
    """Line of its first fence, from 1."""
    language: str
    text: str

    @property
    def commands(self) -> list[str]:
        """Its lines, continued ones joined, without empty ones and comments."""
        joined = re.sub(r"\\\n\s*", "", self.text)
        return [line.strip() for line in joined.splitlines() if line.strip() and not line.lstrip().startswith("#")]


def blocks(page: str) -> Iterator[Block]:
    text = (ROOT / page).read_text("utf-8")
    for match in _FENCE.finditer(text):
        yield Block(page, text[: match.start()].count("\n") + 1, match["language"], match["text"])


def mentioned(page: str) -> list[str]:
    """Return the commands in code spans, each with the name of the program."""
    prose = _FENCE.sub("", (ROOT / page).read_text("utf-8"))
    return [f"chatbot-mvp {span.removeprefix('chatbot-mvp ')}" for span in _SPAN.findall(prose)]
