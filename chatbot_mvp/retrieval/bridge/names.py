"""The names that documents give themselves, and how they are found in texts, for millions of words at a time.

A name is a sequence of stems. Its bearers are the documents that have it as title or introduce their subject with it
in the first sentence ("Richard Milhous Nixon" in *Richard Nixon*). Stop words are the only word list used.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from chatbot_mvp.retrieval.arrays import Array, Doubles, Ints, distinct, entries, first_flags, offsets
from chatbot_mvp.retrieval.bridge.keys import Keys, find, joined, keys_of_spans
from chatbot_mvp.text import Analyzer, Word

Name = tuple[str, ...]

TITLE, LEAD = 0, 1
"""Where a document states a name: as its title, or otherwise."""
MAX_WORDS = 12
"""Longest name in words."""
_LEAD_END = re.compile(r"[(,;:]")
Flags = NDArray[np.bool_]

_KIND_STRENGTH = np.array((1.0, 0.8))
"""Strength of a mention of a title, and of another name."""
_OTHER_FORM = 0.8
"""Factor for a mention with another form of the name's words ("the Beatle")."""
_NESTED = 0.5
"""Factor for a name inside a longer name."""
_LOWER_CASE, _LOWER_CASE_USUAL = 0.6, 0.7
"""Factor for a mention in lower case; the second value if a bearer writes the name in lower case itself."""
_SIEVE_BITS = 26
"""A sieve has 2^26 places at most, and eight for each name otherwise."""
_TOGETHER = 1 << 20
"""Number of names that are put into a sieve at a time, which decides the memory that this takes."""


def without_parenthesis(title: str) -> str:
    """Return a title without the parenthesis at its end ("Turin (city)" becomes "Turin"), in linear time."""
    stripped = title.rstrip()
    if not stripped.endswith(")"):
        return title
    begin = stripped.find("(", stripped.rfind(")", 0, -1) + 1)
    return title if begin < 0 else stripped[:begin].rstrip()


def names_of(title: str, first_sentence: str, analyzer: Analyzer) -> dict[Name, tuple[int, tuple[str, ...]]]:
    """Return name -> (kind, form) of the names that a document's title and first sentence give it."""
    found: dict[Name, tuple[int, tuple[str, ...]]] = {}

    def add(words: Sequence[Word], kind: int) -> None:
        name = tuple(word.stem for word in words)
        if not name or len(name) > MAX_WORDS or not all(name) or all(word.is_stop for word in words):
            return
        if sum(map(len, name)) >= 3 and (name not in found or found[name][0] > kind):
            found[name] = (kind, tuple(word.text.lower() for word in words))

    plain = without_parenthesis(title)
    title_words = analyzer.words(plain)
    add(title_words, TITLE)
    if plain != title:
        add(analyzer.words(title), TITLE)
    if "," in plain:
        add(analyzer.words(plain.split(",")[0]), LEAD)
    lead = _lead_name(analyzer.words(_LEAD_END.split(first_sentence, maxsplit=1)[0], 9), title_words)
    if 1 < len(lead) <= 7 and {word.stem for word in title_words} & {word.stem for word in lead}:
        add(lead, LEAD)
    return found


def _lead_name(words: list[Word], title_words: list[Word]) -> list[Word]:
    """Return the capitalised words at the start of a sentence, with the small words between them."""
    while words and words[0].is_stop and not (title_words and words[0].stem == title_words[0].stem):
        words = words[1:]
    last = 0
    for position, word in enumerate(words):
        if word.text[0].isupper() or word.text[0].isdigit():
            last = position + 1
            continue
        name_goes_on = any(following.text[0].isupper() for following in words[position + 1 : position + 3])
        if position - last >= 2 or (word.is_stop and position == last and position and not name_goes_on):
            break
    return words[:last]


