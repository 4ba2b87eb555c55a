"""Find the known word that a misspelt word most probably means."""

from __future__ import annotations

from collections.abc import Iterable

from rapidfuzz import process
from rapidfuzz.distance import OSA

MIN_LETTERS = 4
"""Shorter words are too often alike by chance."""
_LONG_WORD = 8  # letters: words of this length are still recognisable with two wrong letters


class Spellings:
    """Known words, grouped by length, because two words that differ in few letters have similar lengths."""

    def __init__(self, words: Iterable[str]) -> None:
        self._by_length: dict[int, list[str]] = {}
        for word in dict.fromkeys(words):
            if len(word) >= MIN_LETTERS:
                self._by_length.setdefault(len(word), []).append(word)

    def nearest(self, word: str) -> str | None:
        """Return the known word most similar to ``word``, or None if none is close enough.

        The limit is one edit, or two for words of _LONG_WORD letters and more. An edit inserts, deletes or replaces a
        letter, or swaps two neighbours (optimal string alignment distance).
        """
        most = 1 if len(word) < _LONG_WORD else 2
        found: list[tuple[float, bool, str]] = []
        for length in range(len(word) - most, len(word) + most + 1):
            near = self._by_length.get(length, [])
            matches = process.extract(word, near, scorer=OSA.distance, score_cutoff=most, limit=None)
            # Typing errors seldom affect the first letter, so a word with the same one wins a tie.
            found += [(distance, other[0] != word[0], other) for other, distance, _ in matches]
        return min(found)[2] if found else None
