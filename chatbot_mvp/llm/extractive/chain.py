"""Tie sentences of different passages together: by the names of a two-hop question, or by the subjects it compares."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chatbot_mvp.llm.extractive.kinds import Asked
from chatbot_mvp.llm.extractive.reader import Reader
from chatbot_mvp.llm.extractive.scoring import Floats, Scores
from chatbot_mvp.types import Chunk

LINK = 0.3
"""Value of a tie by a name, in shares of the question's terms."""
KNOWN_NAME = 0.5
"""Factor if the question itself has the name: it leads to nothing new."""
SAME_PASSAGE = 0.4
"""Factor if not the sentence has the name, but another sentence of its passage."""
COMPARED = 0.2
"""Value of a tie between sentences about two subjects that the question compares."""
_PARENTHESIS = re.compile(r"\s*\([^)]*\)\s*$")
_NUMBERING = re.compile(r"^\s*\d[\d.]*\s+")

Title = frozenset[str]


@dataclass(frozen=True)
class Ties:
    """Which of U units belong together."""

    value: Floats
    """Value of going on from each unit to each other one, shape (U, U); 0 where nothing ties them, and within a
    passage."""
    compares: bool
    """True if the ties are those between the subjects that the question compares."""
    has_subject: npt.NDArray[np.bool_]
    """Whether each unit itself names what its passage is about, shape (U,)."""


def ties(scores: Scores, passages: Sequence[Chunk], question: str, wanted: Asked, reader: Reader) -> Ties:
    """Return the ties between the units of different passages."""
    titles = [reader.terms(_title(passage)) for passage in passages]
    asked_for = reader.terms(question)
    named = np.array([bool(title) and title <= asked_for for title in titles])
    of = scores.passage
    other = of[:, None] != of
    if compares := wanted.either and int(named.sum()) > 1:
        value = np.where(named[of][:, None] & named[of] & other, COMPARED, 0.0)
    else:
        documents = np.array([passage.doc_id for passage in passages])
        link = _links(scores, passages, titles, reader) * np.where(named, KNOWN_NAME, 1.0)
        between = np.zeros((len(titles), len(titles)))
        np.maximum.at(between, of, link)
        around = SAME_PASSAGE * between * (documents[:, None] != documents)
        value = LINK * np.maximum(link[:, of], around[of][:, of]) * other
    return Ties(value, compares, _has_subject(scores, titles, named, reader))


def _title(passage: Chunk) -> str:
    """Return the innermost heading of a passage, without its number or a qualifier in parentheses."""
    return _NUMBERING.sub("", _PARENTHESIS.sub("", passage.section.rpartition(" > ")[2]))


def _links(scores: Scores, passages: Sequence[Chunk], titles: Sequence[Title], reader: Reader) -> Floats:
    """Return how plainly each of U units names each of P other passages, 0-1, shape (U, P).

    A unit names a passage by its title, with a capital letter. In another document, a part of the title that no other
    title has is enough ("Vidarte" for *Celso Vidarte*).
    """
    bearers = Counter(term for title in titles for term in title)
    words = [reader.words(unit.text) for unit in scores.units]
    present = [frozenset(word.stem for word in found) for found in words]
    common = Counter(term for terms in present for term in terms)
    rarity = {term: math.log(1 + len(words) / (1 + common[term])) for term in bearers}
    total = [sum(rarity[term] for term in title) for title in titles]
    found = np.zeros((len(words), len(titles)))
    for row, unit in enumerate(scores.units):
        here = present[row].intersection(bearers)
        capitals = {word.stem for word in words[row] if word.stem in here and not word.text[0].islower()}
        own = titles[unit.passage]
        for column, title in enumerate(titles):
            if title == own or not title & capitals:
                continue
            part = title & here
            if part != title and (
                passages[column].doc_id == passages[unit.passage].doc_id
                or not any(bearers[term] == 1 and term not in own for term in title & capitals)
            ):
                continue
            found[row, column] = sum(rarity[term] for term in part) / total[column]
    return found


def _has_subject(
    scores: Scores, titles: Sequence[Title], named: npt.NDArray[np.bool_], reader: Reader
) -> npt.NDArray[np.bool_]:
    """Return for each unit whether it has a word of its passage's title that no other title in the question has."""
    bearers = Counter(term for title, is_named in zip(titles, named, strict=True) if is_named for term in title)
    distinct = [frozenset(term for term in title if bearers[term] <= 1) for title in titles]
    return np.array([bool(distinct[unit.passage] & reader.terms(unit.text)) for unit in scores.units])
