"""Compare the units of all passages with a question, term by term."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chatbot_mvp.llm.base import Grounding
from chatbot_mvp.llm.extractive.kinds import Asked, Fit
from chatbot_mvp.llm.extractive.units import Unit
from chatbot_mvp.text import Analyzer

Floats = npt.NDArray[np.float64]

LEAD = 0.8
HEADING = 0.7
BEFORE = 0.3
OTHER_FORM = 0.6
PREFIX = 5
CLASS_NOUN = 0.6


@dataclass(frozen=True)
class Scores:
    """U units of all passages, compared with the T distinct terms of a question."""

    units: tuple[Unit, ...]
    terms: tuple[frozenset[str], ...]
    """The terms of each unit's own text."""
    weights: Floats
    """Weight of each term of the question, shape (T,); they add up to 1."""
    own: Floats
    """How well each unit's own text and lead have each term, 0-1, shape (U, T)."""
    cover: Floats
    """As ``own``, with the heading and the previous sentence as well."""
    fit: Floats
    """How well each unit offers the kind of answer asked for, 0-1.5, shape (U,)."""
    closeness: Floats
    """Similarity in meaning of each unit to the question, 0-1, shape (U,); 0 without a model."""


def compare(grounding: Grounding, units: Sequence[Unit], wanted: Asked, analyzer: Analyzer) -> Scores:
    """Compare units with the question of ``grounding``."""
    question = list(dict.fromkeys(analyzer.terms(grounding.question)))
    known: dict[str, frozenset[str]] = {}
    matches: dict[str, Floats] = {}

    def match(text: str) -> Floats:
        if text not in matches:
            known[text] = frozenset(analyzer.terms(text))
            matches[text] = _match(question, known[text])
        return matches[text]

    own = np.array([np.maximum(match(unit.text), LEAD * match(unit.lead)) for unit in units])
    headings = [match(passage.section) for passage in grounding.passages]
    around = [
        np.maximum(HEADING * np.maximum(headings[unit.passage], match(unit.topic)), BEFORE * match(unit.before))
        for unit in units
    ]
    cover = np.maximum(own, around)
    own_terms = tuple(known[unit.text] for unit in units)
    seen = Counter(term for terms in own_terms for term in terms)
    weights = np.array([math.log(1 + len(units) / (1 + seen[term])) for term in question])
    weights *= [CLASS_NOUN if wanted.kind == "what" and term == wanted.noun else 1.0 for term in question]
    weights *= cover.any(axis=0)
    total = float(weights.sum())
    fit = Fit(wanted, grounding.question, analyzer)
    return Scores(
        tuple(units),
        own_terms,
        weights / total if total else weights,
        own,
        cover,
        np.array([fit(unit.text) for unit in units]),
        np.zeros(len(units)),
    )


def _match(question: Sequence[str], terms: frozenset[str]) -> Floats:
    """Return 0-1 for each term of the question: 1 if it is among ``terms``, less if only another form of it is."""
    starts = {term[:PREFIX] for term in terms if len(term) >= PREFIX and not term.isdigit()}
    return np.array([1.0 if term in terms else OTHER_FORM * (term[:PREFIX] in starts) for term in question])
