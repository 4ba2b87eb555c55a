"""Find paragraphs of a knowledge base that name another section by its heading ("see Passwords and security")."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property

from chatbot_mvp.retrieval.kb.passages import Passage
from chatbot_mvp.text import Analyzer, fold

_MIN_LETTERS = 4  # shorter headings occur too often as ordinary words


class SectionLinks:
    """For each paragraph, the rows of all paragraphs in other sections that it names.

    A paragraph names a section if it contains the last part of its heading word for word, ignoring case and accents.
    What a paragraph names is found when it is asked for: a search asks for a few paragraphs, and reading all of them
    for every new heading would make a change of one document cost as much as all documents.

    Args:
        earlier: the links of another version of the knowledge base, whose analyzer gives headings the same terms.
    """

    def __init__(self, passages: Sequence[Passage], analyzer: Analyzer, earlier: SectionLinks | None = None) -> None:
        self._passages = passages
        self._analyzer = analyzer
        self._known = earlier._names if earlier is not None else {}

    @cached_property
    def _rows(self) -> dict[str, list[int]]:
        """Section -> its paragraphs."""
        rows: dict[str, list[int]] = defaultdict(list)
        for row, passage in enumerate(self._passages):
            rows[passage.section].append(row)
        return rows

    @cached_property
    def _names(self) -> dict[str, str]:
        """Section -> the words by which it is named; "" if it cannot be named. In the order of the sections."""
        known = self._known
        self._known = {}  # else every version would keep the ones before
        return {section: known[section] if section in known else self._name(section) for section in self._rows}

    @cached_property
    def _bearers(self) -> dict[str, list[str]]:
        """Name -> the heading paths that end with it, in order."""
        bearers: dict[str, list[str]] = defaultdict(list)
        for section, name in self._names.items():
            if name:
                bearers[name].append(section)
        return dict(bearers)

    @cached_property
    def _lengths(self) -> dict[str, set[int]]:
        """First word of a name -> numbers of words of such names."""
        lengths: dict[str, set[int]] = defaultdict(set)
        for name in self._bearers:
            words = name.split(" ")
            lengths[words[0]].add(len(words))
        return dict(lengths)

    def __getitem__(self, row: int) -> tuple[int, ...]:
        words = _words(self._passages[row].text)
        names = {
            name
            for at, word in enumerate(words)
            for length in self._lengths.get(word, ())
            if (name := " ".join(words[at : at + length])) in self._bearers
        }
        sections = {section for name in names for section in self._bearers[name]}
        sections.discard(self._passages[row].section)
        ordered = sorted(sections, key=lambda section: self._rows[section][0])
        return tuple(named for section in ordered for named in self._rows[section])

    def _name(self, section: str) -> str:
        name = " ".join(_words(section.rpartition(" > ")[2]))
        return name if len(name) >= _MIN_LETTERS and self._analyzer.terms(name) else ""


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", fold(text))
