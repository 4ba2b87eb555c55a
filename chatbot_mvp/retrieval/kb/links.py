"""Find paragraphs of a knowledge base that name another section by its heading ("see Passwords and security")."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from chatbot_mvp.retrieval.kb.passages import Passage
from chatbot_mvp.text import Analyzer, fold

_MIN_LETTERS = 4  # shorter headings occur too often as ordinary words


class SectionLinks:
    """For each paragraph, the rows of all paragraphs in other sections that it names.

    Only the names are stored, and ``links[row]`` looks their paragraphs up: a heading that many sections share
    ("Options") would otherwise be stored once per paragraph that mentions it and paragraph below it.

    Args:
        sections: heading path of each paragraph.
        named: row of a paragraph -> the names that it contains.
        bearers: name -> the heading paths that end with it, in order.
    """

    def __init__(
        self, sections: Sequence[str], named: Mapping[int, Sequence[str]], bearers: Mapping[str, Sequence[str]]
    ) -> None:
        self._sections = sections
        self._named = named
        self._bearers = bearers
        self._rows: dict[str, list[int]] = defaultdict(list)
        for row, section in enumerate(sections):
            self._rows[section].append(row)

    def __len__(self) -> int:
        return len(self._sections)

    def __getitem__(self, row: int) -> tuple[int, ...]:
        if not 0 <= row < len(self._sections):
            raise IndexError(row)
        sections = {section for name in self._named.get(row, ()) for section in self._bearers[name]}
        sections.discard(self._sections[row])
        ordered = sorted(sections, key=lambda section: self._rows[section][0])
        return tuple(named for section in ordered for named in self._rows[section])

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return (self[row] for row in range(len(self)))


def named_sections(passages: Sequence[Passage], analyzer: Analyzer) -> SectionLinks:
    """Return for each paragraph the rows of all paragraphs in other sections that it names.

    A paragraph names a section if it contains the last part of its heading word for word, ignoring case and accents.
    """
    bearers: dict[str, list[str]] = defaultdict(list)
    for section in dict.fromkeys(passage.section for passage in passages):
        name = " ".join(_words(section.rpartition(" > ")[2]))
        if len(name) >= _MIN_LETTERS and analyzer.terms(name):
            bearers[name].append(section)
    lengths: dict[str, set[int]] = defaultdict(set)  # first word of a name -> numbers of words of such names
    for name in bearers:
        words = name.split(" ")
        lengths[words[0]].add(len(words))
    found: dict[int, tuple[str, ...]] = {}
    for row, passage in enumerate(passages):
        words = _words(passage.text)
        names = dict.fromkeys(
            name
            for at, word in enumerate(words)
            if word in lengths
            for length in lengths[word]
            if (name := " ".join(words[at : at + length])) in bearers
        )
        if names:
            found[row] = tuple(names)
    return SectionLinks([passage.section for passage in passages], found, bearers)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", fold(text))
