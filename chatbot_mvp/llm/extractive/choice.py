"""Choose the units that answer a question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from chatbot_mvp.llm.base import Grounding
from chatbot_mvp.llm.extractive.chain import links, title_of
from chatbot_mvp.llm.extractive.kinds import asked
from chatbot_mvp.llm.extractive.scoring import Floats, Scores, compare
from chatbot_mvp.llm.extractive.units import Unit, units_of
from chatbot_mvp.text import Analyzer

MAX_UNITS = 3
KEEP_FROM = 0.85
FIT = 0.25
LINK = 0.3
RANK = 0.04
FIRST = 0.1
PAIR_FROM = 0.25
SUPPORTS = 12
THIRD = 0.6
GAIN = 0.25
NAMED = 0.2
KNOWN_NAME = 0.5
SAME_PASSAGE = 0.6
SUBJECT = 0.2


def choose(grounding: Grounding) -> list[Unit]:
    """Return one to three units that answer the question; empty if no unit shares a term with it."""
    analyzer = Analyzer(grounding.language)
    wanted = asked(grounding.question, analyzer)
    units = [unit for number, passage in enumerate(grounding.passages) for unit in units_of(passage.text, number)]
    known = frozenset(analyzer.terms(grounding.question))
    units = [unit for unit in _distinct(units) if not known.issuperset(analyzer.terms(unit.text))]
    if not units or not known:
        return []
    scores = compare(grounding, units, wanted, analyzer)
    of = np.array([unit.passage for unit in units])
    extra = FIT * scores.fit - RANK * of
    single = scores.cover @ scores.weights + extra
    single[~scores.own.any(axis=1)] = -np.inf
    best = int(single.argmax())
    if not np.isfinite(single[best]):
        return []
    titles = [frozenset(analyzer.terms(title_of(passage))) for passage in grounding.passages]
    named = np.array([bool(title) and title <= known for title in titles])
    documents = np.array([passage.doc_id for passage in grounding.passages])
    apart = documents != documents[:, None]
    tie = _ties(links(units, grounding.passages, analyzer), of, named, apart)
    extra = extra + FIRST * np.array([unit.first for unit in units])
    compared = wanted.either and bool(named.sum() > 1)
    if compared:
        tie = np.where(named[of] & named[of][:, None] & (of != of[:, None]), NAMED, 0.0)
        extra = extra + SUBJECT * _names_subject(scores, titles, named)
    pair = _best_pair(scores, extra, tie, of, compared)
    if pair and pair[0] - single[best] >= PAIR_FROM:
        two = [pair[1], pair[2]]
        both = scores.cover[two].max(axis=0)
        gain = np.maximum(scores.cover, both) @ scores.weights - both @ scores.weights
        value = gain + extra + tie[two].max(axis=0)
        value[two] = -np.inf
        third = int(value.argmax())
        if value[third] >= THIRD and gain[third] >= GAIN:
            two.append(third)
        return [units[row] for row in two]
    order = [int(row) for row in np.argsort(-single, kind="stable")]
    keep = [row for row in order[:MAX_UNITS] if single[row] >= KEEP_FROM * single[best]]
    return sorted((units[row] for row in keep), key=lambda unit: (unit.passage, unit.start))


def _names_subject(scores, titles, named):
    """Return for each unit whether it has a word of its passage's title that no other compared title has."""
    seen = Counter(term for title, is_named in zip(titles, named, strict=True) if is_named for term in title)
    own = [frozenset(term for term in title if seen[term] <= 1) for title in titles]
    return np.array([bool(own[unit.passage] & terms) for unit, terms in zip(scores.units, scores.terms, strict=True)])


def _ties(link: Floats, of: npt.NDArray[np.int64], named: npt.NDArray[np.bool_], apart: npt.NDArray[np.bool_]) -> Floats:
    """Return how plainly two units belong together because one names the other's passage, shape (U, U), 0-LINK."""
    link = np.where(named, KNOWN_NAME * link, link)
    between = np.zeros((len(named), len(named)))
    np.maximum.at(between, of, link)
    passages = SAME_PASSAGE * np.maximum(between, between.T) * apart
    forward = link[:, of]
    tie = LINK * np.maximum(np.maximum(forward, forward.T), passages[of][:, of])
    return np.where(of == of[:, None], 0.0, tie)


def _best_pair(
    scores: Scores, extra: Floats, tie: Floats, of: npt.NDArray[np.int64], compared: bool
) -> tuple[float, int, int] | None:
    """Return (score, supporting unit, answering unit) of the best pair of units of two passages."""
    base = scores.cover @ scores.weights + extra
    best: tuple[float, int, int] | None = None
    for support in np.argsort(-base, kind="stable")[:SUPPORTS]:
        union = np.maximum(scores.cover, scores.cover[support]) @ scores.weights
        value = union + extra + tie[support] + (extra[support] if compared else -RANK * of[support])
        value[tie[support] == 0] = -np.inf
        answer = int(value.argmax())
        if np.isfinite(value[answer]) and (best is None or value[answer] > best[0]):
            best = (float(value[answer]), int(support), answer)
    return best


def _distinct(units: Sequence[Unit]) -> list[Unit]:
    seen: dict[str, Unit] = {}
    for unit in units:
        seen.setdefault(unit.text, unit)
    return list(seen.values())
