"""Find paragraphs of a knowledge base that name another section by its heading ("see Passwords and security")."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from chatbot_mvp.retrieval.kb.passages import Passage
from chatbot_mvp.text import Analyzer, fold

_MIN_LETTERS = 4  # shorter headings occur too often as ordinary words


class SectionLinks:
    """For each paragraph, the rows of all paragraphs in other sections that it names.

    A paragraph names a section if it contains the last part of its heading word for word, ignoring case and accents.
    Only the names are stored, and ``links[row]`` looks their paragraphs up: a heading that many sections share
    ("Options") would otherwise be stored once per paragraph that mentions it and paragraph below it.
    """

    def __init__(self, passages: Sequence[Passage], analyzer: Analyzer) -> None:
        self._sections = [passage.section for passage in passages]
        self._rows: dict[str, list[int]] = defaultdict(list)
        for row, section in enumerate(self._sections):
            self._rows[section].append(row)
        self._bearers: dict[str, list[str]] = defaultdict(list)  # name -> the heading paths that end with it, in order
        for section in self._rows:
            name = " ".join(_words(section.rpartition(" > ")[2]))
            if len(name) >= _MIN_LETTERS and analyzer.terms(name):
                self._bearers[name].append(section)
        lengths: dict[str, set[int]] = defaultdict(set)  # first word of a name -> numbers of words of such names
        for name in self._bearers:
            words = name.split(" ")
            lengths[words[0]].add(len(words))
        self._named: dict[int, tuple[str, ...]] = {}
        for row, passage in enumerate(passages):
            words = _words(passage.text)
            names = dict.fromkeys(
                name
                for at, word in enumerate(words)
                if word in lengths
                for length in lengths[word]
                if (name := " ".join(words[at : at + length])) in self._bearers
            )
            if names:
                self._named[row] = tuple(names)

    def __getitem__(self, row: int) -> tuple[int, ...]:
        sections = {section for name in self._named.get(row, ()) for section in self._bearers[name]}
        sections.discard(self._sections[row])
        ordered = sorted(sections, key=lambda section: self._rows[section][0])
        return tuple(named for section in ordered for named in self._rows[section])


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", fold(text))
