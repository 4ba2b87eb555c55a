"""Compare the units of all passages with a question, term by term."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from chatbot_mvp.llm.base import Grounding
from chatbot_mvp.llm.extractive.kinds import Asked, Fit
from chatbot_mvp.llm.extractive.reader import Reader
from chatbot_mvp.llm.extractive.units import Unit, is_question

Floats = npt.NDArray[np.float64]

LEAD = 0.8
"""A term in the line that introduces a list item, or in a table's column names; in the unit itself it counts 1."""
HEADING = 0.5
"""A term in the passage's heading, or in the question that the passage answers."""
BEFORE = 0.3
"""A term in the previous sentence."""
OTHER_FORM = 0.6
"""Another form of a term: equal in its first ``_PREFIX`` letters ("estudió", "estudios")."""
_PREFIX = 5


@dataclass(frozen=True)
class Scores:
    """U units of all passages, compared with the T distinct terms of a question."""

    units: tuple[Unit, ...]
    weights: Floats
    """Weight of each term of the question, shape (T,), by its rarity in the passages. Their sum is 1, or 0."""
    own: Floats
    """How well each unit's own text, or the question to which it replies, has each term, 0-1, shape (U, T)."""
    cover: Floats
    """As ``own``, with what introduces the unit, its heading and the previous sentence as well."""
    fit: Floats
    """How well each unit offers the kind of answer asked for, 0-1, shape (U,)."""
    closeness: Floats
    """Similarity in meaning of each unit to the question, relative to the other units: 0 for an average unit or less,
    1 for the closest one, shape (U,). All 0 without ``Grounding.closeness``."""
    passage: npt.NDArray[np.int64]
    """Index of each unit's passage, from 0, shape (U,)."""
    first: npt.NDArray[np.bool_]
    """Whether each unit is the first one of its passage, shape (U,)."""


def compare(grounding: Grounding, units: Sequence[Unit], wanted: Asked, reader: Reader) -> Scores:
    """Compare units with the question of ``grounding``.

    Args:
        units: at least one.
        wanted: what the question asks for.
    """
    question = reader.ordered_terms(grounding.question)
    matches: dict[str, Floats] = {}

    def match(text: str) -> Floats:
        if text not in matches:
            matches[text] = _match(question, reader.terms(text))
        return matches[text]

    own = np.array([match(unit.text) for unit in units])
    for row, unit in enumerate(units):
        if is_question(unit.lead):
            own[row] = np.maximum(own[row], LEAD * match(unit.lead))
    headings = [match(passage.section) for passage in grounding.passages]
    cover = own.copy()
    for row, unit in enumerate(units):
        heading = HEADING * np.maximum(headings[unit.passage], match(unit.topic))
        around = np.maximum(LEAD * match(unit.lead), BEFORE * match(unit.before))
        cover[row] = np.maximum(own[row], np.maximum(heading, around))
    seen = Counter(term for unit in units for term in reader.terms(unit.text))
    weights = np.array([math.log(1 + len(units) / (1 + seen[term])) for term in question])
    weights *= cover.any(axis=0)
    fit = Fit(wanted, grounding.question, reader)
    return Scores(
        units=tuple(units),
        weights=weights / (weights.sum() or 1.0),
        own=own,
        cover=cover,
        fit=np.array([fit(unit.text) for unit in units]),
        closeness=_closeness(grounding.closeness, units),
        passage=np.array([unit.passage for unit in units]),
        first=np.array([unit.first for unit in units]),
    )


def _match(question: Sequence[str], terms: frozenset[str]) -> Floats:
    """Return 0-1 for each term of the question: 1 if it is among ``terms``, less if only another form of it is."""
    starts = {term[:_PREFIX] for term in terms if len(term) >= _PREFIX and not term.isdigit()}
    return np.array([1.0 if term in terms else OTHER_FORM * (term[:_PREFIX] in starts) for term in question])


def _closeness(measure: Callable[[Sequence[str]], Sequence[float]] | None, units: Sequence[Unit]) -> Floats:
    # Similarities of embeddings lie close together, and where depends on the model: only their order and their
    # distances say something.
    values = np.array(measure([f"{unit.lead} {unit.text}".strip() for unit in units]) if measure else [], np.float64)
    spread = float(values.max() - values.mean()) if values.size else 0.0
    return np.clip((values - values.mean()) / spread, 0.0, 1.0) if spread > 1e-9 else np.zeros(len(units))
