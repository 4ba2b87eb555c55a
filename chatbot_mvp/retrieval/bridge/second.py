"""The second round: search again, once for each of the best documents of the first round.

A second query consists of the words of the question that a document leaves uncovered, and of the names that its best
sentence adds. It finds documents that the question does not lead to, because it lacks these names. The vectors answer
the queries of three documents, since each must be embedded; BM25 answers those of eight.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Protocol

import numpy as np

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.retrieval.arrays import Floats, Ints
from chatbot_mvp.retrieval.bridge.corpus import Corpus
from chatbot_mvp.retrieval.bridge.walk import BridgeWalk, Hops, Question, Ranking
from chatbot_mvp.text import Analyzer, sentences
from chatbot_mvp.types import Chunk

PARENTS = 3
"""Number of best documents of the first round whose second queries are asked by vectors."""
WORD_PARENTS = 8
"""Number of best documents of the first round whose second queries are asked by words."""
_ADDED = 15
"""Number of nearest vectors of each second query that become candidates."""
_SCALE = 60
"""Rank among the nearest vectors of a second query whose value is 0; the first one's is 1."""
_WORDS_FOUND = 300
"""Number of documents that BM25 returns for a second query; the value of the others is 0."""
_WORDS_ADDED = (10,) * PARENTS + (5,) * (WORD_PARENTS - PARENTS)
"""Number of best documents of each of these searches that become candidates."""
_BLOCK = 256
"""Number of second queries that are searched for together."""
_MAX_WORDS = 256
"""Length of a second query at most."""
_NAME_WORD = re.compile(r"[A-Z0-9À-ÖØ-Þ][\w'’.-]*")
"""A word that begins with a capital letter or a digit."""

Embed = Callable[[Sequence[str]], Vectors]
"""Maps texts of queries to unit vectors, shape (texts, dimensions)."""


class Nearest(Protocol):
    """What the second round needs of a ``VectorStore``, which documents the methods."""

    def search(self, queries: Vectors, limit: int) -> list[list[tuple[int, float]]]: ...

    def similarities(self, query: Vectors, rows: Ints) -> Vectors: ...


class SecondRound:
    """Adds the results of second queries to questions. Safe to share between threads.

    Args:
        chunks: the documents; row numbers are positions in it.
        embed: embeds the second queries of all questions in one call.
        vectors: the vectors of the documents.
    """

    def __init__(
        self, corpus: Corpus, analyzer: Analyzer, chunks: Sequence[Chunk], embed: Embed, vectors: Nearest
    ) -> None:
        self._corpus = corpus
        self._analyzer = analyzer
        self._chunks = chunks
        self._embed = embed
        self._vectors = vectors

    def asked(self, walk: BridgeWalk, questions: Sequence[Question]) -> list[Question]:
        """Rank with the weights of the first round, and return the questions with the results of second queries."""
        firsts = walk.rank(questions, WORD_PARENTS, first_round=True)
        queries = [
            [self.query(question.text, row) for row in first.rows.tolist()]
            for question, first in zip(questions, firsts, strict=True)
        ]
        texts = [text for of_one in queries for text in of_one[:PARENTS]]
        if not texts:
            return list(questions)
        vectors = self._embed(texts)
        found = self._found(vectors)
        of_query = zip(vectors, found, strict=True)
        return [
            self._with_hops(
                self._with_word_hops(walk, question, first, of_one),
                first.rows[:PARENTS],
                first.relative[:PARENTS],
                list(islice(of_query, len(of_one[:PARENTS]))),
            )
            for question, first, of_one in zip(questions, firsts, queries, strict=True)
        ]

    def _found(self, vectors: Vectors) -> Iterator[list[tuple[int, float]]]:
        """Search for many queries at a time, which is faster, but not for all, which would take much memory."""
        for begin in range(0, len(vectors), _BLOCK):
            yield from self._vectors.search(vectors[begin : begin + _BLOCK], _SCALE + 1)

    def query(self, question: str, row: int) -> str:
        """Return the second query of a question for a document."""
        terms, chunk = self._analyzer.terms, self._chunks[row]
        of_question, of_title = set(terms(question)), set(terms(chunk.section))
        has, best, most = set(of_title), "", -1.0
        for begin, end in sentences(chunk.text):
            sentence = chunk.text[begin:end]
            found = set(terms(sentence))
            has |= found
            # Rounded once, so that sentences with equal words have equal sums, in whatever order a process adds them.
            covered = math.fsum(self._corpus.idf_of(term) for term in (found | of_title) & of_question)
            if covered > most:
                best, most = sentence, covered
        asked = [word for word in question.split() if not (found := set(terms(word))) or not found <= has]
        said = _NAME_WORD.findall(f"{chunk.section} {best}")
        names = [word for word in dict.fromkeys(said) if (found := set(terms(word))) and not found & of_question]
        return " ".join([*asked, *names][:_MAX_WORDS]) or question

    def _with_word_hops(self, walk: BridgeWalk, question: Question, first: Ranking, queries: Sequence[str]) -> Question:
        """Add what BM25 finds for second queries, one of each document of a ranking."""
        if not queries:
            return question
        added: list[int] = []
        found: list[tuple[Ints, Floats]] = []
        for parent, text, count in zip(first.rows.tolist(), queries, _WORDS_ADDED, strict=False):
            rows, scores = walk.search_words(self._analyzer.terms(text), _WORDS_FOUND)
            others = (rows != parent).nonzero()[0]
            rows, scores = rows.take(others), scores.take(others)
            added += rows[:count].tolist()
            order = rows.argsort()
            found.append((rows.take(order), scores.take(order) / max(scores.max(initial=0), np.float32(1e-6))))

        def values(rows: Ints) -> Floats:
            return np.array([_looked_up(rows, *of_one) for of_one in found], np.float32)

        nearest = np.array(list(dict.fromkeys([*question.nearest.tolist(), *added])), np.int64)
        return question._replace(nearest=nearest, word_hops=Hops(first.rows, first.relative, values))

    def _with_hops(
        self,
        question: Question,
        parents: Ints,
        prior: Floats,
        queries: Sequence[tuple[Vectors, list[tuple[int, float]]]],
    ) -> Question:
        """Add the results of second queries, each a vector and its nearest (row, cosine)."""
        if not len(parents):
            return question
        added: list[int] = []
        low, high = np.zeros((2, len(parents), 1), np.float32)
        for i, (parent, (_, found)) in enumerate(zip(parents.tolist(), queries, strict=True)):
            others = [(row, cosine) for row, cosine in found if row != parent][:_SCALE]
            added += [row for row, _ in others[:_ADDED]]
            if others:
                low[i], high[i] = others[-1][1], others[0][1]
        scale = np.maximum(high - low, np.float32(1e-6))

        def values(rows: Ints) -> Floats:
            cosines = np.array([self._vectors.similarities(vector, rows) for vector, _ in queries], np.float32)
            scaled: Floats = np.clip((cosines - low) / scale, 0, 1)
            scaled[parents[:, None] == rows] = 0
            return scaled

        nearest = np.array(list(dict.fromkeys([*question.nearest.tolist(), *added])), np.int64)
        return question._replace(nearest=nearest, hops=Hops(parents, prior, values))


def _looked_up(rows: Ints, known: Ints, values: Floats) -> Floats:
    """Return the value of each row, 0 for rows that are not ``known``, which are in ascending order."""
    if not len(known):
        return np.zeros(len(rows), np.float32)
    at = known.searchsorted(rows)
    found: Floats = np.where(known.take(at, mode="clip") == rows, values.take(at, mode="clip"), np.float32(0))
    return found
