"""Match the paragraphs of a knowledge base with a question, by terms, sentence windows and letters.

The paragraphs are tokenised once; all of their indexes are made from the resulting numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice, pairwise

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Doubles, Flags, Ints, distinct, entries, offsets, rows_of
from chatbot_mvp.retrieval.bm25 import length_norm
from chatbot_mvp.retrieval.kb.passage_words import PassageWords, flat_lists
from chatbot_mvp.retrieval.kb.passages import WINDOW_SENTENCES, Passage
from chatbot_mvp.retrieval.postings import PairPostings, Postings
from chatbot_mvp.retrieval.splicing import GONE, Rows
from chatbot_mvp.text import Analyzer, fold

GRAM = 4
_BLOCK = 4_096  # windows whose letters are indexed at a time, which bounds the memory of the build


class PassageMatcher:
    """Scores every paragraph for a question. All methods return arrays of shape (paragraphs,)."""

    def __init__(
        self,
        passages: Sequence[Passage],
        analyzer: Analyzer,
        words: PassageWords | None = None,
        earlier: PassageMatcher | None = None,
        rows: Rows | None = None,
    ) -> None:
        """Index ``passages``. Their words are read unless they are given.

        Args:
            earlier: the matcher of another version of the knowledge base, whose words were read before ``words``, and
                whose indexes are changed instead of built again. No paragraph of either has a context or questions.
            rows: which paragraphs are those of ``earlier``.
        """
        self.analyzer = analyzer
        self.passages = passages
        words = words or PassageWords(passages, analyzer)
        count = len(passages)
        fresh = rows.fresh if rows is not None else np.ones(count, bool)
        placed = rows.placed if rows is not None else None
        forms, lengths = words.units()
        self._norm = _norm(lengths)
        row = rows_of(lengths)
        if not fresh.all():
            row, forms = row[fresh[row]], forms[fresh[row]]
        terms = words.term_of[forms]
        if earlier is None or placed is None:
            self.terms = Postings(words.terms, terms, row, count, counted=True)
            self.pairs = PairPostings(words.terms, terms, row, count)
        else:
            self.terms = earlier.terms.changed(words.terms, placed, terms, row, count)
            self.pairs = earlier.pairs.changed(words.terms, placed, terms, row, count)
        self.searched, self._searched_norm = self.terms, self._norm
        """The terms by which a search finds a paragraph: its own, and those of the questions that it answers."""
        if words.has_questions:
            forms, lengths = words.units(with_questions=True)
            self.searched = Postings(words.terms, words.term_of[forms], rows_of(lengths), count, counted=True)
            self._searched_norm = _norm(lengths)
        self.section_of = words.section_of
        """Number of each paragraph's heading; paragraphs with equal headings share it."""
        # Each sentence begins one window, so windows and sentences have the same rows.
        self.window_passage = words.sentence_passage.astype(int)
        """Row of each window's paragraph, shape (windows,)."""
        self._language: Array | None = None  # number of each paragraph's language
        if len(analyzer.languages) > 1:
            number = {language: place for place, language in enumerate(analyzer.languages)}
            self._language = np.zeros(count, np.int64)
            new = np.ones(count, bool)
            if earlier is not None and rows is not None and earlier._language is not None:
                new = rows.origin == GONE
                self._language = earlier._language[np.maximum(rows.origin, 0)]
            for at in np.flatnonzero(new).tolist():
                self._language[at] = number[analyzer.language_of(passages[at].text)]
        self.first_window = offsets(words.sentences)[:-1]
        self._spans = words.spans
        token_window, tokens = self._windows(words, fresh)
        windows = len(self.window_passage)
        self._index_headings(words)
        self._add_grams(words, earlier)
        gram, gram_window = self._letters(words, tokens, token_window, np.flatnonzero(fresh[self.window_passage]))
        if earlier is None or rows is None:
            self.window_terms = Postings(words.terms, words.term_of[tokens], token_window, windows)
            self.grams = Postings(self._gram_numbers, gram, gram_window, windows)
        else:
            then, now = np.append(earlier.first_window, len(earlier.window_passage)), offsets(words.sentences)
            of_windows = rows.within(then, now)
            self.window_terms = earlier.window_terms.changed(
                words.terms, of_windows, words.term_of[tokens], token_window, windows
            )
            self.grams = earlier.grams.changed(self._gram_numbers, of_windows, gram, gram_window, windows)

    def _windows(self, words: PassageWords, fresh: Flags) -> tuple[Array, Array]:
        """Return (window, form) of each content word of each window of ``fresh`` paragraphs, ordered by window."""
        sentences, tokens = words.token_sentence, words.tokens
        if not fresh.all():
            chosen = fresh[self.window_passage][sentences]
            sentences, tokens = sentences[chosen], tokens[chosen]
        first = self.first_window[self.window_passage][sentences]
        found = []
        for before in range(WINDOW_SENTENCES):
            window = sentences - before
            inside = window >= first
            found.append((window[inside], tokens[inside]))
        rows, forms = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.argsort(rows, kind="stable")
        return rows[order], forms[order]

    def _index_headings(self, words: PassageWords) -> None:
        start, flat = words.section_forms
        self._heading_terms = Postings(words.terms, words.term_of[flat], rows_of(np.diff(start)), len(start) - 1)

    def _add_grams(self, words: PassageWords, earlier: PassageMatcher | None) -> None:
        """Number the letters of each form: their numbers are ``_grams_of[_gram_start[f]:_gram_start[f + 1]]``."""
        numbers: dict[str, int] = {} if earlier is None else dict(earlier._gram_numbers)
        known = 0 if earlier is None else len(earlier._gram_start) - 1
        # The contexts are not matched by letters, so their forms are left out.
        start, grams = flat_lists(
            [
                [numbers.setdefault(gram, len(numbers)) for gram in dict.fromkeys(_word_grams(form))]
                for form in islice(words.forms, known, words.text_forms)
            ]
        )
        if earlier is not None:
            start = np.concatenate((earlier._gram_start, start[1:] + earlier._gram_start[-1]))
            grams = np.concatenate((earlier._grams_of, grams))
        self._gram_numbers: dict[str, int] = numbers
        self._gram_start: Ints = start
        self._grams_of: Array = grams

    def _letters(self, words: PassageWords, tokens: Array, token_window: Array, windows: Array) -> tuple[Array, Array]:
        """Return (gram, window) of the letters of some windows; ``tokens`` are those of these windows."""
        heading_start, headings = words.section_forms
        window_section = self.section_of[self.window_passage]
        total, forms = max(1, len(self.window_passage)), max(1, len(words.forms))
        blocks = []
        for begin in range(0, len(windows), _BLOCK):
            block = windows[begin : begin + _BLOCK]
            low, high = np.searchsorted(token_window, (block[0], block[-1] + 1))
            owner, at = entries(heading_start, window_section[block])
            row = np.concatenate((token_window[low:high].astype(np.int64), block[owner]))
            form = np.concatenate((tokens[low:high], headings.take(at)))
            pairs, _ = distinct(row * forms + form)
            row, form = np.divmod(pairs, forms)
            owner, at = entries(self._gram_start, form)
            blocks.append(distinct(self._grams_of.take(at) * np.int64(total) + row.take(owner))[0])
        gram, row = np.divmod(np.concatenate(blocks) if blocks else np.zeros(0, np.int64), total)
        return gram, row

    def bm25(self, weights: Mapping[str, float], with_questions: bool = False) -> Doubles:
        """Return the sum of weight x BM25 over the terms; the words of a paragraph's questions may count as its own."""
        postings, norm = (self.searched, self._searched_norm) if with_questions else (self.terms, self._norm)
        return postings.bm25(weights, norm)

    def window_coverage(self, weights: Mapping[str, float]) -> Doubles:
        """Return the idf-weighted share (0-1) of the terms that the paragraph's best window has."""
        return self._best_window(self.window_terms, weights)

    def letters(self, text: str) -> Doubles:
        """Return the idf-weighted share (0-1) of the letter 4-grams of ``text`` that the best window has."""
        return self._best_window(self.grams, dict.fromkeys(self._grams(text), 1.0))

    def pair_share(self, terms: Sequence[str]) -> Doubles:
        """Return the share (0-1) of neighbouring term pairs that occur in the paragraph, at most one term apart."""
        pairs = list(dict.fromkeys(pairwise(terms)))
        scores = np.zeros(len(self.passages))
        for pair in pairs:
            scores[self.pairs.rows(pair)] += 1 / len(pairs)
        return scores

    def best_of_windows(self, scores: Doubles) -> Doubles:
        """Reduce scores of windows, or of sentences, to the maximum of each paragraph, shape (paragraphs,)."""
        return np.maximum.reduceat(scores, self.first_window) if len(scores) else np.zeros(len(self.passages))

    def heading_counts(self, terms: Iterable[str]) -> Doubles:
        """Return how many of the distinct terms the paragraph's heading has."""
        counts: Doubles = self._heading_terms.having(terms)[self.section_of]
        return counts

    def same_section(self, row: int) -> Array:
        """Return the other paragraphs with the same heading as the paragraph ``row``, in rising order."""
        rows = np.flatnonzero(self.section_of == self.section_of[row])
        others: Array = rows[rows != row]
        return others

    def of_language(self, scores: Doubles, window: int) -> Doubles:
        """Return the scores, of shape (windows,), of the windows in the language of one of them; all if there is one.

        The cosines of a question with texts in another language are lower, whatever they are about.
        """
        if self._language is None:
            return scores
        languages = self._language[self.window_passage]
        found: Doubles = scores[languages == languages[window]]
        return found

    def window_text(self, row: int) -> str:
        """Return a window with its heading, and with its context if it has one."""
        passage = self.passages[self.window_passage[row]]
        start, end = passage.windows[row - self.first_window[self.window_passage[row]]]
        return "\n".join(filter(None, (passage.context, passage.section, passage.text[start:end])))

    def sentence_text(self, row: int) -> str:
        """Return a sentence, which is the first one of the window of the same row."""
        start, end = self._spans[row].tolist()
        text: str = self.passages[self.window_passage[row]].text[start:end]
        return text

    def _best_window(self, postings: Postings, weights: Mapping[str, float]) -> Doubles:
        total = sum(weight * postings.idf(feature) for feature, weight in weights.items())
        scores = np.zeros(len(self.window_passage))
        for feature, weight in weights.items():
            scores[postings.rows(feature)] += weight * postings.idf(feature)
        return self.best_of_windows(scores) / total if total else np.zeros(len(self.passages))

    def _grams(self, text: str) -> list[str]:
        return [gram for word, _ in self.analyzer.content_words(text) for gram in _word_grams(word)]


def _norm(lengths: Array) -> Doubles:
    return length_norm(lengths, max(1.0, float(lengths.mean()) if len(lengths) else 1.0))


@lru_cache(maxsize=100_000)
def _word_grams(word: str) -> tuple[str, ...]:
    padded = f" {fold(word)} "
    return tuple(padded[begin : begin + GRAM] for begin in range(max(1, len(padded) - GRAM + 1)))
