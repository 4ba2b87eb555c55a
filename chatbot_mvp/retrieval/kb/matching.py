"""Match the paragraphs of a knowledge base with a question, by terms, sentence windows and letters.

The paragraphs are tokenised once; all of their indexes are made from the resulting numbers.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain, pairwise

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Doubles, Ints, distinct, entries, offsets, rows_of
from chatbot_mvp.retrieval.bm25 import length_norm
from chatbot_mvp.retrieval.kb.passages import WINDOW_SENTENCES, Passage
from chatbot_mvp.retrieval.postings import PairPostings, Postings
from chatbot_mvp.text import Analyzer, fold

GRAM = 4
_BLOCK = 4_096  # windows whose letters are indexed at a time, which bounds the memory of the build


class PassageWords:
    """The content words (words that are not stop words) of paragraphs, headings, contexts and questions, as numbers.

    A *form* is a word as written. Forms are numbered in the order of their first occurrence: first those of the
    paragraphs, then those of the headings, then those of the contexts and questions.
    """

    def __init__(self, passages: Sequence[Passage], analyzer: Analyzer) -> None:
        self._analyzer = analyzer
        self.forms: dict[str, int] = {}
        """Form -> its number."""
        self.terms: dict[str, int] = {}
        """Term -> its number."""
        self._term_of = array("i")
        tokens, lengths = array("i"), array("i")
        self.spans = array("q")
        """Start and end in its paragraph's text of each sentence, one after the other."""
        sentences = array("i")
        for passage in passages:
            spans = passage.sentences
            sentences.append(len(spans))
            for start, end in spans:
                lengths.append(self._read(passage.text[start:end], tokens))
                self.spans.extend((start, end))
        self.tokens = _numbers(tokens)
        """Form of each content word of the paragraphs, in order."""
        self.sentence_passage = rows_of(_numbers(sentences))
        """Row of each sentence's paragraph, shape (sentences,)."""
        self.token_sentence = rows_of(_numbers(lengths))
        """Sentence of each entry of ``tokens``, counted from 0 over the whole knowledge base."""
        self.sections, self.section_of = _distinct(passage.section for passage in passages)
        """The distinct headings in order, and the number of each paragraph's heading."""
        self.section_forms = [self._forms(section) for section in self.sections]
        self.text_forms = len(self.forms)
        """Number of forms of paragraphs and headings; forms from here on occur in contexts and questions only."""
        contexts, self._context_of = _distinct(passage.context for passage in passages)
        self._context_forms = [self._forms(context) for context in contexts]
        questions, self._questions_of = _distinct(passage.questions for passage in passages)
        self._question_forms = [self._forms(asked) for asked in questions]
        self.has_questions = any(questions)
        self.term_of = _numbers(self._term_of)
        """For each form, the number of its term."""

    def units(self, with_questions: bool = False) -> tuple[Array, Array]:
        """Return (forms, lengths): heading, context, questions if wanted, and text of each paragraph; their number."""
        counts = np.bincount(self.sentence_passage[self.token_sentence], minlength=len(self.section_of))
        forms, lengths, at = array("i"), array("i"), 0
        for row, count in enumerate(counts.tolist()):
            begin = len(forms)
            forms.extend(self.section_forms[self.section_of[row]])
            forms.extend(self._context_forms[self._context_of[row]])
            if with_questions:
                forms.extend(self._question_forms[self._questions_of[row]])
            forms.frombytes(self.tokens[at : at + count].tobytes())
            lengths.append(len(forms) - begin)
            at += count
        return _numbers(forms), _numbers(lengths)

    def form_by_word(self) -> dict[str, str]:
        """Return word without case and accents -> its last form, for paragraphs and headings."""
        flat = np.concatenate((self.tokens, _numbers(array("i", chain.from_iterable(self.section_forms)))))
        last = np.zeros(len(self.forms), np.int64)
        last[flat] = np.arange(len(flat))
        names, latest = list(self.forms), dict[str, int]()
        for (form, number), _ in zip(self.forms.items(), range(self.text_forms), strict=False):
            known = latest.setdefault(fold(form), number)
            if last[number] > last[known]:
                latest[fold(form)] = number
        return {word: names[number] for word, number in latest.items()}

    def term_of_form(self) -> dict[str, str]:
        """Return form -> its term, for all forms."""
        names = list(self.terms)
        return {form: names[self.term_of[number]] for form, number in self.forms.items()}

    def _read(self, text: str, tokens: array[int]) -> int:
        """Append the forms of a text to ``tokens`` and return their number."""
        known = self.forms
        found = self._analyzer.content_words(text)
        for form, term in found:
            number = known.get(form)
            if number is None:
                number = known[form] = len(known)
                self._term_of.append(self.terms.setdefault(term, len(self.terms)))
            tokens.append(number)
        return len(found)

    def _forms(self, text: str) -> array[int]:
        forms = array("i")
        self._read(text, forms)
        return forms


def _numbers(values: array[int]) -> Array:
    return np.frombuffer(values, np.int32) if values else np.zeros(0, np.int32)


