"""The analysis of a knowledge base in several languages: each word has one term, by the language that it belongs to.

A word's term does not depend on the text that it stands in, so a question, a paragraph and an answer meet in the same
terms, whatever their languages. Only whether a few function words are stop words depends on the text (HOMOGRAPHS).
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import islice
from typing import NamedTuple

from chatbot_mvp.documents.chunked_files import ChunkedFiles
from chatbot_mvp.documents.languages import (
    HOMOGRAPHS,
    languages_of,
    paragraph_languages,
    split_paragraphs,
    tally,
)
from chatbot_mvp.text import ANALYSIS_VERSION, STOP_WORDS, Analyzer, Word, fold
from chatbot_mvp.types import Chunk


def analyzer_of(chunks: Sequence[Chunk], main: str) -> Analyzer:
    """Return the analyzer of a knowledge base.

    Args:
        chunks: all of its chunks.
        main: its language, "es" or "en"; the only one unless ``languages_of`` finds another.
    """
    main = Analyzer(main).language
    languages = chunks.languages(main) if isinstance(chunks, ChunkedFiles) else languages_of(chunks, main)
    if len(languages) == 1:
        return Analyzer(main)
    return MixedAnalyzer(languages, paragraph_languages(chunks, languages[0]))


def read_otherwise(now: Analyzer, then: Analyzer, words: Iterable[str]) -> frozenset[str] | None:
    """Return the words, in lower case, that the analyzers of two versions of a knowledge base read differently.

    None if that may be any word. A text without them has the same terms in both versions.

    Args:
        words: words of texts of both versions that may not be in their paragraphs as the analyzers read them: content
            words of sentences, and words of headings.
    """
    if isinstance(now, MixedAnalyzer) and isinstance(then, MixedAnalyzer) and now.languages == then.languages:
        return now.reads_otherwise(then, words)
    return frozenset() if now.key == then.key else None


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
        counts: dict[str, Counter[str]] = {language: Counter() for language in languages}
        for text, language in paragraphs:
            counts[language].update(word.lower() for word in self.found(text))
        self._homes: dict[str, str] = {}
        self._stems: dict[str, Counter[str]] = defaultdict(Counter)
        for word in dict.fromkeys(word for found in counts.values() for word in found):
            home = max(languages, key=lambda language: counts[language][word])  # the first of equal ones
            self._homes[word] = home
            self._stems[home][self._of[home].word(word).stem] += sum(found[word] for found in counts.values())
        # As many words as ``text._word_function`` keeps, for the same reason.
        self._entry = lru_cache(maxsize=500_000)(self._new_entry)
        self._word_of = lambda found: self._entry(found).word

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
        """Return ``read_otherwise`` for another analyzer of the same languages."""
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
