"""What became of each passage of a knowledge base: expected by a question, found, cited in the chat, or none of it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from chatbot_mvp.documents.kb_files import KbFile
from chatbot_mvp.types import Chunk

Span = tuple[int, int]
"""(start, end): offsets in the text of a version of the knowledge base."""
PassageState = Literal["missed", "cited", "expected", "found", "unseen"]
STATES: tuple[PassageState, ...] = ("missed", "cited", "expected", "found", "unseen")


@dataclass(frozen=True, slots=True)
class Uses:
    """What questions and answers say of passages. One span for each question or answer."""

    expected: Sequence[Span] = ()
    """Passages that a question of a set expects."""
    missed: Sequence[Span] = ()
    """Those of them that the search did not find for that question."""
    found: Sequence[Span] = ()
    """Passages that a search brought into the context of an answer."""
    cited: Sequence[Span] = ()
    """Passages that an answer of the chat cites."""


@dataclass(frozen=True, slots=True)
class PassageUse:
    """A passage, and the number of questions and answers that it had to do with, as in ``Uses``."""

    path: str
    """The document that it is in."""
    section: str
    start: int
    end: int
    expected: int = 0
    missed: int = 0
    found: int = 0
    cited: int = 0

    @property
    def state(self) -> PassageState:
        """missed: questions expect it, and the search found it for none of them. unseen: no search has found it."""
        if self.missed and self.missed == self.expected:
            return "missed"
        if self.cited:
            return "cited"
        return "expected" if self.expected else "found" if self.found else "unseen"


def passage_uses(chunks: Sequence[Chunk], files: Sequence[KbFile], uses: Uses) -> list[PassageUse]:
    """Count the uses of each chunk, in the order of the text. What spans a chunk by less than half does not count.

    Args:
        chunks: in the order of the text.
        files: where the documents are in the text.
    """
    starts = [file.start for file in files]
    counts = {name: _counted(chunks, getattr(uses, name)) for name in Uses.__slots__}
    return [
        PassageUse(
            files[max(0, bisect_right(starts, chunk.start) - 1)].name,
            chunk.section,
            chunk.start,
            chunk.end,
            **{name: found[place] for name, found in counts.items()},
        )
        for place, chunk in enumerate(chunks)
    ]


def moved(spans: Iterable[Span], then: Sequence[KbFile], now: Sequence[KbFile]) -> list[Span]:
    """Return where the passages of an earlier version are now; those of changed or removed documents are left out."""
    current: dict[tuple[str, ...], int] = {}
    for one in reversed(now):  # of equal documents, the first one stands for one whose path is gone
        current |= dict.fromkeys(_names(one), one.start)
    starts = [file.start for file in then]
    found = []
    for start, end in spans:
        file = then[max(0, bisect_right(starts, start) - 1)] if then else None
        at = next((current[name] for name in _names(file) if name in current), None) if file else None
        if file is not None and at is not None:
            found.append((start - file.start + at, end - file.start + at))
    return found


def _names(file: KbFile) -> tuple[tuple[str, ...], ...]:
    """Return what tells that a document is the same text: with its path, and under another one."""
    text = (file.sha256, str(file.end - file.start))
    return (file.name, *text), text


def _counted(chunks: Sequence[Chunk], spans: Iterable[Span]) -> Counter[int]:
    """Return position of a chunk -> spans that share at least half of the shorter one with it."""
    ends = [chunk.end for chunk in chunks]  # in the order of the text, as the starts are
    counts: Counter[int] = Counter()
    for start, end in spans:
        for place in range(bisect_right(ends, start), len(chunks)):
            chunk = chunks[place]
            if chunk.start >= end:
                break
            shared = min(end, chunk.end) - max(start, chunk.start)
            if 2 * shared >= min(end - start, chunk.end - chunk.start):
                counts[place] += 1
    return counts
