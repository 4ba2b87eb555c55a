"""Holds back a streamed answer until the passages support one of its sentences."""

from __future__ import annotations

import re
from collections.abc import Callable

_SENTENCE_END = re.compile(r"[.!?…\n](?:[\"'»”)]*(?:\s*\[\d{1,2}\])*)*\s+(?=[^\s\[])")
"""The end of a sentence with its citations, followed by the beginning of the next one."""


class Holding:
    """Collects the pieces of an answer, and lets them pass from its first supported sentence on."""

    def __init__(self, supports: Callable[[str], bool]) -> None:
        """``supports`` returns whether the passages support at least one sentence of a text."""
        self._supports = supports
        self._held = ""
        self._checked = 0
        self._open = False

    def add(self, piece: str) -> str:
        """Return what may be shown now: "" while no sentence is supported, then all that was held, then each piece."""
        if self._open:
            return piece
        self._held += piece
        ends = [match.end() for match in _SENTENCE_END.finditer(self._held, self._checked)]
        if ends:
            self._open = self._supports(self._held[self._checked : ends[-1]])
            self._checked = ends[-1]
        return self._held if self._open else ""
