"""Normalise, tokenise and split text into sentences. Every index, query and metric uses this module.

A *term* is the unit that is indexed and matched: a word in lower case, stemmed in its language, without accents. Stop
words are not terms. Sentences are spans of the original text, so that a match can be highlighted in place.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import islice
from typing import Literal, NamedTuple

import Stemmer

from chatbot_mvp import languages

ANALYSIS_VERSION = 3
"""Part of every index's cache key. Raise it with every change that alters the terms of any text."""

LANGUAGES = {"es": "spanish", "en": "english"}
"""The languages that are detected and that prompts are in: code -> Snowball's algorithm."""

STOP_WORDS: dict[str, frozenset[str]] = {
    "es": frozenset(
        """a al algo algun alguna algunas alguno algunos ante antes aquel aquella aquellas aquello aquellos aqui asi
        aun aunque bajo cada como con contra cual cuales cualquier cuando cuanta cuantas cuanto cuantos de del desde
        donde dos durante e el ella ellas ello ellos en entre era eran eres es esa esas ese eso esos esta estaba
        estaban estan estar estas este esto estos estoy fue fueron ha haber habia habian hace hacer hacia han hasta
        hay he la las le les lo los mas me mi mis misma mismas mismo mismos mucho muchos muy nada ni no nos nosotros
        nuestra nuestras nuestro nuestros o os otra otras otro otros para pero poco por porque pueda puede pueden
        puedo pues que quien quienes se sea sean segun ser si sido siempre sin sobre sois solo somos son soy su sus
        tal tambien tan tanto te tener tengo ti tiene tienen toda todas todo todos tras tu tus u un una unas uno
        unos usted ustedes vosotros vuestra vuestro y ya yo""".split()
    ),
    "en": frozenset(
        """a about above after again all also am an and any are as at be because been before being below between both
        but by can could did do does doing down during each few for from further had has have having he her here
        hers him his how i if in into is it its itself just me more most my no nor not of off on once only or other
        our out over own same she should so some such than that the their them then there these they this those
        through to too under until up very was we were what when where which while who whom whose why will with
        would you your""".split()
    ),
}

# Initials are one word: "U.S." is "us", not "u" and "s". A run of more than 1,000 letters is split: it is no word of a
# language (so ANALYSIS_VERSION did not change with this), and the stemmer takes quadratic time.
_WORD = re.compile(r"(?:[^\W\d_]\.){2,500}|[^\W_]{1,1000}(?:['’][^\W_]{1,1000}){0,9}")
# Possessive quantifiers and a lookbehind keep the match linear, even for a text that consists of dots.
# A line with a leader ("Adultos ........ 51 euros") is one of its own, with what stands behind the dots.
_SENTENCE_END = re.compile(
    r"(?<![.…])(?<![.…][ \t])(?:\.{4,}+|…{2,}+|(?:[.…][ \t]){3,}+)[ \t]*+[^\s.…][^\n]*+(?=\n|\Z)"
    r"|(?<![.!?…])[.!?…]++[\"'»”’)\]]*+(?=\s)|\n\s*\n|\n(?=\s*(?:[-*+•]|\d+[.)])\s)"
)
_ABBREVIATION = re.compile(
    r"(?:^|[\s(])(?:[A-ZÁÉÍÓÚÑ]|[Ss]r|[Ss]ra|[Dd]r|[Dd]ra|[Aa]rt|[Nn]úm|[Pp]ág|[Tt]el|etc|vs|Mr|Mrs|Ms|St|No|Inc|Jr)\.$"
)
_ENUMERATOR = re.compile(r"\s*(?:[-*+•]\s*)?\d{1,3}\.")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_LONGEST_NAME = 60
"""Characters of what stands before a colon, if it names what follows."""
_MOST_MARKS = 30
"""Combining marks in a row, as in the Stream-Safe Text Format of Unicode (UAX 15)."""
_MANY_MARKS = re.compile(r"[^\w\s\x00-\u02ff]{31,}")
"""Where more marks may stand: marks are neither letters nor blanks."""
_PIECE = 4_096
"""Characters that are normalised at once. For what grows CPython makes room for ten characters at a time; where memory
has to be moved for it, 100,000 ellipses took three seconds."""
_BLANK_LETTERS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0") | {chr(n) for n in range(0xFE00, 0xFE10)}
"""Letters, marks and signs that are drawn as nothing: fillers, the blank of Braille, selectors of a form."""


