"""The second round: ask the vectors again, once for each of the best documents of the first round.

A second query consists of the words of the question that a document leaves uncovered, and of the names that its best
sentence adds. Its vector finds documents that the question does not lead to, because it lacks these names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Protocol

import numpy as np

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.retrieval.arrays import Floats, Ints
from chatbot_mvp.retrieval.bridge.corpus import Corpus
from chatbot_mvp.retrieval.bridge.walk import BridgeWalk, Hops, Question
from chatbot_mvp.text import Analyzer, sentences
from chatbot_mvp.types import Chunk

PARENTS = 3
"""Number of best documents of the first round that give a second query."""
_ADDED = 15
"""Number of nearest vectors of each second query that become candidates."""
_SCALE = 60
"""Rank among the nearest vectors of a second query whose value is 0; the first one's is 1."""
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
        firsts = walk.rank(questions, PARENTS, first_round=True)
        texts = [
            self.query(question.text, row)
            for question, first in zip(questions, firsts, strict=True)
            for row in first.rows.tolist()
        ]
        if not texts:
            return list(questions)
        vectors = self._embed(texts)
        found = self._found(vectors)
        of_query = zip(vectors, found, strict=True)
        return [
            self._with_hops(question, first.rows, first.relative, list(islice(of_query, len(first.rows))))
            for question, first in zip(questions, firsts, strict=True)
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
            # Summed in a fixed order, so that equal sentences have equal sums in every process.
            covered = sum(self._corpus.idf_of(term) for term in sorted((found | of_title) & of_question))
            if covered > most:
                best, most = sentence, covered
        asked = [word for word in question.split() if not (found := set(terms(word))) or not found <= has]
        said = _NAME_WORD.findall(f"{chunk.section} {best}")
        names = [word for word in dict.fromkeys(said) if (found := set(terms(word))) and not found & of_question]
        return " ".join([*asked, *names][:_MAX_WORDS]) or question

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
