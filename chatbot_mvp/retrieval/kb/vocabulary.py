"""Derive a knowledge base's vocabulary from its chunks: headings, frequent terms, co-occurring terms.

Nothing here depends on a topic. What no search asks for at first is derived when it is asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from chatbot_mvp.documents.chunked_files import ChunkedFiles
from chatbot_mvp.retrieval.kb.files import FileRows, paragraphs_by_file
from chatbot_mvp.retrieval.kb.frequent import Neighbours, frequent_terms, sequence_of
from chatbot_mvp.retrieval.kb.languages import MixedAnalyzer
from chatbot_mvp.retrieval.kb.links import SectionLinks
from chatbot_mvp.retrieval.kb.matching import PassageMatcher
from chatbot_mvp.retrieval.kb.passage_words import PassageWords
from chatbot_mvp.retrieval.kb.passages import ChunkParagraphs, join_contexts, join_pieces, passages_of
from chatbot_mvp.retrieval.kb.spelling import SeveralSpellings, Spellings
from chatbot_mvp.retrieval.postings import Postings
from chatbot_mvp.text import Analyzer, analyzer_for, fold
from chatbot_mvp.types import Chunk

TitleWords = Sequence[tuple[str, str, str]]
MIN_DOCUMENTS = 10
"""Fewer short paragraphs are parts of one document."""
_MOST_UNUSED = 0.3
"""Share (0-1) of words that nothing has any more, from which all are read again: they take memory."""


@dataclass(frozen=True)
class KbIndex:
    """A knowledge base prepared for matching with questions."""

    chunks: Sequence[Chunk]
    """The chunks that a search can return; pieces of split paragraphs are joined."""
    words: Mapping[str, str]
    """Word in lower case without accents -> its term, for every word of the KB except stop words."""
    written: Mapping[str, str]
    """Word in lower case without accents -> the word as written, for words of paragraphs and headings with accents.

    The accents of Spanish words decide their terms ("energía")."""
    spellings: Spellings | SeveralSpellings
    """The words of the knowledge base, by which misspelt ones are corrected."""
    read: PassageWords
    """The words of the matcher's paragraphs."""
    matcher: PassageMatcher
    links: SectionLinks
    """For each paragraph of the matcher, the rows of the paragraphs whose sections it names."""
    contexts: Sequence[str] = ()
    """One context per chunk; empty if the chunks were not enriched."""
    questions: Sequence[str] = ()
    """The questions of each chunk; empty if there are none."""
    files: FileRows | None = None
    """The files; None if it is not known which they are, or if there are contexts or questions."""
    title_words: dict[str, TitleWords] = field(default_factory=dict, compare=False, repr=False)
    """What ``words_of_title`` has read, of any version with the same terms."""
    otherwise: frozenset[str] = frozenset()
    """Of an earlier version: terms whose words, or some of them, the analyzer of the later one reads otherwise. What
    has one of them is read again."""

    @property
    def analyzer(self) -> Analyzer:
        return self.matcher.analyzer

    @property
    def source(self) -> ChunkedFiles | None:
        """The chunks as they were given: ``known`` for ``chunk_files`` of another version. None if it has no files."""
        return self.files.source if self.files is not None else None

    @cached_property
    def section_titles_normalized(self) -> Mapping[str, str]:
        """Heading in lower case without accents -> heading as written. Each part of a heading path is one entry."""
        titles: dict[str, str] = {}
        for part in dict.fromkeys(part for heading in self.read.sections for part in heading.split(" > ") if part):
            titles.setdefault(fold(part), part)
        return titles

    @cached_property
    def vocab_terms(self) -> Mapping[str, int]:
        """Term, bigram or trigram (terms separated by a space) -> occurrences, at least MIN_COUNT; most frequent
        first."""
        return frequent_terms(*sequence_of(self.read))

    @cached_property
    def cooc_map(self) -> Mapping[str, tuple[str, ...]]:
        """Term -> up to COOC_KEPT terms that co-occur with it at least MIN_COUNT times, strongest association first."""
        return Neighbours(self.read)

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
    def heading_words(self) -> Mapping[str, str]:
        """Word of a heading in lower case without accents -> the word as written."""
        titles = self.section_titles_normalized.values()
        return {folded: word for title in titles for word, folded, _ in self.words_of_title(title)}

    def words_of_title(self, title: str) -> TitleWords:
        """Return ``words_of`` a heading, or a part of a heading path, which is read once for all versions."""
        if title not in self.title_words:
            self.title_words[title] = words_of(title, self.analyzer)
        return self.title_words[title]

    @cached_property
    def _titles(self) -> tuple[Sequence[str], Postings]:
        titles = list(self.section_titles_normalized.values())
        return titles, Postings.of([term for _, _, term in self.words_of_title(title)] for title in titles)

    @cached_property
    def sections_of_term(self) -> Mapping[str, frozenset[str]]:
        """Term of a heading -> the sections under it, as paths of headings."""
        found: dict[str, set[str]] = defaultdict(set)
        for section in {chunk.section for chunk in self.chunks}:
            for term in self.analyzer.terms(section):
                found[term].add(section)
        return {term: frozenset(sections) for term, sections in found.items()}

    def read_alike(self, chunks: Sequence[Chunk], analyzer: Analyzer) -> KbIndex | None:
        """Return what another version can take from this one, given its chunks and its analyzer; None for nothing.

        In a knowledge base of several languages, a change of one file can change the terms of words of others.
        """
        if self.files is None or not isinstance(chunks, ChunkedFiles):
            return None
        if analyzer.languages != self.analyzer.languages:
            return None
        if not (isinstance(analyzer, MixedAnalyzer) and isinstance(self.analyzer, MixedAnalyzer)):
            return self
        # Sections without paragraphs have words that only the index of chunks has.
        found = {word for section in {chunk.section for chunk in self.chunks} for word in self.analyzer.found(section)}
        words = found.union(self.read.forms)
        changed = analyzer.reads_otherwise(self.analyzer, words)
        if not changed:
            return self if changed is not None else None
        otherwise = {self.analyzer.word(word).stem for word in words if word.lower() in changed}
        otherwise.update(self.analyzer.word(word).stem for word in changed)
        read, links = self.read.read_again(changed, analyzer), SectionLinks((), analyzer)
        titles = {
            title: found
            for title, found in list(self.title_words.items())  # a question of another thread may add some
            if changed.isdisjoint(word.lower() for word in self.analyzer.found(title))
        }
        return replace(self, otherwise=frozenset(otherwise), read=read, links=links, title_words=titles)

    def titles_with(self, terms: Iterable[str]) -> list[str]:
        """Return the headings that have one of the terms, in the order of the text."""
        titles, postings = self._titles
        return [titles[row] for row in np.flatnonzero(postings.having(terms)).tolist()]


