"""Tell the language of each paragraph of a knowledge base, by its function words, its file and the whole.

A paragraph is of the language that clearly leads among its function words (articles, prepositions, …). A shorter one
is of its file's language, and if that is not clear either, of the knowledge base's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import NamedTuple

from chatbot_mvp.text import STOP_WORDS, fold, normalize
from chatbot_mvp.types import Chunk

HOMOGRAPHS: dict[str, frozenset[str]] = {
    "es": frozenset("al ante con del dos era hay la os sea si sin solo son su tan un".split()),
    "en": frozenset("as can once".split()),
}
"""Function words of a language that are also ordinary words, names or commands in a text of the other ("son", "DOS",
"su", "once"). They tell nothing about the language of a text."""

FILE_WORDS = 6
"""Function words from which a file, or a chapter, tells its language."""
PARAGRAPH_WORDS = 3
"""Function words from which a paragraph tells its language."""
LEAD = 3
"""A language is clear if it has this many times the function words of all others."""
MIXED_SHARE = 0.05
"""Least share (0-1) of a text's characters in clear paragraphs of a language that no whole file is written in."""

_WORD = re.compile(r"[^\W\d_]+")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
# Headings, and comments of programs, which are in English in texts of any language.
_HEADING = re.compile(r"^[ \t]*#.*$", re.M)
_SPANISH_MARKS = re.compile(r"[¿¡]")


@cache
def function_words() -> dict[str, str]:
    """Return word in lower case without accents -> the only language in which it is a function word."""
    found = Counter(word for words in STOP_WORDS.values() for word in words)
    return {
        word: language
        for language, words in STOP_WORDS.items()
        for word in words
        if found[word] == 1 and word not in HOMOGRAPHS.get(language, ())
    }


def tally(text: str) -> Counter[str]:
    """Return language -> number of its function words in a text; an inverted mark (¿, ¡) counts as a Spanish one."""
    found: Counter[str] = Counter()
    for word, count in Counter(_WORD.findall(normalize("NFC", text).lower())).items():
        if language := _language_of_word(word):
            found[language] += count
    if marks := len(_SPANISH_MARKS.findall(text)):
        found["es"] += marks
    return found


@lru_cache(maxsize=100_000)
def _language_of_word(word: str) -> str:
    return function_words().get(fold(word), "")


def clear_language(counts: Counter[str], least: int) -> str | None:
    """Return the language with at least ``least`` function words and LEAD times those of all others; else None."""
    if not counts:
        return None
    [(language, count)] = counts.most_common(1)
    return language if count >= max(least, LEAD * (counts.total() - count)) else None


def split_paragraphs(text: str) -> list[str]:
    """Return the parts of a text between blank lines."""
    return _BLANK_LINE.split(text)


def paragraph_languages(chunks: Iterable[Chunk], main: str) -> list[tuple[str, str]]:
    """Return (paragraph, its language) for every paragraph of a knowledge base, in order.

    Args:
        chunks: the first part of a heading path is the name of the file; in a knowledge base of one file, a chapter.
        main: language of paragraphs that do not tell it themselves, in files that do not either.
    """
    read = [
        (text, tally(_HEADING.sub("", text)), file_of(chunk))
        for chunk in chunks
        for text in split_paragraphs(chunk.text)
    ]
    files: dict[tuple[str, str], Counter[str]] = {}
    for _, counts, file in read:
        files.setdefault(file, Counter()).update(counts)
    of_file = {file: clear_language(counts, FILE_WORDS) or main for file, counts in files.items()}
    return [(text, clear_language(counts, PARAGRAPH_WORDS) or of_file[file]) for text, counts, file in read]


class Tallies(NamedTuple):
    """What some chunks tell about the languages of a knowledge base."""

    files: Mapping[tuple[str, str], Counter[str]]
    """File, or chapter -> its ``tally``."""
    clear: Counter[str]
    """Language -> characters of the paragraphs that are clearly in it, where that is not the main one."""
    chars: int


def tallies_of(chunks: Iterable[Chunk], main: str) -> Tallies:
    """Return what chunks tell about languages. Arguments as for ``languages_of``."""
    files: dict[tuple[str, str], Counter[str]] = {}
    clear: Counter[str] = Counter()
    chars = 0
    for chunk in chunks:
        of_file = files.setdefault(file_of(chunk), Counter())
        chars += len(chunk.text)
        body = _HEADING.sub("", chunk.text)
        counts = tally(body)
        of_file.update(counts)
        if counts.total() - counts[main] >= FILE_WORDS:  # else no paragraph can be clearly of another language
            for text in split_paragraphs(body):
                if language := clear_language(tally(text), FILE_WORDS):
                    clear[language] += len(text)
    return Tallies(files, clear, chars)


def languages_of(chunks: Iterable[Chunk], main: str) -> tuple[str, ...]:
    """Return the languages of a knowledge base: ``main`` first, then each one that another file is written in.

    In a file of several languages, one counts if its clear paragraphs have at least MIXED_SHARE of all characters.
    Single sentences and names in another language do not make a knowledge base mixed.
    """
    return languages_told([tallies_of(chunks, main)], main)


def languages_told(parts: Iterable[Tallies], main: str) -> tuple[str, ...]:
    """Return ``languages_of`` the chunks that several ``tallies_of`` are of."""
    files: dict[tuple[str, str], Counter[str]] = {}
    clear: Counter[str] = Counter()
    chars = 0
    for part in parts:
        chars += part.chars
        clear.update(part.clear)
        for file, counts in part.files.items():
            # Counters of one part only are read, never changed.
            files[file] = files[file] + counts if file in files else counts
    written = {clear_language(counts, FILE_WORDS) for counts in files.values()}
    others = [
        language
        for language in STOP_WORDS
        if language != main and (language in written or clear[language] > MIXED_SHARE * chars)
    ]
    return (main, *others)


def file_of(chunk: Chunk) -> tuple[str, str]:
    """Return what names a chunk's file or, in a knowledge base of one file, its chapter."""
    return chunk.doc_id, chunk.section.partition(" > ")[0]
