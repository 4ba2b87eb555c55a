"""The scores of paragraphs, written down once more in plain Python: one paragraph, one window, one term at a time.

``test_formulas.py`` compares the indexes in arrays with it. Only the analysis of text is shared.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from chatbot_mvp.retrieval.kb.passages import Passage
from chatbot_mvp.text import Analyzer, fold, sentences


def idf(holders: int, count: int) -> float:
    return math.log(1 + (count - holders + 0.5) / (holders + 0.5))


class Paragraphs:
    def __init__(self, passages: Sequence[Passage], analyzer: Analyzer) -> None:
        self.passages, self.analyzer = passages, analyzer
        self.terms = [self._terms(p.section, p.context, p.text) for p in passages]
        """Terms of each paragraph with its heading and context."""
        self.searched = [self._terms(p.section, p.context, p.questions, p.text) for p in passages]
        self.sentences = [[p.text[start:end] for start, end in sentences(p.text)] or [p.text] for p in passages]
        self.windows = [[" ".join(of[n : n + 2]) for n in range(len(of))] for of in self.sentences]

    def _terms(self, *texts: str) -> list[str]:
        return [term for text in texts for term in self.analyzer.terms(text)]

    def idf(self, term: str, searched: bool = False) -> float:
        units = self.searched if searched else self.terms
        return idf(sum(term in unit for unit in units), len(units))

    def bm25(self, weights: Mapping[str, float], searched: bool = False) -> list[float]:
        units = self.searched if searched else self.terms
        mean = max(1.0, sum(map(len, units)) / len(units))
        return [
            sum(
                weight
                * self.idf(term, searched)
                * unit.count(term)
                * 2.2
                / (unit.count(term) + 1.2 * (0.25 + 0.75 * len(unit) / mean))
                for term, weight in weights.items()
            )
            for unit in units
        ]

    def best_window(self, features_of: Callable[[int, str], set[str]], weights: Mapping[str, float]) -> list[float]:
        """The idf-weighted share of features that the best window of each paragraph has."""
        windows = [[features_of(row, text) for text in of] for row, of in enumerate(self.windows)]
        flat = [has for of in windows for has in of]
        weighted = {f: weight * idf(sum(f in has for has in flat), len(flat)) for f, weight in weights.items()}
        total = sum(weighted.values())
        shares = [[sum(w for f, w in weighted.items() if f in has) for has in of] for of in windows]
        return [max(of) / total if total else 0.0 for of in shares]

    def coverage(self, weights: Mapping[str, float]) -> list[float]:
        return self.best_window(lambda _, text: set(self.analyzer.terms(text)), weights)

    def letters(self, text: str) -> list[float]:
        def grams_of(row: int, window: str) -> set[str]:
            return self.grams(f"{self.passages[row].section} {window}")

        return self.best_window(grams_of, dict.fromkeys(sorted(self.grams(text)), 1.0))

    def grams(self, text: str) -> set[str]:
        padded = [f" {fold(word)} " for word, _ in self.analyzer.content_words(text)]
        return {word[at : at + 4] for word in padded for at in range(max(1, len(word) - 3))}

    def pairs(self, terms: Sequence[str]) -> list[float]:
        asked = dict.fromkeys(pairwise(terms))
        seen = [{*pairwise(unit), *zip(unit, unit[2:], strict=False)} for unit in self.terms]
        return [sum(pair in of for pair in asked) / len(asked) if asked else 0.0 for of in seen]

    def heading(self, terms: Iterable[str]) -> list[float]:
        return [float(len({*terms} & {*self.analyzer.terms(p.section)})) for p in self.passages]


def frequent(paragraphs: Sequence[Sequence[str]], most: int) -> dict[str, int]:
    """Terms and phrases of up to three terms that occur twice in the texts."""
    counts = Counter(
        " ".join(terms[at : at + size])
        for terms in paragraphs
        for size in (1, 2, 3)
        for at in range(len(terms) - size + 1)
    )
    often = sorted(((n, phrase) for phrase, n in counts.items() if n >= 2), key=lambda item: (-item[0], item[1]))
    return {phrase: n for n, phrase in often[:most]}


def neighbours(paragraphs: Sequence[Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """The five terms most bound to each term: Dice coefficient of those at most six terms apart at least twice."""
    together, alone = Counter[tuple[str, str]](), Counter[str]()
    for terms in paragraphs:
        alone.update(terms)
        for at, one in enumerate(terms):
            for other in terms[at + 1 : at + 7]:
                if other != one:
                    together.update([(one, other), (other, one)])
    bound: dict[str, list[tuple[float, str]]] = {}
    for (one, other), count in together.items():
        if count >= 2:
            bound.setdefault(one, []).append((-2 * count / (alone[one] + alone[other]), other))
    return {one: tuple(other for _, other in sorted(found)[:5]) for one, found in bound.items()}


def ranked(scores: Sequence[float], positions: Sequence[Sequence[int]], ids: Sequence[str]) -> list[tuple[int, int]]:
    """(chunk, its best paragraph) by falling score; nearly equal chunks by all their paragraphs, then by id."""
    of = {chunk: [row for row, found in enumerate(positions) if chunk in found] for chunk in range(len(ids))}
    best = {chunk: max(rows, key=lambda row: (scores[row], -row)) for chunk, rows in of.items() if rows}
    order = sorted(best, key=lambda c: (-(scores[best[c]] + 1e-3 * sum(scores[row] for row in of[c])), ids[c]))
    return [(chunk, best[chunk]) for chunk in order if scores[best[chunk]] > 0]
