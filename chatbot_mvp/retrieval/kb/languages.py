"""The analysis of a knowledge base in several languages: each word has one term, by the language that it belongs to.

A word's term does not depend on the text that it stands in, so a question, a paragraph and an answer meet in the same
terms, whatever their languages. Only whether a few function words are stop words depends on the text (HOMOGRAPHS).
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from typing import NamedTuple

from chatbot_mvp.documents.chunked_files import ChunkedFiles
from chatbot_mvp.documents.languages import (
    HOMOGRAPHS,
    file_of,
    languages_of,
    paragraph_languages,
    split_paragraphs,
    tally,
)
from chatbot_mvp.retrieval.kb.files import same_files
from chatbot_mvp.retrieval.splicing import GONE
from chatbot_mvp.text import ANALYSIS_VERSION, STOP_WORDS, Analyzer, Word, fold
from chatbot_mvp.types import Chunk


def analyzer_of(chunks: Sequence[Chunk], main: str, earlier: tuple[ChunkedFiles, Analyzer] | None = None) -> Analyzer:
    """Return the analyzer of a knowledge base.

    Args:
        chunks: all of its chunks.
        main: its language, "es" or "en"; the only one unless ``languages_of`` finds another.
        earlier: the chunks of another version and their analyzer. Only what differs is read; the result is the same.
    """
    main = Analyzer(main).language
    languages = chunks.languages(main) if isinstance(chunks, ChunkedFiles) else languages_of(chunks, main)
    if len(languages) == 1:
        return Analyzer(main)
    if earlier is not None and isinstance(chunks, ChunkedFiles):
        source, then = earlier
        if isinstance(then, MixedAnalyzer) and then.languages == languages:
            gone, come = (paragraph_languages(part, languages[0]) for part in _apart(source, chunks))
            return then.changed(come, gone)
    return MixedAnalyzer(languages, paragraph_languages(chunks, languages[0]))


def _apart(then: ChunkedFiles, now: ChunkedFiles) -> tuple[list[Chunk], list[Chunk]]:
    """Return the chunks of two versions in which their paragraphs, or the languages of these, may differ."""
    places = same_files(now, then)
    parts = [now[file.first : file.end] for file, place in zip(now.files, places, strict=True) if place == GONE]
    kept = set(places)
    parts += [then[file.first : file.end] for place, file in enumerate(then.files) if place not in kept]
    names = {file_of(chunk) for part in parts for chunk in part}  # files of one name tell their language together
    of_then, of_now = ([chunk for chunk in chunks if file_of(chunk) in names] for chunks in (then, now))
    return of_then, of_now


class _Entry(NamedTuple):
    word: Word
    stop_in: str
    """The only language whose texts have the word as a stop word; "" if that does not depend on the text."""
    home: str
    """The language that the word belongs to; "" for function words and for words that no paragraph has."""


class MixedAnalyzer(Analyzer):
    """Turns texts of several languages into terms.

    - A word is stemmed in the language in whose paragraphs it occurs most often.
    - A word that the knowledge base does not have takes the stem that occurs there most often. If none does, it is
      stemmed in the main language.
    - Function words of all languages are stop words. One that is an ordinary word elsewhere (HOMOGRAPHS) is a stop word
      in paragraphs of its own language only.

    Args:
        languages: at least one of LANGUAGES, the main one first.
        paragraphs: (text, its language) of the whole knowledge base.
    """

    def __init__(self, languages: Sequence[str], paragraphs: Iterable[tuple[str, str]]) -> None:
        super().__init__(languages[0])
        self.languages = tuple(languages)
        self._of = {language: Analyzer(language) for language in languages}
        self._counts: dict[str, Counter[str]] = {language: Counter() for language in languages}
        self._homes: dict[str, str] = {}
        self._stems: dict[str, Counter[str]] = {language: Counter() for language in languages}
        self._count(paragraphs, ())
        # As many words as ``text._word_function`` keeps, for the same reason.
        self._entry = lru_cache(maxsize=500_000)(self._new_entry)
        self._word_of = lambda found: self._entry(found).word

    def changed(self, come: Iterable[tuple[str, str]], gone: Iterable[tuple[str, str]]) -> MixedAnalyzer:
        """Return the analyzer of other paragraphs: those of this one, with those that come, without those that go."""
        found = MixedAnalyzer(self.languages, ())
        found._homes = dict(self._homes)
        found._counts = {language: counts.copy() for language, counts in self._counts.items()}
        found._stems = {language: counts.copy() for language, counts in self._stems.items()}
        found._count(come, gone)
        return found

    def _count(self, come: Iterable[tuple[str, str]], gone: Iterable[tuple[str, str]]) -> None:
        """Add the words of some paragraphs and take those of others away."""
        changes: dict[str, Counter[str]] = {language: Counter() for language in self.languages}
        for text, language in come:
            changes[language].update(word.lower() for word in self.found(text))
        for text, language in gone:
            changes[language].subtract(word.lower() for word in self.found(text))
        for word in dict.fromkeys(word for found in changes.values() for word, times in found.items() if times):
            if home := self._homes.pop(word, ""):
                self._stems[home][self._of[home].word(word).stem] -= self._total(word)
            for language, counts in self._counts.items():
                counts[word] += changes[language][word]
                if not counts[word]:
                    del counts[word]
            if total := self._total(word):
                home = max(self.languages, key=lambda language: self._counts[language][word])  # the first of equal ones
                self._homes[word] = home
                self._stems[home][self._of[home].word(word).stem] += total

    def _total(self, word: str) -> int:
        return sum(counts[word] for counts in self._counts.values())

    @cached_property
    def key(self) -> str:  # computed once: the digest is of all words
        """Identifies the analysis: analyzers with equal keys produce equal terms."""
        homes = "\n".join(f"{word} {home}" for word, home in sorted(self._homes.items()))
        digest = hashlib.sha256(homes.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        return f"{'+'.join(self.languages)}-{ANALYSIS_VERSION}-{digest}"

    def home_of(self, word: str) -> str:
        """Return the language that a word, with its accents, is stemmed in."""
        lowered = word.lower()
        if lowered in self._homes:
            return self._homes[lowered]
        stems = {language: self._of[language].word(word).stem for language in self.languages}
        return max(self.languages, key=lambda language: self._stems[language][stems[language]])

    def reads_otherwise(self, then: MixedAnalyzer, words: Iterable[str]) -> frozenset[str] | None:
        """Return the words, in lower case, that this analyzer reads otherwise than one of the same languages.

        None if that may be any word. A text without them has the same terms in both versions.

        Args:
            words: words of texts of both versions that may not be in the paragraphs of ``then``: content words of
                sentences, and words of headings.
        """
        mine, others = self._homes, then._homes
        changed = {word for word, home in others.items() if mine.get(word, home) != home}
        known = mine.keys() & others.keys()
        changed.update(
            word.lower() for word in words if word.lower() not in known and self._entry(word) != then._entry(word)
        )
        # A word without a stem is in no index, but its home may decide the language of a text.
        return None if any(not self._entry(word).word.stem for word in changed) else frozenset(changed)

    def language_of(self, text: str) -> str:
        """Return the language of a text: by its function words, else by the languages of its words, else the main."""
        return self._language(text, [self._entry(found) for found in self.found(text)])

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in order, without stop words."""
        return [word.stem for _, word in self._read(text) if not word.is_stop]

    def words(self, text: str, limit: int | None = None) -> list[Word]:
        """Return the words of a text in order, stop words included; only the first ``limit`` if it is given."""
        return [word for _, word in islice(self._read(text), limit)]

    def content_words(self, text: str) -> list[tuple[str, str]]:
        """Return (word as written, its term) for each word that is not a stop word, in order."""
        return [(found, word.stem) for found, word in self._read(text) if not word.is_stop]

    def _read(self, text: str) -> Iterator[tuple[str, Word]]:
        for part in split_paragraphs(text):
            found = self.found(part)
            entries = [self._entry(word) for word in found]
            language = self._language(part, entries) if any(entry.stop_in for entry in entries) else ""
            for written, entry in zip(found, entries, strict=True):
                word = entry.word
                yield written, word._replace(is_stop=entry.stop_in == language) if entry.stop_in else word

    def _language(self, text: str, entries: Sequence[_Entry]) -> str:
        by_function, by_home = tally(text), Counter(entry.home for entry in entries)
        return max(self.languages, key=lambda language: (by_function[language], by_home[language]))

    def _new_entry(self, found: str) -> _Entry:
        plain = fold(self._of[self.language].word(found).text)
        stops = [language for language in self.languages if plain in STOP_WORDS[language]]
        home = stops[0] if stops else self.home_of(found)
        word = self._of[home].word(found)
        if not stops:
            return _Entry(word._replace(is_stop=not word.stem), "", self._homes.get(found.lower(), ""))
        only = len(stops) == 1 and plain in HOMOGRAPHS.get(home, ())
        if only:
            # In a text of another language it is a word like any other.
            word = self._of[self.home_of(found)].word(found)
        return _Entry(word._replace(is_stop=not only or home == self.language), home if only else "", "")
