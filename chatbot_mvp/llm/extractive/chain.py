"""Find the names that lead from a sentence of one passage to another passage."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from chatbot_mvp.llm.extractive.scoring import Floats
from chatbot_mvp.llm.extractive.units import Unit
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk

_PARENTHESIS = re.compile(r"\s*\([^)]*\)\s*$")
_NUMBERING = re.compile(r"^\s*\d[\d.]*\s+")
_LEAST = 0.4
"""A name is recognised if it has at least this share of a title, by the rarity of the words."""


def title_of(passage: Chunk) -> str:
    """Return the innermost heading of a passage, without its number or a qualifier in parentheses."""
    return _NUMBERING.sub("", _PARENTHESIS.sub("", passage.section.rpartition(" > ")[2]))


def links(units: Sequence[Unit], passages: Sequence[Chunk], analyzer: Analyzer) -> Floats:
    """Return how plainly each of U units names each of P other passages, 0-1, shape (U, P).

    A unit names a passage by its title, or by a part of the title that no other title has ("Vidarte" for *Celso
    Vidarte*), written with a capital.
    """
    titles = [dict.fromkeys(analyzer.terms(title_of(passage))) for passage in passages]
    shared = Counter(term for title in titles for term in title)
    words = [analyzer.words(unit.text) for unit in units]
    present = [frozenset(word.stem for word in found) for found in words]
    common = Counter(term for terms in present for term in terms)
    rarity = {term: math.log(1 + len(units) / (1 + common[term])) for term in shared}
    found = np.zeros((len(units), len(passages)))
    for row, unit in enumerate(units):
        capitals = {word.stem for word in words[row] if word.text[:1].isupper() or word.text[:1].isdigit()}
        for column, title in enumerate(titles):
            if column == unit.passage or titles[unit.passage] == title:
                continue
            here = [term for term in title if term in present[row]]
            if not here or not any(term in capitals for term in here):
                continue
            if len(here) < len(title) and (
                passages[column].doc_id == passages[unit.passage].doc_id
                or not any(term in capitals and shared[term] == 1 and term not in titles[unit.passage] for term in here)
            ):
                continue
            share = sum(rarity[term] for term in here) / sum(rarity[term] for term in title)
            if share >= _LEAST:
                found[row, column] = share
    return found
