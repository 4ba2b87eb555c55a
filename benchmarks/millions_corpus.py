"""Generate synthetic corpora of any size, with planted questions, for ``benchmarks/millions.py``."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]

WORDS = 40
"""Number of words of a text before mentions are put in."""
_ROWS = 20_000
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
_FUNCTION_WORDS = (
    "the the the the of of of in in and and a a is was to for by on as with at from an that his it which he her are "
    "were its be has had this who their also or but not been she they after when into where while"
).split()
_SHARES = (0.385, 0.8)
"""Cumulative shares of function words and common words in a text; the others are names."""
_COMMON, _NAMES = (0.45, 60.0, 1 << 22), (0.25, 60.0, 1 << 30)
"""Zipf-Mandelbrot laws: exponent - 1, shift, highest rank. The vocabulary grows as in running text."""


def _random(seed: int, *keys: int | Numbers) -> NDArray[np.uint64]:
    """Return 64 random bits for each combination of keys (splitmix64), so that any row can be made alone."""
    with np.errstate(over="ignore"):
        mixed: NDArray[np.uint64] = np.array(seed, np.uint64)
        for key in keys:
            mixed = (mixed ^ np.asarray(key, np.int64).astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            mixed = mixed ^ (mixed >> np.uint64(31))
    return mixed


def _uniform(bits: NDArray[np.uint64]) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
    return shares


def _zipf(bits: NDArray[np.uint64], law: tuple[float, float, int]) -> Numbers:
    exponent, shift, highest = law
    ranks: Numbers = np.minimum(shift * (_uniform(bits) ** (-1 / exponent) - 1), highest).astype(np.int64)
    return ranks


@lru_cache(maxsize=400_000)
def _spelled(number: int) -> str:
    base, syllables = len(_SYLLABLES), []
    number += base  # two syllables at least
    while number >= 0:
        syllables.append(_SYLLABLES[number % base])
        number = number // base - 1
    return "".join(syllables)


class Corpus:
    """A synthetic corpus whose documents can be made one by one. Equal arguments give equal corpora.

    Titles are names of one to three words. A text has function words, common words and names, each by Zipf's law, and
    mentions two other documents on average, some of them often. 12 % of the titles have a qualifier in parentheses.
    """

    def __init__(self, seed: int, size: int, questions: int) -> None:
        self.seed, self.size = seed, size
        rows = _random(seed, 1, np.arange(4 * questions)) % np.uint64(size)
        distinct = list(dict.fromkeys(rows.tolist()))[: 2 * questions]
        self.gold = list(zip(distinct[0::2], distinct[1::2], strict=False))
        self._planted = {first: (number, second) for number, (first, second) in enumerate(self.gold)}
        self._second = {second: number for number, (_, second) in enumerate(self.gold)}

    def titles(self, rows: Numbers) -> list[str]:
        seed, size = self.seed, self.size
        length = np.searchsorted((0.1, 0.75), _uniform(_random(seed, 2, rows)))
        given = _zipf(_random(seed, 3, rows), _NAMES)
        middle = _zipf(_random(seed, 4, rows), _NAMES)
        family = (_uniform(_random(seed, 5, rows)) * (20_000 + size / 5)).astype(np.int64)
        kind = _zipf(_random(seed, 6, rows), _COMMON)
        qualified = _uniform(_random(seed, 7, rows)) < 0.12
        titles = []
        for row, words, one, two, three, of, is_qualified in zip(
            rows.tolist(), length.tolist(), given.tolist(), middle.tolist(), family.tolist(), kind.tolist(),
            qualified.tolist(), strict=True,
        ):  # fmt: skip
            parts = [(1 << 31) + row] if words == 0 else [one, three] if words == 1 else [one, two, three]
            title = " ".join(f"{_spelled(part)}n".capitalize() for part in parts)
            titles.append(f"{title} ({_spelled(of)})" if is_qualified else title)
        return titles

    def clue(self, number: int, hop: int) -> str:
        """Return the two common words that a planted question and one of its documents share."""
        ranks = (_random(self.seed, 8, number, hop, np.arange(2)) % np.uint64(4_000)).tolist()
        return " ".join(_spelled(200 + rank) for rank in ranks)

    def question(self, number: int) -> str:
        title = self.titles(np.array([self.gold[number][0]]))[0].partition(" (")[0]
        return f"Which {self.clue(number, 1)} was of the {self.clue(number, 0)} that {title} has?"

    def documents(self, begin: int, end: int) -> tuple[list[str], list[str], list[str]]:
        """Return ids, titles and texts of some rows."""
        rows = np.arange(begin, end)
        titles = self.titles(rows)
        column = np.arange(WORDS)
        kinds = np.searchsorted(_SHARES, _uniform(_random(self.seed, 9, rows[:, None], column)))
        bits = _random(self.seed, 10, rows[:, None], column)
        ranks = np.where(
            kinds == 0,
            (bits % np.uint64(len(_FUNCTION_WORDS))).astype(np.int64),
            np.where(kinds == 1, _zipf(bits, _COMMON), _zipf(bits, _NAMES)),
        )
        count = np.searchsorted((0.2, 0.45, 0.65, 0.8, 0.92), _uniform(_random(self.seed, 11, rows)))
        popular = _uniform(_random(self.seed, 12, rows[:, None], np.arange(6))) ** 4 * self.size
        # The step is coprime to the size, so that popular documents are spread over the corpus.
        others = (popular.astype(np.int64) * _coprime(self.size) + 17) % self.size
        named = {row: title.partition(" (")[0] for row, title in zip(rows.tolist(), titles, strict=True)}
        away = np.setdiff1d(np.concatenate((others.reshape(-1), [s for _, s in self.gold])), rows)
        named.update(zip(away.tolist(), (t.partition(" (")[0] for t in self.titles(away)), strict=True))
        places = (_random(self.seed, 13, rows[:, None], np.arange(6)) % np.uint64(WORDS)).tolist()
        texts = []
        for row, title, kind, rank, many, other, place in zip(
            rows.tolist(), titles, kinds.tolist(), ranks.tolist(), count.tolist(), others.tolist(), places, strict=True
        ):
            words = [
                _FUNCTION_WORDS[r] if k == 0 else _spelled(r) if k == 1 else f"{_spelled(r)}n".capitalize()
                for k, r in zip(kind, rank, strict=True)
            ]
            for target, at in zip(other[:many], place, strict=False):
                words[at] = named[target]
            if row in self._planted:
                number, second = self._planted[row]
                words[5:8] = [self.clue(number, 0), "of", named[second]]
            if row in self._second:
                words[12:13] = [self.clue(self._second[row], 1)]
            text = f"{title.partition(' (')[0]} is a {' '.join(words[:14])}. The {' '.join(words[14:])}."
            texts.append(text)
        return [f"d{row:08x}" for row in rows.tolist()], titles, texts


def _coprime(size: int) -> int:
    return next(step for step in range(7_919, 8_919) if np.gcd(step, size) == 1)


def write_corpus(folder: Path, size: int, questions: int, seed: int = 0) -> None:
    """Write a data set in schema v2.0, with as many row groups as it takes; memory does not grow with the size."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    corpus = Corpus(seed, size, questions)
    folder.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(
        folder / "corpus.parquet", pa.schema([(name, pa.string()) for name in ("doc_id", "title", "text")])
    ) as writer:
        for begin in range(0, size, _ROWS):
            columns = corpus.documents(begin, min(size, begin + _ROWS))
            writer.write_table(pa.table(dict(zip(("doc_id", "title", "text"), columns, strict=True))))
    ids = [f"q{number}" for number in range(len(corpus.gold))]
    asked = {"query_id": ids, "text": [corpus.question(number) for number in range(len(ids))]}
    pq.write_table(pa.table(asked), folder / "queries.parquet")
    judged = {
        "query_id": [query_id for query_id in ids for _ in range(2)],
        "doc_id": [f"d{row:08x}" for pair in corpus.gold for row in pair],
        "score": [1] * (2 * len(ids)),
    }
    pq.write_table(pa.table(judged), folder / "qrels.parquet")
