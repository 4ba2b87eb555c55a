"""Tokenise the paragraphs of a knowledge base once. All of its indexes are made from the resulting numbers."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, rows_of
from chatbot_mvp.retrieval.kb.passages import Passage
from chatbot_mvp.text import Analyzer, fold


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