def build_bm25_index(
    chunks: Sequence[Chunk],
    language: str | Analyzer,
    contexts: Sequence[str] = (),
    questions: Sequence[str] = (),
    earlier: KbIndex | None = None,
) -> KbIndex:
    """Index the chunks of a knowledge base.

    Args:
        chunks: in the order of their documents.
        language: "es" or "en", or the analyzer of a knowledge base in both; decides stop words and stems.
        contexts: for each chunk, a description of its place in the document; empty if the chunks were not enriched.
        questions: for each chunk, questions that it answers; empty if there are none.
        earlier: what ``read_alike`` of another version of the knowledge base gives. What is of one file alone is taken
            from it; the result is the same without it.
    """
    analyzer = analyzer_for(language)
    files, rows, joined_contexts, joined_questions = None, None, list[str](), list[str]()
    before = earlier if earlier is not None and earlier.files is not None else None
    if isinstance(chunks, ChunkedFiles) and not contexts and not questions:
        known = None if before is None or before.files is None else (before.files, before.matcher.passages)
        joined, passages, files = paragraphs_by_file(chunks, known)
        if not passages:  # headings only
            passages, files = passages_of(joined), None
        elif before is not None and known is not None:
            rows = files.paragraph_rows(known[0]).without(before.matcher.terms.rows_of_any(before.otherwise))
    else:
        joined = join_pieces(chunks)
        joined_contexts = join_contexts(joined, chunks, contexts) if contexts else []
        joined_questions = join_contexts(joined, chunks, questions) if questions else []
        passages = passages_of(joined, joined_contexts, joined_questions)
    then = before if rows is not None else None
    read = PassageWords(passages, analyzer, then.read if then else None, rows.origin if rows else None)
    if then and read.unused > _MOST_UNUSED:
        return build_bm25_index(chunks, analyzer)
    words, written = read.words()
    for text in dict.fromkeys([*joined_contexts, *joined_questions]):
        words.update((fold(word), term) for word, term in analyzer.content_words(text))
    matcher = PassageMatcher(passages, analyzer, read, then.matcher if then else None, rows)
    return KbIndex(
        chunks=joined,
        words=words,
        written=written,
        spellings=spellings_of(words, written, matcher, then.spellings if then else None),
        read=read,
        matcher=matcher,
        contexts=joined_contexts,
        questions=joined_questions,
        links=SectionLinks(passages, analyzer, then.links if then else None),
        files=files,
        title_words=then.title_words if then else {},
    )


def words_of(title: str, analyzer: Analyzer) -> TitleWords:
    """Return (word as written, word without case and accents, its term) of each content word of a heading."""
    return [(word, fold(word), term) for word, term in analyzer.content_words(title)]


def spellings_of(
    words: Mapping[str, str],
    written: Mapping[str, str],
    matcher: PassageMatcher,
    before: Spellings | SeveralSpellings | None = None,
) -> Spellings | SeveralSpellings:
    """Return ``KbIndex.spellings`` of these words; ``before`` are those of another version."""
    rows, analyzer = matcher.searched.rows, matcher.analyzer

    def frequency(word: str) -> int:
        return len(rows(words[word]))

    if isinstance(analyzer, MixedAnalyzer):
        of_language: dict[str, list[str]] = {language: [] for language in analyzer.languages}
        for word in words:
            of_language[analyzer.home_of(written.get(word, word))].append(word)
        if isinstance(before, SeveralSpellings):
            changed = zip(before.of_languages, of_language.values(), strict=True)
            return SeveralSpellings(spellings.changed(set(found), frequency) for spellings, found in changed)
        return SeveralSpellings(Spellings(found, language, frequency) for language, found in of_language.items())
    if isinstance(before, Spellings):
        return before.changed(words.keys(), frequency)
    return Spellings(words, analyzer.language, frequency)