class Words(NamedTuple):
    """The W words of some texts. All arrays have shape (W,)."""

    stem: Keys
    """Key of the stem."""
    form: Keys
    """Key of the word in lower case."""
    plain: Flags
    """Whether a word that is no stop word begins with neither a capital letter nor a digit. False for all words of a
    text whose case carries no information, such as a question typed in lower case."""
    alone: Flags
    """Whether the word can be a name without other words: no stop word, no number, at least three letters."""
    end: Ints
    """Index behind the last word of the sentence."""


class Found(NamedTuple):
    """The names found in texts, from left to right. All arrays have shape (F,)."""

    name: Ints
    """Index of the name."""
    start: Ints
    """Index of its first word."""
    end: Ints
    """Index behind its last word."""
    fit: Doubles
    """0-1: how likely case and position make it that the words are meant as a name."""


class Names(NamedTuple):
    """K names of the documents of a corpus, with B bearers in total. A bearer is a document that has the name."""

    key: Keys
    """Shape (K,), rising: key of the name's stems."""
    start: Ints
    """Shape (K + 1,): offset of each name's bearers, and the total."""
    usual: Flags
    """Shape (K,): whether a bearer writes the name in lower case."""
    rivals: Array
    """Shape (K,): number of groups of documents that share the name. Documents with equal titles are one group."""
    row: Array
    """Shape (B,): row of the bearer, rising within a name."""
    kind: Array
    """Shape (B,): TITLE or LEAD, where the document states the name."""
    form: Keys
    """Shape (B,): key of the name's words as the document has them, in lower case."""
    head: Keys
    """Rising: key of each distinct pair of stems that a name begins with."""
    lengths: Array
    """For each entry of ``head``, a bit set of the lengths of such names in words."""

    def sieve(self) -> Flags:
        """Return a table that rules out most words before they are looked up, for ``mentions``."""
        table = np.zeros(1 << min(_SIEVE_BITS, (8 * len(self.key)).bit_length()), bool)
        for keys in (self.key, self.head):
            for begin in range(0, len(keys), _TOGETHER):
                table[_place(table, keys[begin : begin + _TOGETHER])] = True
        return table

    def mentions(self, words: Words, sieve: Flags | None = None) -> Found:
        """Find the names in texts; at each word the longest name, also inside other names."""
        name, start, length = self._candidates(words, sieve)
        end = start + length
        plain = np.concatenate(([0], words.plain.cumsum()))
        in_lower_case = plain.take(end) > plain.take(start)
        fit = np.ones(len(name))
        fit[in_lower_case] = _LOWER_CASE
        fit[in_lower_case & (length == 1)] = 0.0
        fit[in_lower_case & self.usual.take(name)] = _LOWER_CASE_USUAL
        kept = fit.nonzero()[0]
        name, start, end, fit = name.take(kept), start.take(kept), end.take(kept), fit.take(kept)
        order = np.lexsort((-end, start))
        order = order[first_flags(start.take(order))]
        name, start, end, fit = name.take(order), start.take(order), end.take(order), fit.take(order)
        inside = (end[1:] <= np.maximum.accumulate(end)[:-1]).nonzero()[0] + 1
        fit[inside] *= _NESTED
        return Found(name, start, end, fit)

    def meant(self, words: Words, found: Found) -> tuple[Ints, Ints, Doubles]:
        """Return (index in ``found``, row, strength in 0-1) of the documents that mentions may mean.

        The strength falls with the number of documents that share the name (1 / square root), for a name that is not
        a title, and for another form of the words.
        """
        owner, at = entries(self.start, found.name)
        form = keys_of_spans(words.form, found.start, found.end - found.start)
        strength = found.fit.take(owner) * _KIND_STRENGTH.take(self.kind.take(at))
        strength /= _root(self.rivals.take(found.name)).take(owner)
        strength *= np.where(self.form.take(at) == form.take(owner), 1.0, _OTHER_FORM)
        return owner, self.row.take(at).astype(np.int64), strength

    def _candidates(self, words: Words, sieve: Flags | None) -> tuple[Ints, Ints, Ints]:
        """Return (name, index of the first word, number of words) wherever a name's words follow each other."""
        single = words.alone.nonzero()[0]
        single, found = _looked_up(self.key, single, words.stem.take(single), sieve)
        names, starts, lengths = [found], [single], [np.ones(len(single), np.int64)]
        first = (np.arange(1, len(words.end) + 1) < words.end).nonzero()[0]
        key = joined(words.stem.take(first), words.stem.take(first + 1))
        first, head = _looked_up(self.head, first, key, sieve)
        bits = self.lengths.take(head)
        for length in range(2, MAX_WORDS + 1):
            fitting = ((bits >> length > 0) & (first + length <= words.end.take(first))).nonzero()[0]
            first, bits = first.take(fitting), bits.take(fitting)
            if not len(first):
                break
            asked = first.compress(bits >> length & 1)
            key = keys_of_spans(words.stem, asked, np.full(len(asked), length))
            start, found = _looked_up(self.key, asked, key, None)
            names.append(found)
            starts.append(start)
            lengths.append(np.full(len(start), length))
        return np.concatenate(names), np.concatenate(starts), np.concatenate(lengths)


