"""Who mentions whom in a corpus, written down once more in plain Python: one document, one word, one mention at a time.

``test_formulas.py`` and ``test_names.py`` compare the arrays of the walk with it. Only ``names_of`` and the analysis of
text are shared.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from chatbot_mvp.retrieval.bridge.names import Name, names_of
from chatbot_mvp.text import Analyzer, Word, sentences
from chatbot_mvp.types import Chunk


class Bearer(NamedTuple):
    """A document that has a name."""

    row: int
    kind: int
    """TITLE (0) or LEAD (1)."""
    form: tuple[str, ...]
    """The words of the name as the document has them, in lower case."""


class Naming(NamedTuple):
    """A name found in a text."""

    name: Name
    start: int
    """Index of its first word."""
    end: int
    """Index behind its last word."""
    fit: float
    form: tuple[str, ...]
    """Its words in lower case."""


class Bearers:
    """The names of documents, found in texts word by word.

    Args:
        described: the result of ``names_of`` for each document.
        lower: for each document, the stems that it writes in lower case.
        titles: title of each document. Documents of one title do not compete for it.
    """

    def __init__(
        self,
        described: Sequence[Mapping[Name, tuple[int, tuple[str, ...]]]],
        lower: Sequence[set[str]],
        titles: Sequence[str],
    ) -> None:
        self.titles = titles
        self.of: dict[Name, list[Bearer]] = {}
        self.usual: set[Name] = set()
        """Names that a bearer writes in lower case."""
        for row, names in enumerate(described):
            for name, (kind, form) in names.items():
                self.of.setdefault(name, []).append(Bearer(row, kind, form))
                if {*name} <= lower[row]:
                    self.usual.add(name)

    def found(self, words: Sequence[Word], cased: bool = True) -> Iterator[Naming]:
        """Yield at each word the longest name that begins there."""
        taken = 0
        for start in range(len(words)):
            for end in range(min(len(words), start + 12), start, -1):
                found = words[start:end]
                name = tuple(word.stem for word in found)
                fit = self._fit(name, found, cased) if name in self.of else 0.0
                if fit:
                    inside = 0.5 if end <= taken else 1.0
                    taken = max(taken, end)
                    yield Naming(name, start, end, fit * inside, tuple(word.text.lower() for word in found))
                    break

    def meant(self, naming: Naming) -> list[tuple[int, float]]:
        """Return (row, strength) of the documents that a name may mean."""
        bearers = self.of[naming.name]
        rivals = len({self.titles[bearer.row] for bearer in bearers})
        return [
            (row, naming.fit * (1.0, 0.8)[kind] / rivals**0.5 * (1.0 if form == naming.form else 0.8))
            for row, kind, form in bearers
        ]

    def _fit(self, name: Name, found: Sequence[Word], cased: bool) -> float:
        first = found[0]
        if len(found) == 1 and (first.is_stop or len(first.text) < 3 or first.text[0].isdigit()):
            return 0.0
        if not cased or all(w.is_stop or w.text[0].isupper() or w.text[0].isdigit() for w in found):
            return 1.0
        if name in self.usual:
            return 0.7
        return 0.0 if len(found) == 1 else 0.6


class Mention(NamedTuple):
    holder: int
    named: int
    strength: float
    sentence: int
    """Number of the sentence in its document."""
    position: int
    """Index of its first content word among those of its document."""
    width: int


@dataclass
class Document:
    title: str
    title_terms: list[str]
    sentences: list[list[str]]
    """Content stems of each sentence."""
    words: list[Word]

    @cached_property
    def text_terms(self) -> list[str]:
        return [term for sentence in self.sentences for term in sentence]

    @cached_property
    def terms(self) -> set[str]:
        return {*self.title_terms, *self.text_terms}


def content(words: Sequence[Word]) -> list[str]:
    return [word.stem for word in words if not word.is_stop]


class Library:
    """A corpus: its documents, and who mentions whom.

    Args:
        followed: number of incoming mentions, strongest first, that lead to documents which are not candidates yet.
        examined: number of incoming mentions, strongest first, that link candidates backwards.
    """

    def __init__(self, chunks: Sequence[Chunk], analyzer: Analyzer, followed: int = 40, examined: int = 2_000) -> None:
        self.analyzer = analyzer
        self.followed = followed
        self.documents: list[Document] = []
        said: list[list[list[Word]]] = []
        described = []
        for chunk in chunks:
            parts = [chunk.text[begin:end] for begin, end in sentences(chunk.text)]
            said.append([analyzer.words(part) for part in parts])
            words = [word for sentence in said[-1] for word in sentence]
            title = content(analyzer.words(chunk.section))
            self.documents.append(Document(chunk.section, title, [content(s) for s in said[-1]], words))
            described.append(names_of(chunk.section, parts[0] if parts else "", analyzer))
        lower = [{w.stem for w in d.words if w.text[0].islower()} for d in self.documents]
        self.names = Bearers(described, lower, [d.title for d in self.documents])
        in_lower = Counter(stem for stems in lower for stem in stems)
        in_upper = Counter(s for d in self.documents for s in {w.stem for w in d.words if w.text[0].isupper()})
        self.proper = {
            stem
            for d in self.documents
            for stem in d.terms
            if in_lower[stem] <= 0.1 * in_upper[stem] and len(stem) > 2 and not stem[0].isdigit()
        }
        self.mentions = [m for row in range(len(self.documents)) for m in self._mentions_of(row, said[row])]
        self.mean = max(1.0, sum(len(d.text_terms) for d in self.documents) / max(1, len(self.documents)))
        self._holders = Counter(term for d in self.documents for term in d.terms)
        self.examined = {m for row in range(len(self.documents)) for m in self.incoming(row)[:examined]}
        self._strongest: dict[frozenset[int], float] = {}
        for m in self.mentions:
            pair = frozenset((m.holder, m.named))
            self._strongest[pair] = max(m.strength, self._strongest.get(pair, 0.0))

    def _mentions_of(self, row: int, said: list[list[Word]]) -> list[Mention]:
        found: dict[int, list[Mention]] = {}
        before = 0
        for number, words in enumerate(said):
            for name in self.names.found(words):
                position = before + len(content(words[: name.start]))
                width = len(content(words[name.start : name.end]))
                for named, strength in self.names.meant(name):
                    if self.documents[named].title != self.documents[row].title:
                        found.setdefault(named, []).append(Mention(row, named, strength, number, position, width))
            before += len(content(words))
        return [mention for places in found.values() for mention in places[:4]]

    def holders(self, term: str) -> int:
        return self._holders[term]

    def idf(self, term: str) -> float:
        n, count = len(self.documents), self.holders(term)
        return math.log(1 + (n - count + 0.5) / (count + 0.5))

    def idf_or_unseen(self, term: str) -> float:
        return self.idf(term if self.holders(term) else "no document has it")

    def rarity(self, row: int) -> float:
        n, degree = len(self.documents), len({m.holder for m in self.mentions if m.named == row})
        return math.log((n + 1) / (1 + degree)) / math.log(n + 1)

    def incoming(self, row: int) -> list[Mention]:
        """The mentions of a document, strongest first."""
        of_row = (m for m in self.mentions if m.named == row)
        return sorted(of_row, key=lambda m: (-m.strength, m.holder, m.position))

    def neighbours(self, row: int) -> list[int]:
        """The documents that a document mentions, then the strongest that mention it."""
        out = sorted((m for m in self.mentions if m.holder == row), key=lambda m: (-m.strength, m.position))
        come = self.incoming(row)[: self.followed]
        return [m.named for m in out if m.strength > 0.05] + [m.holder for m in come if m.strength > 0.05]

    def shared(self, one: int, other: int, question: set[str]) -> float:
        a, b = self.documents[one], self.documents[other]
        if a.title == b.title:
            return 0.0
        common = (a.terms & b.terms & self.proper) - question
        x = sum((self.idf(term) / self.idf("no document has it")) ** 2 for term in common)
        return x / (x + 0.7)

    def alike(self, one: int, other: int) -> float:
        a, b = self.documents[one].title_terms, self.documents[other].title_terms
        common = sum(map(self.idf, {*a} & {*b}))
        return common / max(sum(map(self.idf, a)) + sum(map(self.idf, b)) - common, 1e-6)

    def link(self, one: int, other: int) -> float:
        """Square root of the strongest mention between two documents."""
        return math.sqrt(self._strongest.get(frozenset((one, other)), 0.0))
