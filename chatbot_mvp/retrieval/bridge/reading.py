"""Read documents into numbers: the part of the build that works word by word in Python."""

from __future__ import annotations

from array import array
from collections import defaultdict
from itertools import count
from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Ints, offsets
from chatbot_mvp.retrieval.bridge.keys import Keys, key_of, keys_of
from chatbot_mvp.retrieval.bridge.names import Flags, Words, names_of
from chatbot_mvp.text import Analyzer, sentences
from chatbot_mvp.types import Chunk

_STOP, _UPPER, _LOWER, _PLAIN, _ALONE = 1, 2, 4, 8, 16


class Tokens(NamedTuple):
    """The T distinct words of some documents, as written, and their S distinct stems. Arrays have shape (T,)."""

    stem: Array
    """Number of the stem."""
    form: Array
    """Number of the word in lower case."""
    flags: Array
    """Bit set of properties."""
    stem_key: Keys
    """Shape (S,)."""
    form_key: Keys
    """Key of each distinct word in lower case."""

    @property
    def is_stop(self) -> Flags:
        return (self.flags & _STOP) > 0

    @property
    def is_upper(self) -> Flags:
        """Whether the word begins with a capital letter."""
        return (self.flags & _UPPER) > 0

    @property
    def is_lower(self) -> Flags:
        """Whether the word begins with a small letter."""
        return (self.flags & _LOWER) > 0

    def words(self, numbers: Array, end: Ints) -> Words:
        """Return words in the form in which names are found.

        Args:
            numbers: number of each word, shape (W,).
            end: index behind the last word of the sentence of each word, shape (W,).
        """
        flags = self.flags.take(numbers)
        stem, form = self.stem_key.take(self.stem), self.form_key.take(self.form)
        return Words(stem.take(numbers), form.take(numbers), (flags & _PLAIN) > 0, (flags & _ALONE) > 0, end)


class OwnNames(NamedTuple):
    """The names that documents give themselves. Arrays have one entry per name unless they say otherwise."""

    row: Array
    """Row of the document, counted from the first document read."""
    kind: Array
    stems: Array
    """Numbers of the stems of all names."""
    forms: Array
    """Numbers of the words in lower case, parallel to ``stems``."""
    start: Ints
    """Offset of each name in ``stems``, and the total."""


class Part(NamedTuple):
    """Some successive documents of a corpus. N documents, W words in their texts, stop words included."""

    tokens: Tokens
    proper: Flags
    """Shape (S,): whether a stem may be a proper word by its letters: at least three, the first no digit."""
    words: Array
    """Shape (W,): token of each word of the texts."""
    sentence_words: Array
    """Number of words of each sentence."""
    sentences: Array
    """Shape (N,): number of sentences, at least one."""
    title_words: Array
    """Token of each word of the titles that is no stop word."""
    title_lengths: Array
    """Shape (N,): number of such words."""
    title_key: Keys
    """Shape (N,): equal for equal titles."""
    names: OwnNames


class PartReader:
    """Collects documents until a part is large enough to be written."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self._token_of = _Token(analyzer)
        self._words = array("i")
        self._sentence_words = array("i")
        self._sentences = array("i")
        self._title_words = array("i")
        self._title_lengths = array("i")
        self._titles: list[int] = []
        self._name_row = array("i")
        self._name_kind = array("B")
        self._name_length = array("i")
        self._name_stems = array("i")
        self._name_forms = array("i")

    def __len__(self) -> int:
        """Return the number of documents read."""
        return len(self._sentences)

    @property
    def words(self) -> int:
        """Return the number of words read, those of titles left out."""
        return len(self._words)

    def read(self, chunk: Chunk) -> None:
        analyzer, token_of = self._analyzer, self._token_of
        texts = [chunk.text[start:end] for start, end in sentences(chunk.text)] or [""]
        for text in texts:
            found = [token_of[word] for word in analyzer.found(text)]
            self._words.extend(found)
            self._sentence_words.append(len(found))
        self._sentences.append(len(texts))
        title = [token for word in analyzer.found(chunk.section) if not token_of.is_stop(token := token_of[word])]
        self._title_words.extend(title)
        self._title_lengths.append(len(title))
        self._titles.append(key_of(chunk.section))
        stem_of, form_of, row = token_of.stems, token_of.forms, len(self) - 1
        for name, (kind, form) in names_of(chunk.section, texts[0], analyzer).items():
            self._name_row.append(row)
            self._name_kind.append(kind)
            self._name_length.append(len(name))
            self._name_stems.extend([stem_of[stem] for stem in name])
            self._name_forms.extend([form_of[word] for word in form])

    def part(self) -> Part:
        """Return the documents read."""
        token_of = self._token_of
        tokens = Tokens(
            np.array(token_of.stem, np.int32),
            np.array(token_of.form, np.int32),
            np.array(token_of.flags, np.uint8),
            keys_of(token_of.stems),
            keys_of(token_of.forms),
        )
        names = OwnNames(
            np.array(self._name_row, np.int32),
            np.array(self._name_kind, np.uint8),
            np.array(self._name_stems, np.int32),
            np.array(self._name_forms, np.int32),
            offsets(np.array(self._name_length, np.int64)),
        )
        return Part(
            tokens,
            np.array([len(stem) > 2 and not stem[0].isdigit() for stem in token_of.stems], bool),
            np.array(self._words, np.int32),
            np.array(self._sentence_words, np.int32),
            np.array(self._sentences, np.int32),
            np.array(self._title_words, np.int32),
            np.array(self._title_lengths, np.int32),
            np.array(self._titles, np.uint64),
            names,
        )


def _numbers() -> dict[str, int]:
    """Return a dict that numbers texts in the order of their first use."""
    return defaultdict(count().__next__)


class _Token(dict[str, int]):
    """Numbers distinct words as written; analyses each of them once."""

    def __init__(self, analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self.stems, self.forms = _numbers(), _numbers()
        self.stem, self.form, self.flags = array("i"), array("i"), array("B")

    def __missing__(self, found: str) -> int:
        word = self._analyzer.word(found)
        first, stop = word.text[:1], word.is_stop
        upper, digit = first.isupper(), first.isdigit()
        self.stem.append(self.stems[word.stem])
        self.form.append(self.forms[word.text.lower()])
        self.flags.append(
            _STOP * stop
            | _UPPER * upper
            | _LOWER * first.islower()
            | _PLAIN * (not (stop or upper or digit))
            | _ALONE * (not (stop or digit) and len(word.text) >= 3)
        )
        number = self[found] = len(self)
        return number

    def is_stop(self, token: int) -> bool:
        return bool(self.flags[token] & _STOP)
