"""The content words of whole chunks as numbers, of which those of another version are taken again."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Ints, entries, offsets
from chatbot_mvp.retrieval.splicing import GONE
from chatbot_mvp.text import fold

_MOST_UNUSED = 0.3
"""Share (0-1) of words that no chunk has any more, from which all are read again: they take memory."""


class FlatWords:
    """The words of some texts, as written, by their numbers. Numbers of ``earlier`` stay, whether words occur or not.

    Args:
        texts: (word as written, its term) of each text that ``earlier`` does not have.
        origin: for each text, the row of the equal one of ``earlier``; GONE for none.
        otherwise: terms of ``earlier`` whose words may have other terms now. No text that is taken from it has them.
    """

    def __init__(
        self,
        texts: Iterable[list[tuple[str, str]]],
        origin: Ints,
        earlier: FlatWords | None = None,
        otherwise: Collection[str] = (),
    ) -> None:
        known: dict[str, int] = dict(earlier._words) if earlier is not None else {}
        self._words: dict[str, int] = known
        self._folded: list[str] = list(earlier._folded) if earlier is not None else []
        self.terms: dict[str, int] = dict(earlier.terms) if earlier is not None else {}
        """Term -> its number."""
        term_of = array("i", earlier.term_of.tobytes() if earlier is not None else b"")
        tokens, lengths = array("i"), array("i")
        gone = [self.terms[term] for term in otherwise if term in self.terms]
        stale: set[int] = set()
        if earlier is not None:
            # ``otherwise`` is silent about words that no text of ``earlier`` has: they may come back with another term.
            unused = np.bincount(earlier.tokens, minlength=len(earlier.term_of)) == 0
            stale.update(np.flatnonzero(unused | np.isin(earlier.term_of, gone)).tolist())
        for text in texts:
            for word, term in text:
                number = known.get(word)
                if number is None:
                    number = known[word] = len(known)
                    self._folded.append(fold(word))
                    term_of.append(self.terms.setdefault(term, len(self.terms)))
                elif number in stale:
                    term_of[number] = self.terms.setdefault(term, len(self.terms))
                    stale.remove(number)
                tokens.append(number)
            lengths.append(len(text))
        self.term_of: Array = np.array(term_of, np.int32)
        """For each word, the number of its term."""
        self.lengths: Array = np.array(lengths, np.int32)
        """Words of each text."""
        self.tokens: Array = np.array(tokens, np.int32)
        """Word of each place of the texts, one after the other."""
        if earlier is not None:
            new = origin == GONE
            source = np.where(new, len(earlier.lengths) + np.cumsum(new) - 1, origin)
            both = np.concatenate((earlier.lengths, self.lengths))
            self.lengths = both[source]
            self.tokens = np.concatenate((earlier.tokens, self.tokens))[entries(offsets(both), source)[1]]

    @property
    def is_worn(self) -> bool:
        """Whether so many words do not occur any more that reading all texts again is better."""
        return len(np.unique(self.tokens)) < (1 - _MOST_UNUSED) * len(self._words)

    def by_occurrence(self) -> Iterator[tuple[str, str, int]]:
        """Yield (word, word without case and accents, number of its term) in the order of first occurrence."""
        first = np.full(len(self._words), -1)
        first[self.tokens[::-1]] = np.arange(len(self.tokens))[::-1]
        order = np.argsort(first, kind="stable")
        words = list(self._words)
        order = order[first[order] >= 0]
        for number, term in zip(order.tolist(), self.term_of[order].tolist(), strict=True):
            yield words[number], self._folded[number], term
