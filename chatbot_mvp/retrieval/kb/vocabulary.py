"""Derive a knowledge base's vocabulary from its chunks: headings, frequent terms, co-occurring terms.

Nothing here depends on a topic.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, distinct
from chatbot_mvp.retrieval.kb.languages import MixedAnalyzer
from chatbot_mvp.retrieval.kb.links import SectionLinks
from chatbot_mvp.retrieval.kb.matching import PassageMatcher, PassageWords
from chatbot_mvp.retrieval.kb.passages import ChunkParagraphs, Passage, join_contexts, join_pieces, passages_of
from chatbot_mvp.retrieval.kb.spelling import SeveralSpellings, Spellings
from chatbot_mvp.retrieval.postings import Postings
from chatbot_mvp.text import Analyzer, analyzer_for, fold
from chatbot_mvp.types import Chunk

MIN_COUNT = 2
"""Occurrences from which a term or phrase counts as frequent."""
MIN_DOCUMENTS = 10
"""Fewer short paragraphs are parts of one document."""
MAX_PHRASES = 5_000
COOC_WINDOW = 6
"""Terms co-occur if they are at most this many terms apart."""
COOC_KEPT = 5


@dataclass(frozen=True)
class KbIndex:
    """A knowledge base prepared for matching with questions."""

    chunks: Sequence[Chunk]
    """The chunks that a search can return; pieces of split paragraphs are joined."""
    section_titles_normalized: Mapping[str, str]
    """Heading in lower case without accents -> heading as written. Each part of a heading path is one entry."""
    vocab_terms: Mapping[str, int]
    """Term, bigram or trigram (terms separated by a space) -> occurrences, at least MIN_COUNT; most frequent first."""
    cooc_map: Mapping[str, tuple[str, ...]]
    """Term -> up to COOC_KEPT terms that co-occur with it at least MIN_COUNT times, strongest association first."""
    words: Mapping[str, str]
    """Word in lower case without accents -> its term, for every word of the KB except stop words."""
    written: Mapping[str, str]
    """Word in lower case without accents -> the word as written, for words of paragraphs and headings with accents.

    The accents of Spanish words decide their terms ("energía")."""
    matcher: PassageMatcher
    links: SectionLinks
    """For each paragraph of the matcher, the rows of the paragraphs whose sections it names."""
    contexts: Sequence[str] = ()
    """One context per chunk; empty if the chunks were not enriched."""
    questions: Sequence[str] = ()
    """The questions of each chunk; empty if there are none."""

    @property
    def analyzer(self) -> Analyzer:
        return self.matcher.analyzer

    @cached_property
    def paragraphs(self) -> ChunkParagraphs:
        """The paragraphs of each chunk."""
        ids = [chunk.chunk_id for chunk in self.chunks]
        return ChunkParagraphs([passage.hits for passage in self.matcher.passages], ids)

    @cached_property
    def is_corpus(self) -> bool:
        """Whether it consists of short documents: at least 10 chunks, each one paragraph under a heading of its own.

        The headings then are names of documents, and mentions of them are links, as in the corpus of a benchmark.
        """
        sections = {chunk.section for chunk in self.chunks}
        single = len(self.matcher.passages) == len(self.chunks) == len(sections) >= MIN_DOCUMENTS
        return single and not self.contexts and all(len(self.paragraphs.of(at)) == 1 for at in range(len(self.chunks)))

    @cached_property
    def documents(self) -> Sequence[Chunk]:
        """The chunks of a corpus without the lines of their headings, as a data set has them (see ``is_corpus``)."""
        texts = [self.matcher.passages[self.paragraphs.of(at)[0]].text for at in range(len(self.chunks))]
        return [replace(chunk, text=text) for chunk, text in zip(self.chunks, texts, strict=True)]

    @cached_property
    def spoken(self) -> Mapping[str, str]:
        """Term -> one of its words."""
        return {term: word for word, term in self.words.items()}

    @cached_property
    def spellings(self) -> Spellings | SeveralSpellings:
        """The words of the knowledge base."""
        rows, analyzer = self.matcher.searched.rows, self.analyzer

        def of(words: Iterable[str], language: str) -> Spellings:
            return Spellings(words, language, lambda word: len(rows(self.words[word])))

        if not isinstance(analyzer, MixedAnalyzer):
            return of(self.words, analyzer.language)
        words: dict[str, list[str]] = {language: [] for language in analyzer.languages}
        for word in self.words:
            words[analyzer.home_of(self.written.get(word, word))].append(word)
        return SeveralSpellings(of(found, language) for language, found in words.items())

    @cached_property
    def heading_words(self) -> Mapping[str, str]:
        """Word of a heading in lower case without accents -> the word as written."""
        titles = self.section_titles_normalized.values()
        return {fold(word): word for title in titles for word, _ in self.analyzer.content_words(title)}

    @cached_property
    def _titles(self) -> tuple[Sequence[str], Postings]:
        titles = list(self.section_titles_normalized.values())
        return titles, Postings.of(map(self.analyzer.terms, titles))

    @cached_property
    def sections_of_term(self) -> Mapping[str, frozenset[str]]:
        """Term of a heading -> the sections under it, as paths of headings."""
        found: dict[str, set[str]] = defaultdict(set)
        for section in {chunk.section for chunk in self.chunks}:
            for term in self.analyzer.terms(section):
                found[term].add(section)
        return {term: frozenset(sections) for term, sections in found.items()}

    def titles_with(self, terms: Iterable[str]) -> list[str]:
        """Return the headings that have one of the terms, in the order of the text."""
        titles, postings = self._titles
        return [titles[row] for row in np.flatnonzero(postings.having(terms)).tolist()]


def build_bm25_index(
    chunks: Sequence[Chunk], language: str | Analyzer, contexts: Sequence[str] = (), questions: Sequence[str] = ()
) -> KbIndex:
    """Index the chunks of a knowledge base.

    Args:
        chunks: in the order of their documents.
        language: "es" or "en", or the analyzer of a knowledge base in both; decides stop words and stems.
        contexts: for each chunk, a description of its place in the document; empty if the chunks were not enriched.
        questions: for each chunk, questions that it answers; empty if there are none.
    """
    analyzer = analyzer_for(language)
    joined = join_pieces(chunks)
    joined_contexts = join_contexts(joined, chunks, contexts) if contexts else []
    joined_questions = join_contexts(joined, chunks, questions) if questions else []
    passages = passages_of(joined, joined_contexts, joined_questions)
    read = PassageWords(passages, analyzer)
    vocabulary = vocabulary_of(passages, analyzer, [*joined_contexts, *joined_questions], read)
    index = KbIndex(
        chunks=joined,
        **vocabulary.fields,
        matcher=PassageMatcher(passages, analyzer, read),
        contexts=joined_contexts,
        questions=joined_questions,
        links=SectionLinks(passages, analyzer),
    )
    _ = index.spellings  # built here, so that the first misspelt question does not wait for it
    return index


class Vocabulary(NamedTuple):
    """The fields of ``KbIndex`` of these names."""

    section_titles_normalized: Mapping[str, str]
    vocab_terms: Mapping[str, int]
    cooc_map: Mapping[str, tuple[str, ...]]
    words: Mapping[str, str]
    written: Mapping[str, str]

    @property
    def fields(self) -> dict[str, Any]:
        return self._asdict()


def vocabulary_of(
    passages: Sequence[Passage], analyzer: Analyzer, beside: Iterable[str], read: PassageWords | None = None
) -> Vocabulary:
    """Return the vocabulary of some paragraphs.

    Args:
        beside: contexts and questions of their chunks, whose words are searched too.
        read: the words of ``passages``; None to read them here.
    """
    read = read or PassageWords(passages, analyzer)
    forms, terms = read.form_by_word(), read.term_of_form()
    words = {word: terms[form] for word, form in forms.items()}
    titles: dict[str, str] = {}
    for heading in read.sections:
        for part in filter(None, heading.split(" > ")):
            titles.setdefault(fold(part), part)
    for text in dict.fromkeys(beside):
        words.update((fold(word), term) for word, term in analyzer.content_words(text))
    names = list(read.terms)
    sequence, rows = read.term_of[read.tokens], read.sentence_passage[read.token_sentence]
    return Vocabulary(
        titles,
        frequent_terms(names, sequence, rows),
        neighbouring_terms(names, sequence, rows),
        words,
        {word: form for word, form in forms.items() if form.lower() != word},
    )


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
