"""The formulas of the walk, written down once more in plain Python: one document, one term, one mention at a time.

Slow and without any array. ``test_formulas.py`` compares the walk with it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from tests.retrieval.bridge.reference_corpus import Library, Mention, content


@dataclass
class Asked:
    """A question over a library."""

    library: Library
    text: str
    idf: dict[str, float] = field(default_factory=dict)
    """Term -> idf, in the order of the question."""
    pairs: dict[tuple[str, str], float] = field(default_factory=dict)
    named: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Row -> (strength, idf of the name)."""

    def __post_init__(self) -> None:
        words = self.library.analyzer.words(self.text)
        for term in content(words):
            unseen = self.library.holders(term) == 0
            self.idf[term] = 0.5 * self.library.idf("no document has it") if unseen else self.library.idf(term)
        lower = {(a, b): min(self.idf[a], self.idf[b]) for a, b in pairwise(content(words)) if a != b}
        self.pairs = {pair: weight / sum(lower.values()) for pair, weight in lower.items()}
        cased = any(word.text[0].isupper() for word in words[1:])
        for name in self.library.names.found(words, cased):
            idf = sum(self.idf[term] for term in {*content(words[name.start : name.end])})
            for row, strength in self.library.names.meant(name):
                if row not in self.named or strength * idf > math.prod(self.named[row]):
                    self.named[row] = strength, idf

    @cached_property
    def total(self) -> float:
        return sum(self.idf.values()) or 1.0

    def share(self, terms: set[str]) -> float:
        return sum(idf for term, idf in self.idf.items() if term in terms) / self.total

    def new(self, row: int, other: int) -> float:
        """Share of the question that a document has and another one lacks."""
        return self.share(self.library.documents[row].terms - self.library.documents[other].terms)

    def body(self, row: int) -> float:
        document = self.library.documents[row]
        norm = 1.2 * (0.25 + 0.75 * len(document.text_terms) / self.library.mean)
        counts = Counter(document.text_terms)
        return sum(idf * counts[t] * 2.2 / (counts[t] + norm) for t, idf in self.idf.items())

    def title(self, row: int) -> float:
        terms = self.library.documents[row].title_terms
        return 2 * self.share({*terms}) * self.total / (1 + 0.25 * len(terms))

    def best_sentence(self, row: int) -> float:
        document = self.library.documents[row]
        return max(self.share({*s, *document.title_terms}) for s in document.sentences or [[]])

    def neighbouring(self, row: int) -> float:
        document = self.library.documents[row]
        seen = {*pairwise(document.title_terms), *pairwise(document.text_terms)}
        return sum(weight for pair, weight in self.pairs.items() if pair in seen)

    def around(self, mention: Mention) -> float:
        """Share of the question's terms in the sentence of a mention, and of those near it by their distance."""
        holder = self.library.documents[mention.holder]
        named_title = {*self.library.documents[mention.named].title_terms}
        text, total = holder.text_terms, 0.0
        for term, idf in self.idf.items():
            if term in named_title:
                continue
            total += idf * (term in {*holder.sentences[mention.sentence], *holder.title_terms})
            for distance in range(1, 6):
                left, right = mention.position - distance, mention.position + mention.width - 1 + distance
                if term in [text[at] for at in (left, right) if 0 <= at < len(text)]:
                    total += idf / (0.5 + distance / 2)
                    break
        return total / self.total


def scaled(values: Mapping[int, float]) -> dict[int, float]:
    top = max(max(values.values()), 1e-6)
    return {row: value / top for row, value in values.items()}


def best(score: Mapping[int, float]) -> list[int]:
    return sorted(score, key=lambda row: -score[row])


