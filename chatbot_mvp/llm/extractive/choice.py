"""Choose the units that answer a question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
RANK = 0.03
FIRST = 0.05
PAIR_FROM = 0.25
SUPPORTS = 12
NAMED = 0.2


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
    prior = np.array([FIRST * unit.first - RANK * unit.passage for unit in units])
    extra = FIT * scores.fit + prior
    single = scores.cover @ scores.weights + extra
    single[~scores.own.any(axis=1)] = -np.inf
    best = int(single.argmax())
    if not np.isfinite(single[best]):
        return []
    link = links(units, grounding.passages, analyzer)
    titles = [set(analyzer.terms(title_of(passage))) for passage in grounding.passages]
    named = np.array([bool(title) and title <= known for title in titles])
    pair = _best_pair(scores, single, extra, link, named, wanted.either)
    if pair and pair[0] - single[best] >= PAIR_FROM:
        return [units[pair[1]], units[pair[2]]]
    order = [int(row) for row in np.argsort(-single, kind="stable")]
    keep = [row for row in order[:MAX_UNITS] if single[row] >= KEEP_FROM * single[best]]
    return sorted((units[row] for row in keep), key=lambda unit: (unit.passage, unit.start))


def _best_pair(
    scores: Scores, single: Floats, extra: Floats, link: Floats, named: np.ndarray, either: bool
) -> tuple[float, int, int] | None:
    """Return (score, supporting unit, answering unit) of the best pair of linked units of two passages."""
    of = np.array([unit.passage for unit in scores.units])
    base = scores.cover @ scores.weights + extra
    best: tuple[float, int, int] | None = None
    for support in np.argsort(-base, kind="stable")[:SUPPORTS]:
        tie = np.maximum(link[support][of], link[:, of[support]])
        tie = LINK * tie
        if either:
            tie = np.maximum(tie, NAMED * (named[of] & named[of[support]]))
        union = np.maximum(scores.cover, scores.cover[support]) @ scores.weights
        value = union + extra + tie - RANK * of[support]
        value[(of == of[support]) | (tie == 0)] = -np.inf
        answer = int(value.argmax())
        if np.isfinite(value[answer]) and (best is None or value[answer] > best[0]):
            best = (float(value[answer]), int(support), answer)
    return best


def _distinct(units: Sequence[Unit]) -> list[Unit]:
    seen: dict[str, Unit] = {}
    for unit in units:
        seen.setdefault(unit.text, unit)
    return list(seen.values())
