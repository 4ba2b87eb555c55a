"""Collect the names of documents, and find them in texts.

A name is a sequence of stems. Its bearers are the documents that have it as title or introduce their subject with it
in the first sentence ("Richard Milhous Nixon" in *Richard Nixon*). Stop words are the only word list used.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from chatbot_mvp.text import Analyzer, Word

Name = tuple[str, ...]

TITLE, LEAD = 0, 1
_KIND_STRENGTH = (1.0, 0.8)
_OTHER_FORM = 0.8
"""Factor for a mention with another form of the name's words ("the Beatle")."""
_NESTED = 0.5
"""Factor for a name inside a longer name."""
_LOWER_CASE, _LOWER_CASE_USUAL = 0.6, 0.7
"""Factor for a mention in lower case; the second value if a bearer writes the name in lower case itself."""
_MAX_WORDS = 12


def without_parenthesis(title: str) -> str:
    """Return a title without the parenthesis at its end ("Turin (city)" becomes "Turin"), in linear time."""
    stripped = title.rstrip()
    if not stripped.endswith(")"):
        return title
    begin = stripped.find("(", stripped.rfind(")", 0, -1) + 1)
    return title if begin < 0 else stripped[:begin].rstrip()


@dataclass(frozen=True, slots=True)
class Bearer:
    """A document that bears a name."""

    row: int
    kind: int
    """TITLE (0) or LEAD (1): where the document states the name."""
    form: tuple[str, ...]
    """The words of the name as the document has them, in lower case."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A name found in a text."""

    name: Name
    start: int
    """Index of its first word."""
    end: int
    """Index behind its last word."""
    fit: float
    """0-1: how likely case and position make it that the words are meant as a name."""
    form: tuple[str, ...]
    """Its words in lower case."""


class Names:
    """All names of a corpus and their bearers."""

    def __init__(
        self, bearers: dict[Name, list[Bearer]], usual_in_lower_case: set[Name], groups: Sequence[int]
    ) -> None:
        self.bearers_of = bearers
        self.usual_in_lower_case = usual_in_lower_case
        self._groups = groups  # passages with one title do not compete for it
        lengths: dict[Name, set[int]] = {}
        for name in bearers:
            lengths.setdefault(name[:2], set()).add(len(name))
        self._lengths = {head: sorted(found, reverse=True) for head, found in lengths.items()}
        """First two stems of a name (or its only stem) -> lengths of such names in words, longest first."""
        self._heads = {head[0] for head in lengths}
        """First stems of all names, a fast test that rules out most words."""

    def mentions(self, words: Sequence[Word], cased: bool = True) -> Iterator[Mention]:
        """Yield the names in a text, from left to right; at each word the longest name, also inside other names.

        Args:
            cased: False if the text's case carries no information, such as a question typed in lower case.
        """
        taken = 0
        stems = tuple(word.stem for word in words)
        for start, stem in enumerate(stems):
            if stem not in self._heads:
                continue
            lengths = self._lengths.get(stems[start : start + 2], ()) if start + 1 < len(words) else ()
            for length in (*lengths, *self._lengths.get(stems[start : start + 1], ())):
                name = stems[start : start + length]
                if len(name) < length or name not in self.bearers_of:
                    continue
                found = words[start : start + length]
                if not _can_be_name(found):
                    continue
                fit = self._case_fit(name, found) if cased else 1.0
                if fit == 0.0:
                    continue
                end = start + length
                if end <= taken:
                    fit *= _NESTED
                taken = max(taken, end)
                yield Mention(name, start, end, fit, tuple(w.text.lower() for w in found))
                break

    def meant(self, mention: Mention) -> list[tuple[int, float]]:
        """Return (row, strength in 0-1) of the documents that a mention may mean.

        The strength falls with the number of documents that share the name (1 / square root), for a name that is not
        a title, and for another form of the words.
        """
        bearers = self.bearers_of[mention.name]
        rivals = len({self._groups[bearer.row] for bearer in bearers})
        return [
            (
                bearer.row,
                mention.fit
                * _KIND_STRENGTH[bearer.kind]
                / rivals**0.5
                * (1.0 if bearer.form == mention.form else _OTHER_FORM),
            )
            for bearer in bearers
        ]

    def _case_fit(self, name: Name, found: Sequence[Word]) -> float:
        if all(w.text[0].isupper() or w.text[0].isdigit() for w in found if not w.is_stop):
            return 1.0
        if name in self.usual_in_lower_case:
            return _LOWER_CASE_USUAL
        return 0.0 if len(found) == 1 else _LOWER_CASE


def names_of(title: str, first_sentence: str, analyzer: Analyzer) -> dict[Name, tuple[int, tuple[str, ...]]]:
    """Return name -> (kind, form) of the names that a document's title and first sentence give it."""
    found: dict[Name, tuple[int, tuple[str, ...]]] = {}

    def add(words: Sequence[Word], kind: int) -> None:
        name = tuple(word.stem for word in words)
        if not name or len(name) > _MAX_WORDS or not all(name) or all(word.is_stop for word in words):
            return
        if sum(map(len, name)) >= 3 and (name not in found or found[name][0] > kind):
            found[name] = (kind, tuple(word.text.lower() for word in words))

    plain = without_parenthesis(title)
    title_words = analyzer.words(plain)
    add(title_words, TITLE)
    add(analyzer.words(title), TITLE)
    if "," in plain:
        add(analyzer.words(plain.split(",")[0]), LEAD)
    lead = _lead_name(analyzer.words(re.split(r"[(,;:]", first_sentence, maxsplit=1)[0])[:9], title_words)
    if 1 < len(lead) <= 7 and {word.stem for word in title_words} & {word.stem for word in lead}:
        add(lead, LEAD)
    return found


def collect_names(
    described: Iterable[dict[Name, tuple[int, tuple[str, ...]]]],
    lower_case_stems: Sequence[set[str]],
    groups: Sequence[int],
) -> Names:
    """Collect the names of a corpus.

    Args:
        described: the result of ``names_of`` for each document, in row order.
        lower_case_stems: for each document, the stems that it writes in lower case.
        groups: for each document, a number that documents with equal titles share.
    """
    bearers: dict[Name, list[Bearer]] = {}
    for row, names in enumerate(described):
        for name, (kind, form) in names.items():
            bearers.setdefault(name, []).append(Bearer(row, kind, form))
    usual = {
        name
        for name, found in bearers.items()
        if any(all(stem in lower_case_stems[bearer.row] for stem in name) for bearer in found)
    }
    return Names(bearers, usual, groups)


def _can_be_name(found: Sequence[Word]) -> bool:
    if len(found) > 1:
        return True
    return not found[0].is_stop and len(found[0].text) >= 3 and not found[0].text[0].isdigit()


def _lead_name(words: list[Word], title_words: list[Word]) -> list[Word]:
    """Return the capitalised words at the start of a sentence, with the small words between them."""
    while words and words[0].is_stop and not (title_words and words[0].stem == title_words[0].stem):
        words = words[1:]
    last = 0
    for position, word in enumerate(words):
        if word.text[0].isupper() or word.text[0].isdigit():
            last = position + 1
            continue
        name_goes_on = any(following.text[0].isupper() for following in words[position + 1 : position + 3])
        if position - last >= 2 or (word.is_stop and position == last and position and not name_goes_on):
            break
    return words[:last]