def build_names(key: Keys, row: Array, kind: Array, form: Keys, usual: Flags, group: Array) -> dict[str, Array]:
    """Return the arrays of ``Names`` but for ``head`` and ``lengths``.

    Args:
        key, row, kind, form, usual: the names that each document gives itself, rows rising; a document has a name
            once.
        group: for each document, a number that documents with equal titles share.
    """
    order = key.argsort(kind="stable")
    rising = key.take(order)
    first = first_flags(rising)
    at = first.nonzero()[0]
    count = np.diff(np.append(at, len(rising)))
    rivals = np.ones(len(at), np.int32)
    shared = (count > 1).repeat(count).nonzero()[0]
    pair = (first.cumsum()[shared] - 1) * np.int64(len(group)) + group.take(row.take(order.take(shared)))
    names, groups = distinct(distinct(pair)[0] // max(1, len(group)))
    rivals[names] = groups
    return {
        "key": rising[at],
        "start": offsets(count),
        "usual": np.logical_or.reduceat(usual.take(order), at) if len(at) else np.zeros(0, bool),
        "rivals": rivals,
        "row": row.take(order),
        "kind": kind.take(order),
        "form": form.take(order),
    }


def build_heads(head: Keys, length: Array) -> dict[str, Array]:
    """Return ``head`` and ``lengths`` of ``Names``.

    Args:
        head: key of the first two stems of each name of two words or more.
        length: number of words of each of them.
    """
    order = head.argsort(kind="stable")
    rising = head.take(order)
    at = first_flags(rising).nonzero()[0]
    bits = np.left_shift(np.uint16(1), length.take(order).astype(np.uint16))
    return {
        "head": rising[at],
        "lengths": np.bitwise_or.reduceat(bits, at) if len(at) else np.zeros(0, np.uint16),
    }


def _looked_up(known: Keys, asked: Ints, key: Keys, sieve: Flags | None) -> tuple[Ints, Ints]:
    """Return those entries of ``asked`` whose keys are known, and the indices of these keys."""
    if sieve is not None:
        possible = sieve.take(_place(sieve, key)).nonzero()[0]
        asked, key = asked.take(possible), key.take(possible)
    at = find(known, key)
    found = (at >= 0).nonzero()[0]
    return asked.take(found), at.take(found)


def _place(sieve: Flags, key: Keys) -> Ints:
    """Return the place of each key in a sieve, whose length is a power of two."""
    return (key & np.uint64(len(sieve) - 1)).astype(np.int64)


def _root(values: Array) -> Doubles:
    """Return square roots as Python's power gives them, which may differ from ``numpy.sqrt`` in the last bit."""
    numbers, _ = distinct(values.copy())
    roots = np.array([number**0.5 for number in numbers.tolist()], np.float64)
    return roots.take(numbers.searchsorted(values))
