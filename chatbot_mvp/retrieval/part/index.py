"""A part of a knowledge base's index: the chunks within some spans of its text, and nothing of the others.

Nothing is indexed again. Words and vectors keep the weights that they have in the whole, so a chunk's own scores do not
depend on the part. What is relative is relative to the part: the best hit, the scaling of signals, the words that a
question is expanded with, and the evidence. What is outside cannot be found, named or counted, because the part has no
rows for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.retrieval.arrays import best_rows
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.indexes.dense import RowCosines, VectorStore
from chatbot_mvp.retrieval.indexes.dense_side import DenseSide
from chatbot_mvp.retrieval.kb.links import SectionLinks
from chatbot_mvp.retrieval.kb.passage_words import PassageWords
from chatbot_mvp.retrieval.kb.vocabulary import spellings_of
from chatbot_mvp.retrieval.part.words import PartMatcher, PartSearch, Rows
from chatbot_mvp.storage.lru import BoundedCache
from chatbot_mvp.text import fold
from chatbot_mvp.types import Chunk

Spans = tuple[tuple[str, int, int], ...]
"""(``doc_id`` of the chunks, start, end in its text in characters): of one id in order and apart from each other."""

_KEPT = 8
"""Parts of one index that stay in memory: the filters of the last questions."""

_BLOCK = 8_192  # vectors that are compared at a time, because a store copies those that it is asked for


@dataclass(frozen=True)
class PartIndex(CorpusIndex):
    """The index of a part of a knowledge base. There is no graph: a walk over links would lead through what is left
    out."""

    whole: CorpusIndex | None = None
    """The index that this one is a part of; None nowhere but in the default."""

    @cached_property
    def source_chars(self) -> int:
        assert self.whole is not None, "a part has a whole"
        return self.whole.source_chars

    def idf(self, term: str) -> float:
        assert self.whole is not None, "a part has a whole"
        return self.whole.idf(term)


class Parts:
    """The parts of an index that were asked for last. Use ``index.derived(Parts)``, so that they are shared."""

    def __init__(self, whole: CorpusIndex) -> None:
        self._whole = whole
        self._made: BoundedCache[Spans, CorpusIndex | None] = BoundedCache(_KEPT)

    def within(self, spans: Spans) -> CorpusIndex | None:
        """Return the index of the chunks that lie within one of ``spans``; None if there is none.

        If all of them do, it is the index itself.
        """
        return self._made.get_or_build(spans, lambda: part_of(self._whole, spans))


def part_of(whole: CorpusIndex, spans: Spans) -> CorpusIndex | None:
    """Return the part of a knowledge base's index that ``Parts.within`` keeps."""
    assert whole.kb is not None, "only knowledge bases have parts"
    kb, matcher = whole.kb, whole.kb.matcher
    kept = _inside(kb.chunks, spans)
    if not len(kept):
        return None
    if len(kept) == len(kb.chunks):
        return whole
    chunks = Rows(kept, len(kb.chunks))
    owners = np.array([passage.hits[0] for passage in matcher.passages], np.int64)
    passages = Rows(np.flatnonzero(chunks.having(owners)[1]), len(matcher.passages))
    windows = Rows(np.flatnonzero(passages.having(matcher.window_passage)[1]), len(matcher.window_passage))
    own = PartMatcher(matcher, passages, windows, chunks)
    found = [kb.chunks[row] for row in kept.tolist()]
    contexts, questions = (_at(texts, kept) for texts in (kb.contexts, kb.questions))
    read = PassageWords(own.passages, kb.analyzer)
    words, written = read.words()
    for text in dict.fromkeys([*contexts, *questions]):
        words.update((fold(word), term) for word, term in kb.analyzer.content_words(text))
    part = replace(
        kb,
        chunks=found,
        words=words,
        written=written,
        spellings=spellings_of(words, written, own),
        read=read,
        matcher=own,
        links=SectionLinks(own.passages, kb.analyzer),
        contexts=contexts,
        questions=questions,
        files=None,
    )
    lexical = PartSearch(whole.lexical, chunks, len(whole.chunks), own)
    dense = _dense(whole.dense, chunks, windows) if whole.dense is not None else None
    return PartIndex(found, lexical, dense, None, part, whole.questions, whole=whole)


class PartVectors:
    """A ``VectorStore`` of some rows. It compares all of them exactly, so that few among many are never missed."""

    def __init__(self, whole: VectorStore, rows: Rows) -> None:
        self._whole, self._rows = whole, rows

    @property
    def matrix(self) -> Vectors | None:
        return None  # a part has no rows of its own

    def search(self, queries: Vectors, limit: int) -> list[list[tuple[int, float]]]:
        found = []
        blocks = [self._rows.kept[at : at + _BLOCK] for at in range(0, len(self._rows), _BLOCK)]
        for query in queries:
            cosines = np.concatenate([self._whole.similarities(query, rows) for rows in blocks])
            best = best_rows(cosines, limit)
            found.append(list(zip(best.tolist(), cosines[best].tolist(), strict=True)))
        return found

    def similarities(self, query: Vectors, rows: NDArray[np.int64]) -> Vectors:
        return self._whole.similarities(query, self._rows.kept[rows])


class PartCosines:
    """The ``RowCosines`` of some windows or sentences."""

    def __init__(self, whole: RowCosines, rows: Rows) -> None:
        self._whole, self._rows = whole, rows

    @property
    def matrix(self) -> Vectors | None:
        return None  # a part has no rows of its own

    def cosines(self, query: Vectors) -> Vectors:
        found: Vectors = self._whole.cosines(query)[self._rows.kept]
        return found

    def similarities(self, query: Vectors, rows: NDArray[np.int64]) -> Vectors:
        return self._whole.similarities(query, self._rows.kept[rows])


def _dense(side: DenseSide, chunks: Rows, windows: Rows) -> DenseSide:
    return replace(
        side,
        vectors=PartVectors(side.vectors, chunks),
        windows=PartCosines(side.windows, windows) if side.windows is not None else None,
        sentences=PartCosines(side.sentences, windows) if side.sentences is not None else None,
    )


def _inside(chunks: Sequence[Chunk], spans: Spans) -> NDArray[np.int64]:
    of_text: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for doc_id, *span in spans:
        of_text[doc_id].append((span[0], span[1]))
    kept = []
    for row, chunk in enumerate(chunks):
        own = of_text.get(chunk.doc_id, [])
        at = bisect_right(own, chunk.start, key=lambda span: span[0]) - 1
        if at >= 0 and chunk.end <= own[at][1]:
            kept.append(row)
    return np.array(kept, np.int64)


def _at(texts: Sequence[str], rows: NDArray[np.int64]) -> Sequence[str]:
    return [texts[row] for row in rows.tolist()] if texts else texts
