"""Terms, phrases and neighbours of terms that are frequent in a knowledge base."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Ints, distinct
from chatbot_mvp.retrieval.kb.passage_words import PassageWords

MIN_COUNT = 2
"""Occurrences from which a term or phrase counts as frequent."""
MAX_PHRASES = 5_000
COOC_WINDOW = 6
"""Terms co-occur if they are at most this many terms apart."""
COOC_KEPT = 5


class Neighbours(Mapping[str, tuple[str, ...]]):
    """The terms that co-occur with each term, as ``neighbouring_terms`` gives them, found when they are asked for.

    A question asks for a few terms. Who goes through all of them has them computed at once.
    """

    def __init__(self, words: PassageWords) -> None:
        self._words = words

    def __getitem__(self, term: str) -> tuple[str, ...]:
        if "_all" in self.__dict__:
            return self._all[term]
        if not (found := self._of(self._words.terms[term])):
            raise KeyError(term)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    @cached_property
    def _all(self) -> dict[str, tuple[str, ...]]:
        return neighbouring_terms(*sequence_of(self._words))

    @cached_property
    def _sequence(self) -> tuple[list[str], Array, Array, Ints]:
        """(Term of each number, the terms of ``sequence_of``, their paragraphs, occurrences of each term)."""
        names, terms, rows = sequence_of(self._words)
        return list(names), terms, rows, np.bincount(terms, minlength=len(names))

    def _of(self, term: int) -> tuple[str, ...]:
        names, terms, rows, alone = self._sequence
        places = np.flatnonzero(terms == term)
        near = []
        for distance in (*range(-COOC_WINDOW, 0), *range(1, COOC_WINDOW + 1)):
            at = places + distance
            inside = (at >= 0) & (at < len(terms))
            at, of = at[inside], places[inside]
            near.append(terms[at[rows[at] == rows[of]]])
        together = np.bincount(np.concatenate(near), minlength=len(names))
        together[term] = 0
        others = np.flatnonzero(together >= MIN_COUNT)
        bound = -2 * together[others] / (alone[term] + alone[others])
        ranked = sorted(zip(bound.tolist(), (names[other] for other in others.tolist()), strict=True))
        return tuple(name for _, name in ranked[:COOC_KEPT])


def sequence_of(words: PassageWords) -> tuple[Sequence[str], Array, Array]:
    """Return the arguments of ``frequent_terms`` for the paragraphs of a knowledge base."""
    return list(words.terms), words.term_of[words.tokens], words.sentence_passage[words.token_sentence]


def frequent_terms(names: Sequence[str], terms: Array, rows: Array) -> dict[str, int]:
    """Return term, bigram or trigram -> occurrences, as ``KbIndex.vocab_terms``.

    Args:
        names: term of each number.
        terms: numbers of the content words of all paragraphs, in order.
        rows: paragraph of each entry of ``terms``.
    """
    codes, phrases = terms.astype(np.int64), []
    for size in range(1, min(3, len(terms)) + 1):
        if size > 1:
            # A phrase's code is made of the number of the phrase without its last term, and of its last term.
            codes = codes[:-1] * len(names) + terms[size - 1 :]
        distinct_codes, codes = np.unique(codes, return_inverse=True)
        inside = np.flatnonzero(rows[size - 1 :] == rows[: len(rows) - size + 1])
        counts = np.bincount(codes[inside], minlength=len(distinct_codes))
        begin = np.zeros(len(distinct_codes), np.int64)
        begin[codes[inside]] = inside
        often = counts >= MIN_COUNT
        phrases.append(np.stack((counts[often], begin[often], np.full(int(often.sum()), size))))
    if not phrases:
        return {}
    count, first, length = np.concatenate(phrases, axis=1)
    if len(count) > MAX_PHRASES:
        enough = count >= np.partition(count, len(count) - MAX_PHRASES)[len(count) - MAX_PHRASES]
        count, first, length = count[enough], first[enough], length[enough]
    found = [
        (" ".join(names[term] for term in terms[at : at + size]), times)
        for times, at, size in zip(count.tolist(), first.tolist(), length.tolist(), strict=True)
    ]
    return dict(sorted(found, key=lambda item: (-item[1], item[0]))[:MAX_PHRASES])


def neighbouring_terms(names: Sequence[str], terms: Array, rows: Array) -> dict[str, tuple[str, ...]]:
    """Return the terms that co-occur with each term, as ``KbIndex.cooc_map``. Arguments as for ``frequent_terms``."""
    codes = []
    wide = terms.astype(np.int64)
    for distance in range(1, COOC_WINDOW + 1):
        one, other = wide[:-distance], wide[distance:]
        near = (rows[:-distance] == rows[distance:]) & (one != other)
        codes.append((np.minimum(one, other) * len(names) + np.maximum(one, other))[near])
    pairs, together = distinct(np.concatenate(codes))
    pairs, together = pairs[together >= MIN_COUNT], together[together >= MIN_COUNT]
    low, high = np.divmod(pairs, max(1, len(names)))
    one, other = np.concatenate((low, high)), np.concatenate((high, low))
    alone = np.bincount(terms, minlength=len(names))
    # Dice coefficient: a term that occurs near every other term is not specific to any of them.
    bound = -2 * np.concatenate((together, together)) / (alone[one] + alone[other])
    rank = np.empty(len(names), np.int64)
    rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    order = np.lexsort((rank[other], bound, one))
    found: dict[str, tuple[str, ...]] = {}
    starts = np.flatnonzero(np.diff(one[order], prepend=-1))
    for begin, end in pairwise([*starts.tolist(), len(order)]):
        chosen = order[begin : min(end, begin + COOC_KEPT)]
        found[names[one[chosen[0]]]] = tuple(names[number] for number in other[chosen])
    return found
