"""What every layer speaks of: a document, and a chunk of it with its place in the source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Document:
    """One source text: a passage of a corpus, or a whole uploaded file."""

    doc_id: str
    title: str
    text: str
    source: str = ""
    """Where it came from: a file name or a data set's name."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A contiguous piece of a document; ``text == document.text[start:end]`` always holds."""

    chunk_id: str
    doc_id: str
    section: str
    """Heading path ("Vacaciones > Solicitud") or the document's title."""
    text: str
    start: int
    """Offset of the first character in the source, in characters from 0."""
    end: int
    """Offset behind the last character."""

    @property
    def index_text(self) -> str:
        """What is indexed and embedded: the section's name, then the text.

        The name counts again where the text repeats it: on HotpotQA that is worth 0.03 of recall@5 to BM25.
        """
        return f"{self.section}\n{self.text}" if self.section else self.text


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a piece of work is."""

    phase: str
    done: int
    total: int
    """Units of the phase (texts, queries); 0 when unknown."""
    seconds: float = 0.0
    """Seconds since the phase began."""
    done_before: int = 0
    """Of ``done``, the units that an earlier attempt or a cache had done already."""
    failed: int = 0
    """Of ``done``, the units that failed."""
    tokens: int | None = None
    """Prompt and reply tokens of the whole run so far; None for work that asks no model."""
    cost_usd: float | None = None
    """Of the whole run so far; None where it is not known or nothing is asked."""

    @property
    def rate(self) -> float | None:
        """Units per second in this attempt, or None before there is anything to go by."""
        fresh = self.done - self.done_before
        return fresh / self.seconds if fresh > 0 and self.seconds > 0 else None

    @property
    def seconds_left(self) -> float | None:
        """Expected seconds to the end of the phase, or None when the rate is not known yet."""
        rate = self.rate
        return (self.total - self.done) / rate if rate else None


ProgressCallback = Callable[[Progress], None]
"""Called often; may raise RunStopped to end the work at a clean place."""


def ignore_progress(_: Progress) -> None:
    """The callback of callers who do not watch."""
