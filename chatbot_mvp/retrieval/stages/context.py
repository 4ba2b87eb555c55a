"""The size of a context in distinct source characters, and its budget."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from chatbot_mvp.types import Chunk

LARGE_SOURCE_CHARS = 40_000
"""Sources with more characters than this get the larger budget."""


def context_budget(source_chars: int, usual: int, large: int) -> int:
    """Return ``large`` for sources over 40,000 characters, else ``usual`` (all in characters)."""
    return large if source_chars > LARGE_SOURCE_CHARS else usual


class ContextChars:
    """Counts the source characters of a growing context. Characters that two chunks share count once."""

    def __init__(self, chunks: Iterable[Chunk] = ()) -> None:
        self._spans: dict[str, list[tuple[int, int]]] = defaultdict(list)
        """Document id -> disjoint (start, end) of the characters already counted."""
        self.used = 0
        for chunk in chunks:
            self.add(chunk)

    def cost(self, chunk: Chunk) -> int:
        """Return the characters that ``chunk`` would add, at least 0."""
        covered = sum(max(0, min(chunk.end, end) - max(chunk.start, start)) for start, end in self._spans[chunk.doc_id])
        return chunk.end - chunk.start - covered

    def fits(self, chunk: Chunk, budget: int) -> bool:
        """Return whether ``used`` stays within a budget, in characters, if ``chunk`` is added."""
        return self.used + self.cost(chunk) <= budget

    def add(self, chunk: Chunk) -> None:
        self.used += self.cost(chunk)
        start, end = chunk.start, chunk.end
        apart = []
        for other in self._spans[chunk.doc_id]:
            if other[1] < start or other[0] > end:
                apart.append(other)
            else:
                start, end = min(start, other[0]), max(end, other[1])
        self._spans[chunk.doc_id] = [*apart, (start, end)]
