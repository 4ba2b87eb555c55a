"""Choose the units that answer a question.

All values are in shares of the question's terms, weighted by rarity: 1 is a unit that has every term. The constants
were set on even rows of development data and checked on the odd ones (see decision 0100).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from chatbot_mvp.llm.base import Grounding
from chatbot_mvp.llm.extractive.cells import answer_from_cells, rows_that_lack_it
from chatbot_mvp.llm.extractive.chain import Ties, ties
from chatbot_mvp.llm.extractive.kinds import asked
from chatbot_mvp.llm.extractive.proof import prove
from chatbot_mvp.llm.extractive.reader import Reader, reader_of
from chatbot_mvp.llm.extractive.scoring import Scores, compare
from chatbot_mvp.llm.extractive.superseding import day_of, is_later, superseded_on
from chatbot_mvp.llm.extractive.units import Unit, units_of
from chatbot_mvp.llm.extractive.values import says_no

FIT = 0.25
"""Value of offering the kind of answer asked for."""
CLOSE = 0.4
"""Value of being the unit that is closest in meaning to the question."""
RANK = 0.05
"""A unit's score is divided by one plus this for each rank that its passage stands behind the best one."""
MAX_UNITS = 3
KEEP_FROM = 0.82
"""Further units are quoted if they score at least this share of the best one."""
PAIR_FROM = 0.25
"""A pair of units is preferred to a single one if it scores at least this much more."""
FIRST = 0.1
"""Value, in a pair, of being the sentence with which a passage introduces its subject."""
SUBJECT = 0.2
"""Value, in a comparison, of naming the subject that is compared."""


class Choice(NamedTuple):
    """What answers a question."""

    units: Sequence[Unit]
    """In reading order."""
    proof: float | None
    """As ``Proof.value``, over what is asked for; None if none is asked for."""
    said: str = ""
    """What is computed from the units; "" if nothing is."""


def choose(grounding: Grounding) -> Choice:
    """Return the units that answer a question.

    Of several questions, these are the units of all of them, or none. If ``grounding`` asks for a proof, they are the
    rows of a table that answer it, else one proven unit or none (see ``prove``). Without, they are the nearest ones, at
    most three; none if nothing resembles the question.
    """
    if grounding.parts:
        found = [choose(part) for part in grounding.parts]
        value = min(part.proof or 0.0 for part in found)
        if value < 1:
            return Choice([], value)
        said = "; ".join(part.said for part in found if part.said)
        return Choice(list(dict.fromkeys(unit for part in found for unit in part.units)), value, said)
    if grounding.least_proof is None:
        return Choice(_nearest(grounding, Reader(grounding.language, grounding.analyzer)), None)
    reader = reader_of(grounding)
    units = [unit for unit in _new_ones(grounding, reader) if not is_later(unit, grounding)]
    if not units:
        return Choice([], 0.0)
    cells = answer_from_cells(grounding, reader)
    later = cells and any(is_later(unit, grounding) for unit in cells.units)
    if cells and not later and not superseded_on(cells.units, units, grounding, reader):
        return Choice(cells.units, cells.value, cells.said)
    proof = prove(grounding, units, reader)
    if now := superseded_on([proof.unit], units, grounding, reader):
        held = [unit for unit in units if (day := day_of(unit, grounding)) is None or day >= now]
    else:  # what it has replaced does not compete with it
        held = [unit for unit in units if not superseded_on([unit], [proof.unit], grounding, reader)]
    if len(held) < len(units):
        proof = prove(grounding, held, reader)
    lacks = proof.unit.text in rows_that_lack_it(grounding, reader)
    value = 0.0 if lacks or superseded_on([proof.unit], held, grounding, reader) else proof.value
    value /= grounding.least_proof
    return Choice([proof.unit] if value >= 1 else [], value)


def _nearest(grounding: Grounding, reader: Reader) -> list[Unit]:
    if not (units := _new_ones(grounding, reader)):
        return []
    wanted = asked(grounding.question, reader)
    scores = compare(grounding, units, wanted, reader)
    single = scores.cover @ scores.weights + FIT * scores.fit + CLOSE * scores.closeness
    single /= 1 + RANK * scores.passage
    if scores.cover.any():
        single[~scores.cover.any(axis=1)] = -np.inf
    if not scores.own.any():
        single += FIRST * scores.first  # a section begins with what it is about
    best = float(single.max())
    if not (scores.cover.any() or scores.closeness.any()):
        return []
    value, linked = _linked(scores, ties(scores, grounding.passages, grounding.question, wanted, reader))
    if value - best >= PAIR_FROM:
        return [units[row] for row in linked]
    keep: list[Unit] = []
    for row in np.argsort(-single, kind="stable"):
        if single[row] < KEEP_FROM * best or len(keep) == MAX_UNITS:
            break
        unit = units[row]
        held = [other for other in keep if unit.overlaps(other)]
        # A sentence that is quoted with the one that it refers to takes the place of that one.
        if all({*other.spans} < {*unit.spans} for other in held):
            keep = [*(other for other in keep if other not in held), unit]
    return sorted(keep, key=lambda unit: (unit.passage, unit.spans[-1]))


def _new_ones(grounding: Grounding, reader: Reader) -> list[Unit]:
    """Return the distinct units of all passages that do not only repeat the question. Denying it is no repetition."""
    known = reader.terms(grounding.question)
    distinct: dict[str, Unit] = {}
    if known:
        for number, passage in enumerate(grounding.passages):
            for unit in units_of(passage.text, number):
                quoted = "\n".join(passage.text[start:end] for start, end in unit.spans)
                denies = grounding.least_proof is not None and says_no(quoted) and not says_no(grounding.question)
                if denies or not reader.terms(quoted) <= known:
                    distinct.setdefault(unit.text, unit)
    return list(distinct.values())


def _linked(scores: Scores, tied: Ties) -> tuple[float, Sequence[int]]:
    """Return (value, indexes) of the best units of two passages that are tied together; (-inf, ()) if none.

    The first unit leads to the second, which offers the answer: only the second needs to be of the kind asked for. In
    a comparison, both do.
    """
    extra = FIT * scores.fit + FIRST * scores.first + SUBJECT * (tied.has_subject & tied.compares)
    close = CLOSE * scores.closeness
    best: tuple[float, Sequence[int]] = (-np.inf, ())
    for support in np.argsort(-(scores.cover @ scores.weights + extra + close), kind="stable"):
        # Each half of the question is close to one of the two: as for terms, the better one counts.
        together = np.maximum(scores.cover, scores.cover[support]) @ scores.weights
        together += np.maximum(close, close[support])
        value = together + extra + tied.value[support] + (extra[support] if tied.compares else 0.0)
        value = value / (1 + RANK * (scores.passage + scores.passage[support]))
        value = np.where(tied.value[support] > 0, value, -np.inf)
        answer = int(value.argmax())
        if value[answer] > best[0]:
            best = float(value[answer]), (int(support), answer)
    return best
