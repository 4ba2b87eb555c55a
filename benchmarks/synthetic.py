"""Generate a synthetic data set with HotpotQA's number of documents, lengths and mentions, without copying its text.

Words are random syllables; names are capitalised. The properties that decide the cost of a benchmark follow HotpotQA:
text lengths, growth of the vocabulary, number and distribution of mentions between documents, two gold documents per
question.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

DOCUMENTS, QUERIES = 66_576, 7_405

Column = list[str]

_FUNCTION_WORDS = (
    "the the the the of of of in in and and a a is was to for by on as with at from an that his it which he her are "
    "were its be has had this who their also or but not been she they after when into where while"
).split()
_CONSONANTS, _VOWELS, _ENDINGS = "bdfgklmnprstvz", "aeiou", "nrslkx"
_SYLLABLES = [consonant + vowel for consonant in _CONSONANTS for vowel in _VOWELS]
_COMMON, _NAMES = 70_000, 340_000  # words to draw from; most of the names occur once or never
_SHARES = (0.385, 0.415, 0.20)
"""Shares of function words, common words and names in running text."""
_TITLE_WORDS = (0.12, 0.42, 0.24, 0.12, 0.06, 0.04)
"""Share of titles of one word, two words, …"""
_MENTIONS, _MENTIONS_AT, _MENTIONS_GROWTH = 2.6, 11_860, 0.33
_TWICE = 0.25
"""Number of documents that a document mentions in a corpus of 11,860 documents, its growth with the size of the corpus,
and the share of them mentioned twice. A sample of 11,860 HotpotQA passages has 2.7, in 3.4 mentions. A larger corpus
contains more of the named documents: at first the number more than doubles with the sample, later it grows less."""


@dataclass(frozen=True)
class Made:
    """The columns of the three files, and each question's gold documents as row numbers."""

    doc_id: Column
    title: Column
    text: Column
    queries: dict[str, Column]
    """Column of ``queries.parquet`` -> values."""
    gold: NDArray[np.int64]
    """Shape (queries, 2): rows of documents; the second one of a bridge is found by way of the first."""

    def write(self, folder: Path) -> None:
        """As schema v2.0 below ``folder``."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        folder.mkdir(parents=True, exist_ok=True)
        qrels = {
            "query_id": [query_id for query_id in self.queries["query_id"] for _ in range(2)],
            "doc_id": [self.doc_id[row] for row in self.gold.ravel().tolist()],
            "score": [1] * self.gold.size,
        }
        pq.write_table(pa.table(self.queries), folder / "queries.parquet")
        pq.write_table(pa.table(qrels), folder / "qrels.parquet")
        pq.write_table(
            pa.table({"doc_id": self.doc_id, "title": self.title, "text": self.text}), folder / "corpus.parquet"
        )


def make(seed: int, documents: int = DOCUMENTS, queries: int = QUERIES) -> Made:
    """The data set of a seed; equal arguments give equal sets."""
    return _Maker(seed, documents).made(queries)


class _Maker:
    def __init__(self, seed: int, documents: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.count = documents
        self.seed = seed
        self.common = self._spelled(_COMMON, "")
        self.names = [word.capitalize() for word in self._spelled(_NAMES, _ENDINGS)]
        self.common_at = _cumulative(_COMMON, 1.45, 60)
        self.names_at = _cumulative(_NAMES, 1.25, 60)

    def made(self, queries: int) -> Made:
        titles = self._titles()
        # Which documents are named often is random, not determined by their position.
        famous = self.rng.permutation(self.count)
        mean = _MENTIONS * (self.count / _MENTIONS_AT) ** _MENTIONS_GROWTH
        numbers = self.rng.negative_binomial(1.6, 1.6 / (1.6 + mean), self.count)
        mentioned = famous[np.searchsorted(_cumulative(self.count, 1.5, 11), self.rng.random(int(numbers.sum())))]
        ends = np.cumsum(numbers)
        of_document = [mentioned[end - number : end].tolist() for end, number in zip(ends, numbers, strict=True)]
        kinds = self.rng.random(queries) < 0.8
        first = self.rng.choice(self.count, queries, replace=queries > self.count)
        second = (first + self.rng.integers(1, self.count, queries)) % self.count
        for row, other, is_bridge in zip(first.tolist(), second.tolist(), kinds.tolist(), strict=True):
            if is_bridge:
                of_document[row].append(other)
        texts = self._texts(titles, of_document)
        gold = np.stack((first, second), axis=1)
        return Made(
            [_hex_id(self.seed, "document", row) for row in range(self.count)],
            titles,
            texts,
            self._queries(titles, texts, gold, kinds.tolist()),
            gold,
        )

    def _spelled(self, count: int, endings: str) -> list[str]:
        """Distinct words, the first ones short, in an order by lot."""
        base, words = len(_SYLLABLES), []
        for number in range(count):
            syllables, left = [], number
            while left >= 0:
                syllables.append(_SYLLABLES[left % base])
                left = left // base - 1
            ending = endings[number % len(endings)] if endings else ""
            words.append("".join(syllables) + (ending or _SYLLABLES[number % base]))
        head = base * base // 4
        order = [*self.rng.permutation(head).tolist(), *(head + self.rng.permutation(count - head)).tolist()]
        return [words[number] for number in order]

    def _drawn(self, words: Sequence[str], cumulative: NDArray[np.float64], count: int) -> list[str]:
        return [words[rank] for rank in np.searchsorted(cumulative, self.rng.random(count)).tolist()]

    def _titles(self) -> Column:
        lengths = self.rng.choice(len(_TITLE_WORDS), self.count, p=_TITLE_WORDS) + 1
        drawn = iter(self._drawn(self.names, self.names_at, int(lengths.sum())))
        # A one-word title must be a rare word, or half of all texts would name it by chance.
        rare = iter(self.rng.permutation(np.arange(_NAMES // 2, _NAMES)).tolist())
        kinds = iter(self._drawn(self.common, self.common_at, self.count))
        qualified = (self.rng.random(self.count) < 0.12).tolist()
        titles: dict[str, None] = {}
        for length, is_qualified in zip(lengths.tolist(), qualified, strict=True):
            title = " ".join(next(drawn) for _ in range(length)) if length > 1 else self.names[next(rare)]
            title += f" ({next(kinds)})" if is_qualified else ""
            titles[title if title not in titles else f"{title} {self.names[next(rare)]}"] = None
        return list(titles)

    def _texts(self, titles: Column, mentioned: Sequence[Sequence[int]]) -> Column:
        spread = 0.55
        lengths = np.exp(self.rng.normal(np.log(84) - spread**2 / 2, spread, self.count)).astype(int).clip(12, 1_200)
        kinds = self.rng.choice(3, int(lengths.sum()), p=_SHARES).tolist()
        sources = [
            iter([_FUNCTION_WORDS[i] for i in self.rng.integers(0, len(_FUNCTION_WORDS), kinds.count(0)).tolist()]),
            iter(self._drawn(self.common, self.common_at, kinds.count(1))),
            iter(self._drawn(self.names, self.names_at, kinds.count(2))),
        ]
        words = iter([next(sources[kind]) for kind in kinds])
        breaks = iter((np.exp(self.rng.normal(2.95, 0.4, int(lengths.sum()) // 4))).astype(int).clip(5, 60).tolist())
        places = iter(self.rng.random(3 * sum(map(len, mentioned))).tolist())
        texts = []
        for title, length, others in zip(titles, lengths.tolist(), mentioned, strict=True):
            own = [next(words) for _ in range(length)]
            for other in others:
                if next(places) < _TWICE:
                    own[int(next(places) * length)] = _plain(titles[other])
                own[int(next(places) * length)] = _plain(titles[other])
            texts.append(_punctuated([_plain(title), "is", "a", *own], breaks))
        return texts

    def _queries(
        self, titles: Column, texts: Column, gold: NDArray[np.int64], bridges: Sequence[bool]
    ) -> dict[str, Column]:
        rows: list[tuple[str, ...]] = []
        lengths = (1 + self.rng.negative_binomial(1, 0.24, (len(gold), 2))).clip(1, 14).tolist()
        for number, ((first, second), is_bridge) in enumerate(zip(gold.tolist(), bridges, strict=True)):
            one, other = self._clue(texts[first], lengths[number][0]), self._clue(texts[second], lengths[number][1])
            a, b = _plain(titles[first]), _plain(titles[second])
            yes_or_no = not is_bridge and self.rng.random() < 0.3
            if is_bridge:
                text = f"Which {other} was of the {one} that {a} has?"
                answer = self._clue(texts[second], 1)
            elif yes_or_no:
                text, answer = f"Are {a} and {b} both {one} in {other}?", ("no", "yes")[int(self.rng.integers(2))]
            else:
                text, answer = f"Which is {one} of the {other}, {a} or {b}?", (a, b)[int(self.rng.integers(2))]
            kind = ("label" if yes_or_no else "extractive", "bridge" if is_bridge else "comparison", "hard")
            rows.append((_hex_id(self.seed, "query", number), text, answer, *kind))
        names = ("query_id", "text", "answer", "answer_type", "question_type", "level")
        return {name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}

    def _clue(self, text: str, count: int) -> str:
        """Words that follow each other in a text."""
        words = text.replace(".", "").replace(",", "").split()
        begin = int(self.rng.integers(0, max(1, len(words) - count)))
        return " ".join(words[begin : begin + count])


def _cumulative(count: int, exponent: float, shift: float) -> NDArray[np.float64]:
    """Of the Zipf-Mandelbrot law: the word of rank r has a share of 1 / (r + shift)^exponent."""
    share = 1 / (np.arange(1, count + 1) + shift) ** exponent
    cumulative: NDArray[np.float64] = np.cumsum(share) / share.sum()
    cumulative[-1] = 1.0
    return cumulative


def _plain(title: str) -> str:
    return title.partition(" (")[0]


def _punctuated(words: list[str], breaks: Iterable[int]) -> str:
    sentences, begin = [], 0
    lengths = iter(breaks)
    while begin < len(words):
        sentence = words[begin : begin + next(lengths)]
        begin += len(sentence)
        sentences.append(sentence[0][0].upper() + " ".join(sentence)[1:] + ".")
    return " ".join(sentences)


def _hex_id(seed: int, kind: str, number: int) -> str:
    return hashlib.sha256(f"{seed} {kind} {number}".encode()).hexdigest()[:16]