def _distinct(texts: Iterable[str]) -> tuple[list[str], list[int]]:
    numbers: dict[str, int] = {}
    rows = [numbers.setdefault(text, len(numbers)) for text in texts]
    return list(numbers), rows


class PassageMatcher:
    """Scores every paragraph for a question. All methods return arrays of shape (paragraphs,)."""

    def __init__(self, passages: Sequence[Passage], analyzer: Analyzer, words: PassageWords | None = None) -> None:
        """Index ``passages``. Their words are read unless they are given."""
        self.analyzer = analyzer
        self.passages = passages
        words = words or PassageWords(passages, analyzer)
        count = len(passages)
        forms, lengths = words.units()
        rows, terms = rows_of(lengths), words.term_of[forms]
        self.terms = Postings(words.terms, terms, rows, count, counted=True)
        self.pairs = PairPostings(words.terms, terms, rows, count)
        self._norm = _norm(lengths)
        self.searched, self._searched_norm = self.terms, self._norm
        """The terms by which a search finds a paragraph: its own, and those of the questions that it answers."""
        if words.has_questions:
            forms, lengths = words.units(with_questions=True)
            self.searched = Postings(words.terms, words.term_of[forms], rows_of(lengths), count, counted=True)
            self._searched_norm = _norm(lengths)
        self.section_of = np.array(words.section_of, dtype=np.int32)
        """Number of each paragraph's heading; paragraphs with equal headings share it."""
        # Each sentence begins one window, so windows and sentences have the same rows.
        self.window_passage = words.sentence_passage.astype(int)
        """Row of each window's paragraph, shape (windows,)."""
        self._language: Array | None = None  # number of each paragraph's language
        if len(analyzer.languages) > 1:
            spoken = [analyzer.languages.index(analyzer.language_of(passage.text)) for passage in passages]
            self._language = np.array(spoken, dtype=np.int64)
        self.first_window = np.searchsorted(self.window_passage, np.arange(count))
        self._spans = words.spans
        token_window, tokens = self._windows(words)
        windows = len(self.window_passage)
        self.window_terms = Postings(words.terms, words.term_of[tokens], token_window, windows)
        self._index_headings(words)
        self._index_letters(words, tokens, token_window)

    def _windows(self, words: PassageWords) -> tuple[Array, Array]:
        """Return (window, form) of each content word of each window, ordered by window."""
        first = self.first_window[self.window_passage][words.token_sentence]
        found = []
        for before in range(WINDOW_SENTENCES):
            window = words.token_sentence - before
            inside = window >= first
            found.append((window[inside], words.tokens[inside]))
        rows, forms = (np.concatenate(parts) for parts in zip(*found, strict=True))
        order = np.argsort(rows, kind="stable")
        return rows[order], forms[order]

    def _index_headings(self, words: PassageWords) -> None:
        lengths = np.array([len(forms) for forms in words.section_forms], dtype=np.int64)
        flat = np.array([form for forms in words.section_forms for form in forms], dtype=np.int32)
        self._heading_terms = Postings(words.terms, words.term_of[flat], rows_of(lengths), len(lengths))

    def _index_letters(self, words: PassageWords, tokens: Array, token_window: Array) -> None:
        numbers: dict[str, int] = {}
        # The contexts are not matched by letters, so their forms are left out.
        of_forms = [
            [numbers.setdefault(gram, len(numbers)) for gram in dict.fromkeys(_word_grams(form))]
            for form, _ in zip(words.forms, range(words.text_forms), strict=False)
        ]
        gram_start, grams = _flat(of_forms)
        heading_start, headings = _flat([[*dict.fromkeys(forms)] for forms in words.section_forms])
        window_section = self.section_of[self.window_passage]
        windows = len(self.window_passage)
        blocks = []
        for begin in range(0, windows, _BLOCK):
            end = min(begin + _BLOCK, windows)
            low, high = np.searchsorted(token_window, (begin, end))
            owner, at = entries(heading_start, window_section[begin:end])
            row = np.concatenate((token_window[low:high].astype(np.int64), begin + owner))
            form = np.concatenate((tokens[low:high], headings.take(at)))
            pairs, _ = distinct(row * max(1, len(words.forms)) + form)
            row, form = np.divmod(pairs, max(1, len(words.forms)))
            owner, at = entries(gram_start, form)
            blocks.append(distinct(grams.take(at) * np.int64(windows) + row.take(owner))[0])
        keys = np.concatenate(blocks) if blocks else np.zeros(0, np.int64)
        gram, row = np.divmod(keys, max(1, windows))
        self.grams = Postings(numbers, gram, row, windows)

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
        start, end = self._spans[2 * row : 2 * row + 2]
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


def _flat(lists: Sequence[Sequence[int]]) -> tuple[Ints, Ints]:
    """Return lists of different lengths as (offset of each, and the total; their items in one array)."""
    start = offsets(np.array([len(items) for items in lists], np.int64))
    return start, np.fromiter((item for items in lists for item in items), np.int64, int(start[-1]))