@dataclass
class Walked:
    """Candidates (rows in their order) and features of a question."""

    asked: Asked
    bm25: dict[int, float]
    """Row -> score of the BM25 search, best first."""
    cosine: dict[int, float]
    """Row -> cosine, of all documents; empty without vectors."""
    nearest: list[int]

    def __post_init__(self) -> None:
        library = self.asked.library
        self.rows = list(dict.fromkeys([*self.bm25, *self.nearest, *self.asked.named]))
        for row in best(self.look())[:6]:
            self.rows += [other for other in dict.fromkeys(library.neighbours(row)) if other not in self.rows]

    def cosine_scaled(self) -> dict[int, float]:
        if not self.cosine:
            return dict.fromkeys(self.rows, 0.0)
        of_rows = sorted((self.cosine[row] for row in self.rows), reverse=True)
        low, high = of_rows[min(60, len(of_rows)) - 1], of_rows[0]
        return {row: (self.cosine[row] - low) / max(high - low, 1e-6) for row in self.rows}

    def named_idf(self, row: int) -> float:
        strength, idf = self.asked.named.get(row, (0.0, 0.0))
        return strength * idf / self.asked.total

    def look(self) -> dict[int, float]:
        bm25 = scaled({row: self.bm25.get(row, 0.0) for row in self.rows})
        match = scaled({row: self.asked.body(row) + 0.5 * self.asked.title(row) for row in self.rows})
        near = self.cosine_scaled()
        return scaled(
            {
                row: 0.5 * bm25[row]
                + 0.5 * match[row]
                + 0.6 * min(1.0, 2 * self.named_idf(row))
                + 0.3 * self.asked.best_sentence(row)
                + 0.2 * self.asked.neighbouring(row)
                + 0.8 * near[row]
                for row in self.rows
            }
        )

    def links(self, parents: Sequence[int]) -> list[tuple[str, int, int, Mention]]:
        """(direction, parent, candidate, mention) of the mentions between the parents and all candidates."""
        inside = [m for m in self.asked.library.mentions if m.holder in self.rows and m.named in self.rows]
        return [("forward", m.holder, m.named, m) for m in inside if m.holder in parents] + [
            ("backward", m.named, m.holder, m)
            for m in inside
            if m.named in parents and m in self.asked.library.examined
        ]

    def features(self) -> dict[str, dict[int, float]]:
        asked, library, rows = self.asked, self.asked.library, self.rows
        look = self.look()
        lent = {"forward": dict.fromkeys(rows, 0.0), "backward": dict.fromkeys(rows, 0.0)}
        for side, parent, row, m in self.links(best(look)[:6]):
            value = look[parent] * math.sqrt(m.strength) * (0.15 + asked.around(m) + asked.new(row, parent))
            lent[side][row] = max(lent[side][row], value * (0.3 + library.rarity(m.named)))
        hand = scaled({row: look[row] + 0.8 * lent["forward"][row] + 0.6 * lent["backward"][row] for row in rows})
        f = {
            "hand": hand,
            "named_idf": {row: self.named_idf(row) for row in rows},
            "named_exact": {row: float(asked.named.get(row, (0.0, 0.0))[0] >= 1) for row in rows},
            "title_match": {row: asked.title(row) / asked.total for row in rows},
            "length": {row: math.log(1 + len(library.documents[row].text_terms) / library.mean) for row in rows},
            "hub": {row: 1 - library.rarity(row) for row in rows},
            "cosine_scaled": self.cosine_scaled(),
            "cosine": {row: self.cosine.get(row, 0.0) for row in rows},
        }
        parents = best(hand)[:8]
        zero = dict.fromkeys(rows, 0.0)
        forward_new, pair, support = dict(zero), dict(zero), dict(zero)
        met: dict[int, set[int]] = {row: set() for row in rows}
        for side, parent, row, m in self.links(parents):
            weight, new = math.sqrt(m.strength), asked.new(row, parent)
            if side == "forward":
                forward_new[row] = max(forward_new[row], hand[parent] * weight * new)
            both = asked.share(library.documents[parent].terms) + new
            pair[row] = max(pair[row], 0.5 * (hand[row] + hand[parent]) * weight * both)
            support[parent] = max(support[parent], hand[row] * weight * (0.2 + new))
            met[row].add(parent)
        left = asked.share(set(asked.idf) - library.documents[parents[0]].terms)
        words = {row: [library.shared(row, p, set(asked.idf)) * hand[p] for p in parents] for row in rows}
        return f | {
            "forward_new": forward_new,
            "pair": pair,
            "support": support,
            "link_count": {row: min(1.0, 0.2 * len(met[row])) for row in rows},
            "new_to_top": {row: asked.new(row, parents[0]) / left if left else 0.0 for row in rows},
            "words": {row: max(words[row]) for row in rows},
            "words_new": {
                row: max(v * asked.new(row, p) for v, p in zip(words[row], parents, strict=True)) for row in rows
            },
        }

    def chosen(
        self,
        score: Mapping[int, float],
        weights: Mapping[str, float],
        nearness: Mapping[int, Mapping[int, float]],
        by_words: Mapping[int, Mapping[int, float]],
    ) -> list[int]:
        """All candidates: ten of the best 40 chosen one by one, then the others by their score.

        Args:
            nearness: row of a document with a second query -> nearness of each candidate to this query, by vectors.
            by_words: the same by words.
        """
        asked, library = self.asked, self.asked.library
        order = best(score)
        pool, taken = order[:40], [order[0]]
        while len(taken) < min(10, len(pool)):
            covered = set().union(*(library.documents[row].terms for row in taken))
            values = {}
            for row in (row for row in pool if row not in taken):
                new = asked.share(library.documents[row].terms - covered)
                links = [library.link(row, other) for other in taken]
                hop = max(nearness.get(other, {}).get(row, 0.0) for other in taken)
                word_hop = max(by_words.get(other, {}).get(row, 0.0) for other in taken)
                features = {
                    "score": score[row] - score[order[0]],
                    "new": new,
                    "linked_new": new * max(links),
                    "alone_new": new * (max(links) == 0),
                    "links": min(1.0, sum(link >= 0.3 for link in links) / 3),
                    "hop_new": new * hop,
                    "word_hop_new": new * word_hop,
                    "words": max(library.shared(row, other, set(asked.idf)) for other in taken),
                    "dup": max(library.alike(row, other) for other in taken),
                    "hop": hop,
                    "word_hop": word_hop,
                }
                values[row] = sum(weights[name] * value for name, value in features.items())
            taken.append(best(values)[0])
        return [*taken, *(row for row in order if row not in taken)]
