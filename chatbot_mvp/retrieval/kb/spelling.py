"""Find the known word that a misspelt word most probably means.

Words are compared by how they sound: ``sound_key`` spells alike what people confuse (b/v, s/c/z, a mute h, doubled
letters). What differs after that must be an error of typing: a letter left out, two letters swapped, or a neighbouring
key. Any other replaced letter usually makes another word ("pagar", "pasar"), so it is accepted in long words only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Set

from rapidfuzz import process
from rapidfuzz.distance import OSA

MIN_LETTERS = 4
"""Shorter words are too often alike by chance."""
_LIKELY, _UNLIKELY = 1, 2
_ONE_ERROR, _TWO_ERRORS = 5, 8  # letters of a word from which errors of 1 or 2 in total are accepted

# Replaced one after the other; "^" is the beginning of a word. Plain strings, because a large KB has 60,000 words.
_SOUNDS = {
    "es": """ch=ç ph=f h= ll=y ny=n cce=se cci=si ce=se ci=si x=s z=s que=ke qui=ki q=k c=k gue=je gui=ji ge=je gi=ji
    v=b w=b nb=mb np=mp ^ps=^s""",
    "en": "ch=ç ph=f ^kn=^n ^wr=^r wh=w ce=se ci=si cy=si z=s ck=k c=k qu=k q=k y=i ei=i ie=i",
}
_RULES = {language: [rule.split("=") for rule in rules.split()] for language, rules in _SOUNDS.items()}
_DOUBLED = re.compile(r"(.)\1+")
_VOWELS = frozenset("aeiou")
_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
_NEXT_KEYS = {
    (one, other)
    for row, keys in enumerate(_KEYBOARD)
    for at, one in enumerate(keys)
    for near in _KEYBOARD[max(0, row - 1) : row + 2]
    for other in near[max(0, at - 1) : at + 2]
    if one != other
}


def sound_key(word: str, language: str) -> str:
    """Return a spelling that words of equal sound share: "yave" and "llave" are both "yabe" in Spanish.

    Args:
        word: in lower case without accents.
        language: "es" or "en".
    """
    word = f"^{word}"
    for letters, sound in _RULES[language]:
        if letters in word:
            word = word.replace(letters, sound)
    return _DOUBLED.sub(r"\1", word[1:])


class Spellings:
    """Known words, grouped by the first letter and the length of their keys: few misspelt words differ in the first.

    Args:
        words: in lower case without accents.
        language: "es" or "en".
        frequency: returns how often a word occurs; decides between equally similar words.
    """

    def __init__(
        self, words: Iterable[str], language: str = "es", frequency: Callable[[str], int] = lambda _: 0
    ) -> None:
        self._language = language
        self._frequency = frequency
        self._words: dict[str, list[str]] = {}
        self._keys: dict[tuple[str, int], list[str]] = {}
        self._add(words)

    def changed(self, words: Set[str], frequency: Callable[[str], int]) -> Spellings:
        """Return the spellings of other words of the same language. Costs as much as the words differ."""
        known = {word for same in self._words.values() for word in same}
        found = Spellings((), self._language, frequency)
        found._words, found._keys = dict(self._words), dict(self._keys)
        for word in known - words:
            found._remove(word)
        found._add(words - known)
        return found

    def _add(self, words: Iterable[str]) -> None:
        for word in dict.fromkeys(words):
            if len(word) >= MIN_LETTERS and word.isalpha():
                key = sound_key(word, self._language)
                if key not in self._words:
                    group = key[:1], len(key)
                    self._keys[group] = [*self._keys.get(group, ()), key]
                self._words[key] = [*self._words.get(key, ()), word]

    def _remove(self, word: str) -> None:
        key = sound_key(word, self._language)
        group = key[:1], len(key)
        if left := [other for other in self._words[key] if other != word]:
            self._words[key] = left
            return
        del self._words[key]
        self._keys[group] = [other for other in self._keys[group] if other != key]

    def nearest(self, word: str) -> str | None:
        """Return the known word that ``word`` most probably means, or None if none is close enough.

        Errors count 1 if they are likely: a letter left out or a neighbouring key pressed, two letters swapped; in
        English also a wrong vowel. Others count 2. Errors are counted in the keys or in the words, whichever has fewer.
        A word of 4 letters needs an equal key, a word of up to 7 letters may have errors of 1 in total, a longer one
        of 2. The first letter must be right or swapped with the second.
        """
        found = self.ranked(word)
        return found[-1] if found else None

    def ranked(self, word: str) -> tuple[int, int, int, str] | None:
        """Return (errors, edits, minus frequency, known word) of the word that ``nearest`` returns: less is nearer."""
        if len(word) < MIN_LETTERS or not word.isalpha():
            return None
        key = sound_key(word, self._language)
        if key in self._words:
            found = [(0, other) for other in self._words[key]]
        else:
            limit = (len(word) >= _ONE_ERROR) + (len(word) >= _TWO_ERRORS)
            # The letters count as well, because a swap can change the sound of both ("qeudan", "quedan").
            counted = [
                (min(self._errors(key, near), self._errors(word, other)), other)
                for near in self._near(key, limit)
                for other in self._words[near]
                # An error of typing together with several of sound is rather another word ("siete", "cierre").
                if OSA.distance(word, other) < 2 * limit
            ]
            found = [(errors, other) for errors, other in counted if errors <= limit]
        ranked = [(errors, OSA.distance(word, other), -self._frequency(other), other) for errors, other in found]
        return min(ranked) if ranked else None

    def _near(self, key: str, limit: int) -> Iterator[str]:
        """Yield the keys that may be within the limit, one letter longer or shorter at most."""
        if not limit:
            return
        for first in dict.fromkeys(key[:2]):
            for length in range(len(key) - 1, len(key) + 2):
                keys = self._keys.get((first, length), [])
                for other, _, _ in process.extract(key, keys, scorer=OSA.distance, score_cutoff=limit, limit=None):
                    if first == key[0] or (other[0], other[1:2]) == (key[1], key[0]):
                        yield other

    def _errors(self, typed: str, meant: str) -> int:
        """Return the least sum of errors that turn ``meant`` into ``typed`` (weighted optimal string alignment)."""
        before: list[int] = []
        row = [_LIKELY * at for at in range(len(meant) + 1)]
        for i, letter in enumerate(typed):
            above, before_that, before = row, before, row
            row = [above[0] + _UNLIKELY]
            for j, other in enumerate(meant):
                best = min(
                    above[j] + self._replaced(letter, other),
                    row[j] + _LIKELY,
                    above[j + 1] + self._extra(typed, i),
                )
                if i and j and letter == meant[j - 1] and other == typed[i - 1]:
                    best = min(best, before_that[j - 1] + _LIKELY)
                row.append(best)
        return row[-1]

    def _replaced(self, typed: str, meant: str) -> int:
        if typed == meant:
            return 0
        vowels = self._language == "en" and typed in _VOWELS and meant in _VOWELS
        return _LIKELY if vowels or (typed, meant) in _NEXT_KEYS else _UNLIKELY

    def _extra(self, typed: str, at: int) -> int:
        """Return the weight of the letter at ``at`` as one too many: likely if it is a key beside a neighbour's."""
        near = typed[max(0, at - 1) : at] + typed[at + 1 : at + 2]
        return _LIKELY if any((typed[at], other) in _NEXT_KEYS for other in near) else _UNLIKELY


class SeveralSpellings:
    """The known words of several languages: each is compared by the sounds of its own."""

    def __init__(self, spellings: Iterable[Spellings]) -> None:
        self.of_languages = tuple(spellings)
        """The words of each language, in the order of the analyzer's languages."""

    def nearest(self, word: str) -> str | None:
        """Return the known word of any language that ``word`` most probably means, as ``Spellings.nearest``."""
        found = [ranked for spellings in self.of_languages if (ranked := spellings.ranked(word))]
        return min(found)[-1] if found else None
