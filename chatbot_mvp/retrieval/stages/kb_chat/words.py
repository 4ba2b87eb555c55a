"""The words of whole chunks, as the KB chat counts them, over the chunks of a knowledge base or a corpus' passages.

Of a knowledge base, headings, frequent terms and co-occurring terms are those of its ``KbIndex``. A corpus of whole
passages has none, so each passage is taken as a chunk under its title, and the same is derived from these.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Doubles, Ints, entries, offsets, rows_of
from chatbot_mvp.retrieval.bm25 import length_norm
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.kb.frequent import frequent_terms, neighbouring_terms
from chatbot_mvp.retrieval.kb.vocabulary import words_of
from chatbot_mvp.retrieval.postings import PairPostings, Postings
from chatbot_mvp.retrieval.splicing import GONE, Rows
from chatbot_mvp.text import fold

K1 = 1.5
_FREQUENT_WORDS, _FREQUENT_PHRASES = 140, 60
_LEAST_LETTERS = 3
_WORD = re.compile(r"[^\W_]+")
_LABEL = re.compile(
    r"^(?:art[íi]culo|article|cap[íi]tulo|chapter|secci[óo]n|section)\s+[\dIVXLC][\w.-]*[\s.:)–-]*|^\d{1,3}(?:\.\d+)*[.):]?\s+",
    re.I,
)

_MOST_UNUSED = 0.3
"""Share (0-1) of words that no chunk has any more, from which all are read again: they take memory."""


class ChatWords:
    """What the stages of the KB chat look up. Arrays have the shape (chunks,) unless they say otherwise.

    Use ``index.derived(ChatWords)``, so that the chunks are read once.
    """

    def __init__(self, index: CorpusIndex) -> None:
        analyzer, kb = index.analyzer, index.kb
        self.analyzer = analyzer
        self._chunks, self._whole = index.chunks, kb is None
        self.files = kb.files if kb is not None else None
        """The files of a knowledge base, if it is known which they are."""
        earlier, rows = self._earlier(index)
        self.read: FlatWords = FlatWords(
            (analyzer.content_words(self.text(row)) for row in np.flatnonzero(rows.origin == GONE).tolist()),
            rows.origin,
            earlier.read if earlier is not None else None,
            index.otherwise,
        )
        read = self.read
        self.lengths = read.lengths
        """Terms of each chunk."""
        self.spoken: dict[str, str] = {}
        """Term -> its first word, as written."""
        written: dict[str, str] = {}
        term_of: dict[str, str] = {}
        names = list(read.terms)
        for word, folded, number in read.by_occurrence():
            written.setdefault(folded, word)
            term_of.setdefault(folded, names[number])
            self.spoken.setdefault(names[number], word)
        heading_rows: dict[str, int] = {}
        heading_of = array("i")
        for chunk in index.chunks:
            own = chunk.section if kb is None else chunk.section.rpartition(" > ")[2]
            heading_of.append(heading_rows.setdefault(own, len(heading_rows)))
        codes, row_of, numbers, count = read.term_of[read.tokens], rows_of(self.lengths), read.terms, len(self.lengths)
        if earlier is None:
            self.terms = Postings(numbers, codes, row_of, count, counted=True)
            self.pairs = PairPostings(numbers, codes, row_of, count)
        else:
            fresh = rows.fresh[row_of]
            change = numbers, rows.placed, codes[fresh], row_of[fresh], count
            self.terms, self.pairs = earlier.terms.changed(*change), earlier.pairs.changed(*change)
        if kb is None:
            titles = list({plain(chunk.section): chunk.section for chunk in index.chunks if chunk.section}.values())
            vocab_terms = frequent_terms(names, codes, row_of)
            self.cooc_map: Mapping[str, tuple[str, ...]] = neighbouring_terms(names, codes, row_of)
        else:
            titles = list(kb.section_titles_normalized.values())
            vocab_terms, self.cooc_map = dict(kb.vocab_terms), kb.cooc_map
        """Term -> terms that co-occur with it, strongest association first."""
        self.titles = titles
        """Distinct headings that a question is expanded with, as written, in the order of the text."""
        self.titles_plain = [plain(title) for title in titles]
        of_titles = [words_of(title, analyzer) if kb is None else kb.words_of_title(title) for title in titles]
        self.title_terms = Postings.of([term for _, _, term in found] for found in of_titles)
        """The rows of ``titles`` that have each term."""
        self.title_words = {folded: word for found in of_titles for word, folded, _ in found}
        """Word of a heading without case and accents -> the word as written."""
        self.headings_plain = [plain(heading) for heading in heading_rows]
        """Distinct headings of the chunks themselves (the last part of a path), as ``plain`` gives them."""
        self.heading_of = np.array(heading_of, np.int32)
        """For each chunk, the row of its heading in ``headings_plain``."""
        of_headings = [words_of(one, analyzer) if kb is None else kb.words_of_title(one) for one in heading_rows]
        self.heading_terms = Postings.of([term for _, _, term in found] for found in of_headings)
        """The rows of ``headings_plain`` that have each term."""
        frequent = set([name for name in vocab_terms if " " not in name][:_FREQUENT_WORDS])
        self.frequent_words = {folded: written[folded] for folded, term in term_of.items() if term in frequent}
        """Word without case and accents -> the word as written, for the words of the 140 most frequent terms."""
        said = {term for term, word in self.spoken.items() if len(word) >= _LEAST_LETTERS and not word.isdigit()}
        phrases = [name for name in vocab_terms if " " in name and said.issuperset(name.split(" "))]
        self.frequent_phrases = phrases[:_FREQUENT_PHRASES]
        """The 60 most frequent bigrams and trigrams, as terms separated by spaces, most frequent first. Each word has
        three letters at least: a number beside a word says nothing about another question."""

    @staticmethod
    def _earlier(index: CorpusIndex) -> tuple[ChatWords | None, Rows]:
        """Return what was made of another version, and which chunks of the index are chunks of it and read alike."""
        earlier, files = index.derived_before(ChatWords), index.kb and index.kb.files
        if earlier and earlier.files and files and not earlier.read.is_worn:
            return earlier, files.chunk_rows(earlier.files).without(earlier.terms.rows_of_any(index.otherwise))
        return None, Rows(np.full(len(index.chunks), GONE, np.int64), np.zeros(0, np.int32))

    def bm25(self, counts: Mapping[str, int]) -> Doubles:
        """Return each chunk's BM25 score (k1 = 1.5, b = 0.75) for a question.

        score = sum over terms of count x idf x tf x (k1 + 1) / (tf + k1 x (1 - b + b x length / mean length)), with
        idf = ln(1 + (N - n + 0.5) / (n + 0.5)) for n of the N chunks.

        Args:
            counts: term -> occurrences in the expanded question.
        """
        mean = max(1e-9, float(self.lengths.mean())) if len(self.lengths) else 1.0
        return self.terms.bm25(counts, length_norm(self.lengths, mean, K1), K1)

    def phrase_counts(self, words: Sequence[tuple[str, str]]) -> Doubles:
        """Return how many of a question's distinct bigrams and trigrams stand literally in each chunk.

        Args:
            words: (word as written, its term) of the question's content words, in order.
        """
        counts = np.zeros(len(self.lengths))
        grams = {
            tuple(plain(word) for word, _ in words[at : at + size]): [term for _, term in words[at : at + size]]
            for size in (3, 2)
            for at in range(len(words) - size + 1)
        }
        read: dict[int, str] = {}
        for gram, terms in grams.items():
            # Few chunks have these terms side by side, so the text of few has to be compared.
            rows = set.intersection(*(set(self.pairs.rows(pair).tolist()) for pair in pairwise(terms)))
            for row in rows:
                if row not in read:
                    read[row] = f" {plain(self.text(row))} "
                counts[row] += f" {' '.join(gram)} " in read[row]
        return counts

    def text(self, row: int) -> str:
        """Return the text whose words are counted for a chunk."""
        # A chunk of a knowledge base begins with its heading's line; a passage has its title apart.
        chunk = self._chunks[row]
        return chunk.index_text if self._whole else chunk.text


def plain(text: str) -> str:
    """Return the words of ``text`` without case, accents and punctuation, separated by single spaces."""
    return " ".join(_WORD.findall(fold(text)))


def without_label(heading: str) -> str:
    """Return a heading without its number ("Artículo 5. Vacaciones" is "Vacaciones"), or as it is if that is all."""
    return _LABEL.sub("", heading).strip() or heading


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