def normalize(form: Literal["NFC", "NFKC", "NFKD"], text: str) -> str:
    """Normalise a text in linear time. Combining marks behind the first 30 in a row are dropped.

    Sorting the marks of a run takes quadratic time: 80,000 of them take five seconds.
    """
    if len(text) > _MOST_MARKS and not text.isascii():
        text = _MANY_MARKS.sub(_fewer_marks, text)
    pieces, start = [], 0
    while start < len(text):
        end = start + _PIECE
        while end < len(text) and _joins(text[end]):
            end += 1
        pieces.append(unicodedata.normalize(form, text[start:end]))
        start = end
    return "".join(pieces)


def _joins(char: str) -> bool:
    """Return whether a character may become one with that before it: a mark, or a vowel or last consonant of Hangul."""
    first = unicodedata.normalize("NFKD", char)[0]
    return unicodedata.category(first)[0] == "M" or "\u1160" <= first <= "\u11ff"


def _fewer_marks(found: re.Match[str]) -> str:
    kept, marks = [], 0
    for char in found.group():
        marks = marks + 1 if unicodedata.combining(char) else 0
        if marks <= _MOST_MARKS:
            kept.append(char)
    return "".join(kept)


def fold(text: str) -> str:
    """Return ``text`` in lower case without accents or other combining marks ("Ñandú" becomes "nandu")."""
    return _without_accents(text.casefold())


def _without_accents(text: str) -> str:
    decomposed = normalize("NFKD", text)
    if decomposed.isascii():
        return decomposed
    return _NOT_ASCII.sub(lambda found: "" if unicodedata.combining(found.group()) else found.group(), decomposed)


class Word(NamedTuple):
    """A word of a text, stop words included, with its original case."""

    text: str
    """The word without accents, in its original case."""
    stem: str
    """The term that the word is matched by. Stop words have one as well."""
    is_stop: bool


class Analyzer:
    """Turns text of one language into terms. Cheap to create; safe to share between threads.

    Args:
        language: "es", "en" or a key of ``languages.STEMMERS``; any other value is treated as "en".
    """

    def __init__(self, language: str) -> None:
        self.language = language if language in LANGUAGES or language in languages.STEMMERS else "en"
        self.languages: tuple[str, ...] = (self.language,)
        """All languages of the texts, the main one first."""
        self._word_of = _word_function(self.language)
        self._word = languages.word_pattern(self.language) or _WORD

    @property
    def key(self) -> str:
        """Identifies the analysis: analyzers with equal keys produce equal terms."""
        return f"{self.language}-{ANALYSIS_VERSION}"

    def language_of(self, text: str) -> str:
        """Return which of ``languages`` a text is written in."""
        return self.language

    def terms(self, text: str) -> list[str]:
        """Return the terms of a text in order, without stop words."""
        word_of = self._word_of
        return [word.stem for found in self.found(text) if not (word := word_of(found)).is_stop]

    def words(self, text: str, limit: int | None = None) -> list[Word]:
        """Return the words of a text in order, stop words included; only the first ``limit`` if it is given."""
        if limit is not None:
            matches = islice(self._word.finditer(normalize("NFC", text)), limit)
            return [self._word_of(match.group()) for match in matches]
        return [self._word_of(found) for found in self.found(text)]

    def found(self, text: str) -> list[str]:
        """Return all words of a text in order as they are written, for ``word``."""
        # The regular expression does not match a letter followed by a separate combining accent, so compose them.
        return self._word.findall(normalize("NFC", text))

    def word(self, found: str) -> Word:
        """Analyse one word that ``found`` returned."""
        return self._word_of(found)

    def content_words(self, text: str) -> list[tuple[str, str]]:
        """Return (word as written, its term) for each word that is not a stop word, in order."""
        word_of = self._word_of
        return [(found, word.stem) for found in self.found(text) if not (word := word_of(found)).is_stop]


def analyzer_for(language: str | Analyzer) -> Analyzer:
    """Return the analyzer of a language, or the given one: a knowledge base in several languages has its own."""
    return Analyzer(language) if isinstance(language, str) else language


