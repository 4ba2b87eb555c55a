"""The data of a corpus that the walk reads, as arrays in files.

A "row" is a document's position in the corpus; a "content word" is a word that is not a stop word. Ragged data is
stored in one flat array with an array of row offsets (compressed sparse rows). ``building`` makes the arrays.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

from chatbot_mvp.retrieval.arrays import Array, Doubles, Floats, Ints
from chatbot_mvp.retrieval.bridge.names import Names
from chatbot_mvp.retrieval.bridge.terms import Vocabulary
from chatbot_mvp.retrieval.postings import Impacts
from chatbot_mvp.storage.arrays import Arrays

REACH = 5
"""Number of content words on either side of a mention that count as near."""
GRAPH_VERSION = 2
"""Part of the cache key. Raise it with every change that alters the links of any corpus."""


class Edges(NamedTuple):
    """Mentions grouped by the document that contains them: entries ``start[i]:start[i + 1]`` belong to document i."""

    start: Ints
    other: Array
    """The document that is named."""
    sentence: Array
    """Number of the sentence with the mention, counted from 0 over the whole corpus."""
    width: Array
    """Number of content words in the mention."""


@dataclass(frozen=True)
class Corpus:
    """N documents with D distinct terms and M mentions. Read-only; safe to share between threads."""

    documents: int
    """N."""
    unseen_idf: float
    """The idf of a term that no document has."""
    vocabulary: Vocabulary
    names: Names
    postings: Impacts
    """Index of the walk's first search."""
    words: Array
    """Term number of each content word: those of all texts, then those of all titles. Before the first text and after
    each text there are REACH entries of -1, which stand for no word."""
    start: Ints
    """Shape (2 N + 1,): offset in ``words`` of each document's text, then of each document's title, and the total."""
    word_sentence: Array
    """Sentence number of each content word of the texts, without entries between texts."""
    sentence_start: Ints
    """Shape (N + 1,): number of each document's first sentence, and the total."""
    body_norm: Doubles
    """Shape (N,): k1 * (1 - b + b * length / mean length) of each text, with k1 = 1.2 and b = 0.75."""
    title_norm: Doubles
    """Shape (N,): 1 + a quarter of the title's content words."""
    length: Floats
    """Shape (N,): ln(1 + length of the text / mean length)."""
    idf: Floats
    """Shape (D,): ln(1 + (N - n + 0.5) / (n + 0.5)), for n of N documents with the term in text or title."""
    marks: Array
    """What documents are compared by: the distinct proper words of all documents (words hardly ever written in lower
    case) as term numbers, then the distinct terms of all titles as D + term number."""
    mark_start: Ints
    """Shape (2 N + 1,): offset in ``marks`` of each document's proper words, then of each title's terms, and the
    total."""
    mark_weight: Floats
    """Shape (2 D,): weight of each mark. Proper word: (idf / highest idf)^2, 0-1; term of a title: its idf."""
    title_weight: Floats
    """Shape (N,): sum of the idf of the title's terms."""
    group: Array
    """Shape (N,): a number that documents with equal titles share."""
    rarity: Floats
    """Shape (N,): 1 if no document mentions it, near 0 for a hub: ln((N + 1) / (1 + in-degree)) / ln(N + 1)."""
    neighbours: Array
    """Rows of the documents that each document mentions, then of the strongest that mention it. May repeat a row."""
    neighbours_start: Ints
    """Shape (N + 1,): offset of each document in ``neighbours``, and the total."""
    mentions: Edges
    """The M mentions, strongest first in each document."""
    mention_begin: Array
    """Shape (M,): index in ``words`` of the first content word of each mention."""
    mention_weight: Floats
    """Shape (M,): square root of the confidence (0-1) that the mention means the document (see ``Names.meant``)."""
    is_strong: Array | None
    """Shape (M,): whether each mention is among the strongest 2,000 of the document that it names. None if all are."""

    @classmethod
    def of(cls, arrays: Arrays) -> Corpus:
        """Name the arrays that ``building`` wrote.

        Raises:
            KeyError: one is missing.
        """
        grouped = {
            name: kind(**{part: arrays[f"{name}.{part}"] for part in kind._fields})
            for name, kind in (("names", Names), ("postings", Impacts), ("mentions", Edges))
        }
        vocabulary = Vocabulary(arrays["vocabulary.key"], arrays["vocabulary.number"])
        given: dict[str, Any] = {**arrays.facts, **grouped}
        given |= {"vocabulary": vocabulary, "is_strong": arrays.get("is_strong")}
        plain: dict[str, Any] = {field.name: arrays[field.name] for field in fields(cls) if field.name not in given}
        return cls(**given, **plain)

    @classmethod
    def open(cls, folder: Path) -> Corpus:
        """Map the files of a finished build.

        Raises:
            OSError, ValueError, KeyError: a file is missing or damaged.
        """
        return cls.of(Arrays.open(folder))

    def idf_of(self, term: str) -> float:
        number = self.vocabulary.number(term)
        return self.unseen_idf if number < 0 else self.idf.item(number)

    def terms_present(self, terms: Iterable[str], rows: Sequence[int]) -> list[set[str]]:
        """Return for each document the subset of ``terms`` that occurs in its text or title."""
        numbers = [(number, term) for term in terms if (number := self.vocabulary.number(term)) >= 0]
        present = []
        for row in rows:
            has = set(self.words[self.start[row] : self.start[row + 1]].tolist())
            title = row + self.documents
            has.update(self.words[self.start[title] : self.start[title + 1]].tolist())
            present.append({term for number, term in numbers if number in has})
        return present
