"""The content words (words that are not stop words) of the paragraphs of a knowledge base, as numbers."""

from __future__ import annotations

from array import array
from collections.abc import Container, Iterable, Sequence
from copy import copy
from functools import cached_property

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Ints, entries, offsets, rows_of
from chatbot_mvp.retrieval.kb.passages import Passage
from chatbot_mvp.retrieval.splicing import GONE
from chatbot_mvp.text import Analyzer, fold


class PassageWords:
    """The content words of paragraphs, headings, contexts and questions.

    A *form* is a word as written. Forms are numbered in the order of their first occurrence: first those of the
    paragraphs, then those of the headings, then those of the contexts and questions. Behind a change of paragraphs, the
    forms of ``earlier`` keep their numbers, and some may not occur any more.

    Args:
        earlier: the words of other paragraphs, read by an analyzer that gives their words the same terms. None of its
            paragraphs and of ``passages`` has a context or questions.
        origin: for each paragraph, the row of the equal one of ``earlier``, whose words are taken; GONE for none.
    """

    def __init__(
        self,
        passages: Sequence[Passage],
        analyzer: Analyzer,
        earlier: PassageWords | None = None,
        origin: Ints | None = None,
    ) -> None:
        self._analyzer = analyzer
        self.forms: dict[str, int] = {} if earlier is None else dict(earlier.forms)
        """Form -> its number."""
        self.terms: dict[str, int] = {} if earlier is None else dict(earlier.terms)
        """Term -> its number."""
        self._term_of = array("i", b"" if earlier is None else earlier.term_of.tobytes())
        if earlier is None or origin is None:
            self.sentences, self._lengths, self.spans, self.tokens = self._texts(passages)
        else:
            self._take(passages, earlier, origin)
        self.sections, self.section_of = _distinct(passage.section for passage in passages)
        """The distinct headings in order, and the number of each paragraph's heading."""
        known = earlier._of_sections if earlier is not None else {}
        of_sections = {section: known.get(section) or self._forms(section) for section in self.sections}
        self._of_sections: dict[str, array[int]] = of_sections
        self.section_forms = flat_lists(list(self._of_sections.values()))
        """(Offset of each heading's forms, and the total; forms of the headings)."""
        self.text_forms = len(self.forms)
        """Number of forms of paragraphs and headings; forms from here on occur in contexts and questions only."""
        contexts, self._context_of = _distinct(passage.context for passage in passages)
        self._context_forms = flat_lists([self._forms(context) for context in contexts])
        questions, self._questions_of = _distinct(passage.questions for passage in passages)
        self._question_forms = flat_lists([self._forms(asked) for asked in questions])
        self.has_questions = any(questions)
        self.term_of: Array = _numbers(self._term_of)
        """For each form, the number of its term."""
        self._number_words(earlier)

    tokens: Array
    """Form of each content word of the paragraphs, in order."""
    spans: Array
    """Start and end of each sentence in its paragraph's text, shape (sentences, 2)."""
    sentences: Array
    """Number of sentences of each paragraph."""

    @cached_property
    def sentence_passage(self) -> Array:
        """Row of each sentence's paragraph, shape (sentences,)."""
        return rows_of(self.sentences)

    @cached_property
    def token_sentence(self) -> Array:
        """Sentence of each entry of ``tokens``, counted from 0 over the whole knowledge base."""
        return rows_of(self._lengths)

    @cached_property
    def token_start(self) -> Ints:
        """Offset of each paragraph's first token, and the total."""
        return offsets(self._lengths)[offsets(self.sentences)]

    def read_again(self, words: Container[str], analyzer: Analyzer) -> PassageWords:
        """Return these words as ``earlier`` of others, where another analyzer reads some, in lower case, differently.

        No paragraph that has such a word may be taken from it.
        """
        found = copy(self)
        found.terms = dict(self.terms)
        found.term_of = self.term_of.copy()
        for form, number in self.forms.items():
            if form.lower() in words:
                found.term_of[number] = found.terms.setdefault(analyzer.word(form).stem, len(found.terms))
        found._of_sections = {
            section: forms
            for section, forms in self._of_sections.items()
            if not any(word.lower() in words for word in analyzer.found(section))
        }
        return found

    @property
    def unused(self) -> float:
        """Share (0-1) of the forms that do not occur any more."""
        used = np.zeros(len(self.forms), bool)
        used[self.tokens] = used[self.section_forms[1]] = True
        return 1 - float(used.mean()) if len(used) else 0.0

    def units(self, with_questions: bool = False) -> tuple[Array, Array]:
        """Return (forms, lengths): heading, context, questions if wanted, and text of each paragraph; their number."""
        parts = [(*self.section_forms, self.section_of), (*self._context_forms, self._context_of)]
        if with_questions:
            parts.append((*self._question_forms, self._questions_of))
        parts.append((self.token_start, self.tokens, np.arange(len(self.sentences))))
        counts = np.stack([np.diff(start)[chosen] for start, _, chosen in parts], axis=1)
        begin = offsets(counts.ravel())[:-1].reshape(counts.shape)
        forms = np.empty(int(counts.sum()), np.int32)
        for column, (start, flat, chosen) in enumerate(parts):
            owner, at = entries(start, chosen)
            forms[begin[owner, column] + at - start[chosen[owner]]] = flat[at]
        return forms, counts.sum(axis=1)

    def words(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return word without case and accents -> its term, and -> the word as written where it is written otherwise.

        The words are those of paragraphs and headings, in the order in which they occur first; the last place of a word
        decides how it is written.
        """
        flat = np.concatenate((self.tokens, self.section_forms[1]))
        places = np.arange(len(flat))
        last = np.full(len(self._words), -1)
        first = last.copy()
        word = self._word_of[flat]
        last[word] = places
        first[word[::-1]] = places[::-1]
        order = np.argsort(first, kind="stable")
        there = order[first[order] >= 0]
        form = flat[last[there]]
        plain, forms, terms = list(self._words), list(self.forms), list(self.terms)
        names = [plain[number] for number in there.tolist()]
        term_of = {name: terms[number] for name, number in zip(names, self.term_of[form].tolist(), strict=True)}
        as_written = zip(names, (forms[number] for number in form.tolist()), strict=True)
        return term_of, {name: written for name, written in as_written if written.lower() != name}

    def _texts(self, passages: Iterable[Passage]) -> tuple[Array, Array, Array, Array]:
        """Return (sentences of each paragraph, words of each sentence, spans of the sentences, forms)."""
        tokens, lengths, places, sentences = array("i"), array("i"), array("i"), array("i")
        for passage in passages:
            spans = passage.sentences
            sentences.append(len(spans))
            for start, end in spans:
                lengths.append(self._read(passage.text[start:end], tokens))
                places.extend((start, end))
        return _numbers(sentences), _numbers(lengths), _numbers(places).reshape(-1, 2), _numbers(tokens)

    def _take(self, passages: Sequence[Passage], earlier: PassageWords, origin: Ints) -> None:
        """Set up the arrays from those of ``earlier`` and of the paragraphs that it does not have."""
        new = origin == GONE
        read = self._texts(passages[row] for row in np.flatnonzero(new).tolist())
        before = earlier.sentences, earlier._lengths, earlier.spans, earlier.tokens
        sentences, lengths, spans, tokens = (np.concatenate(both) for both in zip(before, read, strict=True))
        source = np.where(new, len(earlier.sentences) + np.cumsum(new) - 1, origin)
        _, at = entries(offsets(sentences), source)
        self.sentences, self._lengths, self.spans = sentences[source], lengths[at], spans[at]
        self.tokens = tokens[entries(offsets(lengths), at)[1]]

    def _number_words(self, earlier: PassageWords | None) -> None:
        """Number the words of the forms of paragraphs and headings: forms without case and accents."""
        self._words: dict[str, int] = {} if earlier is None else dict(earlier._words)
        known = 0 if earlier is None else len(earlier._word_of)
        found = [self._words.setdefault(fold(form), len(self._words)) for form in list(self.forms)[known:]]
        fresh = np.array(found, np.int32)
        self._word_of: Array = fresh if earlier is None else np.concatenate((earlier._word_of, fresh))

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


def flat_lists(lists: Sequence[Sequence[int]]) -> tuple[Ints, Array]:
    """Return lists of different lengths as (offset of each, and the total; their items in one array)."""
    start = offsets(np.array([len(items) for items in lists], np.int64))
    return start, np.fromiter((item for items in lists for item in items), np.int32, int(start[-1]))


def _numbers(values: array[int]) -> Array:
    return np.frombuffer(values, np.int32) if values else np.zeros(0, np.int32)


def _distinct(texts: Iterable[str]) -> tuple[list[str], Array]:
    numbers: dict[str, int] = {}
    rows = [numbers.setdefault(text, len(numbers)) for text in texts]
    return list(numbers), np.array(rows, np.int32)