@lru_cache(maxsize=8)
def _word_function(language: str) -> Callable[[str], Word]:
    algorithm = LANGUAGES.get(language) or languages.STEMMERS[language]
    # Without a cache of its own: each word is stemmed once.
    stem_word = Stemmer.Stemmer(algorithm, 0).stemWord if algorithm in Stemmer.algorithms() else str
    stop_words = STOP_WORDS.get(language) or languages.STOP_WORDS.get(language, frozenset())
    plural = language == "es"
    elides = language in languages.ELISIONS

    # Large enough for the 360,000 distinct words of 100,000 encyclopaedia passages. A corpus is read more than once,
    # and an LRU cache that is slightly too small would have evicted every word before its second use.
    @lru_cache(maxsize=500_000)
    def word_of(found: str) -> Word:
        if not plural and found.isalpha() and found.isascii():  # the same result as below, in a third of the time
            lowered = found.lower()
            stem = stem_word(lowered)
            return Word(found, stem, not stem or lowered in stop_words)
        # One character can become eighteen: cut again for the stemmer.
        plain = unicodedata.normalize("NFKC", found)[:1_000].replace("’", "'").replace(".", "")
        plain = plain.removesuffix("'s").removesuffix("'S")
        lowered = plain.lower()
        if elides:
            lowered = lowered.rpartition("'")[2] or lowered
        # Stem before removing accents: the Spanish suffix rules need them ("educación" and "educar").
        stem = fold(stem_word(lowered))
        if plural and len(stem) > 3 and stem[-1] == "s" and stem[-2] in "aeiou":
            stem = stem[:-1]  # the stemmer's own rules skip words as short as "días"
        stem = re.sub(r"[\s']", "", stem)
        return Word(_without_accents(plain), stem, not stem or fold(lowered) in stop_words)

    return word_of


def detect_language(text: str) -> str:
    """Return "es" or "en", by which stop words are more frequent in the first 20,000 characters ("es" on a tie)."""
    words = [fold(word) for word in _WORD.findall(text[:20_000])]
    counts = {language: sum(word in STOP_WORDS[language] for word in words) for language in LANGUAGES}
    return "en" if counts["en"] > counts["es"] else "es"


def without_unseen(text: str) -> str:
    """Return a text without the characters that nobody sees: formats, fillers, controls. White space stays."""
    return "".join(char for char in text if not _is_unseen(char))


def _is_unseen(char: str) -> bool:
    kind = unicodedata.category(char)
    return char in _BLANK_LETTERS or kind in ("Cf", "Cs", "Co", "Cn") or (kind == "Cc" and not char.isspace())


def sentences(text: str) -> list[tuple[int, int]]:
    """Return (start, end) of each sentence, list item or heading line, without the white space around it.

    Offsets are in characters from 0; ``end`` is exclusive.
    """
    return list(each_sentence(text))


def each_sentence(text: str) -> Iterator[tuple[int, int]]:
    """Yield what ``sentences`` returns: the spans of millions of short sentences take a hundred bytes each."""
    start = 0
    for match in _SENTENCE_END.finditer(text):
        end = match.end()
        if text[match.start()] == "." and _ABBREVIATION.search(text[max(start, end - 8) : end]):
            continue
        if _ENUMERATOR.fullmatch(text, start, end):
            continue
        yield from _stripped_lines(text, start, end)
        start = end
    yield from _stripped_lines(text, start, len(text))


def cells_of(row: str) -> list[tuple[str, int, int]]:
    """Return (name of the column, start, end) of each cell of a row as readers write it: "Size: L; Price: 12 €".

    A piece without a name belongs to the cell before it. [] if the row begins without a name.
    """
    found: list[tuple[str, int, int]] = []
    at = 0
    for piece in row.split("; "):
        name, colon, _ = piece.partition(": ")
        end = at + len(piece)
        if colon and len(name.strip(" *_")) <= _LONGEST_NAME:
            found.append((name.strip(" *_"), at + len(name) + 2, end))
        elif found:
            found[-1] = (*found[-1][:2], end)
        else:
            return []
        at = end + 2
    return found


def _stripped_lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield a span without the white space around it; headings at its beginning are lines of their own."""
    while end > start and text[end - 1].isspace():
        end -= 1
    while start < end:
        if text[start].isspace():
            start += 1
            continue
        # A Markdown heading ends with its line.
        line_end = text.find("\n", start, end) if text.startswith("#", start, end) else -1
        stop = line_end if line_end > 0 else end
        yield start, stop
        start = stop
