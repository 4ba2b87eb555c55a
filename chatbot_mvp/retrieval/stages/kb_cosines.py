"""Compare a question with the sentence windows of a knowledge base, once for all stages, and with its sentences."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence

import numpy as np

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.retrieval.arrays import Doubles
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.indexes.dense import RowCosines
from chatbot_mvp.retrieval.indexes.dense_side import DenseSide
from chatbot_mvp.retrieval.part.index import PartIndex
from chatbot_mvp.retrieval.part.words import PartMatcher
from chatbot_mvp.retrieval.trace import RetrievalTrace


class _Last(threading.local):
    """The last result of a thread."""

    windows: weakref.ref[RowCosines] | None = None  # weak, so that a dropped index leaves the memory
    query: Vectors | None = None
    cosines: Doubles | None = None


_last = _Last()


def window_cosines(trace: RetrievalTrace, side: DenseSide | None) -> Doubles | None:
    """Return the question's cosine with each window, shape (windows,); None without vectors. Do not change the array.

    Score and evidence of a question both need it, and in a large knowledge base this product is the slowest part.
    """
    if side is None or side.windows is None or trace.query_vector is None:
        return None
    same_windows = _last.windows is not None and _last.windows() is side.windows
    if _last.cosines is None or _last.query is not trace.query_vector or not same_windows:
        _last.cosines = side.windows.cosines(trace.query_vector).astype(float)
        _last.windows, _last.query = weakref.ref(side.windows), trace.query_vector
    return _last.cosines


def alike_cosines(trace: RetrievalTrace, index: CorpusIndex, cosines: Doubles) -> Doubles:
    """Return the cosines that the best one is measured against: of all windows in the language of its window.

    Those that a filter leaves out count too, since the few windows of one document are no measure.

    Args:
        cosines: ``window_cosines`` of the question.
    """
    best = int(cosines.argmax())
    if isinstance(index, PartIndex) and index.kb is not None and isinstance(index.kb.matcher, PartMatcher):
        best, index = int(index.kb.matcher.in_whole[best]), index.whole or index
        every = window_cosines(trace, index.dense)
        cosines = cosines if every is None else every
    assert index.kb is not None, "windows are of a knowledge base"
    return index.kb.matcher.of_language(cosines, best)


Closeness = Callable[[Sequence[str]], Sequence[float]]
"""Returns the question's cosine with each of some texts."""


def sentence_closeness(trace: RetrievalTrace, index: CorpusIndex) -> Closeness | None:
    """Return a function that gives the question's cosine with sentences of the context; None without vectors.

    The vectors of the sentences are those of the index, so nothing is embedded. A text that is no sentence of the
    passages has the cosine of the closest sentence inside it, or of the least close sentence if there is none.
    """
    kb, side = index.kb, index.dense
    if kb is None or side is None or side.sentences is None or trace.query_vector is None or not trace.chunks_final:
        return None
    paragraphs = np.concatenate([kb.paragraphs.of(index.row_of[hit.chunk.chunk_id]) for hit in trace.chunks_final])
    rows = np.flatnonzero(np.isin(kb.matcher.window_passage, paragraphs))
    cosines = side.sentences.similarities(trace.query_vector, rows).tolist()
    of_sentence = {kb.matcher.sentence_text(row): cosine for row, cosine in zip(rows.tolist(), cosines, strict=True)}
    lowest = min(cosines, default=0.0)

    def measure(texts: Sequence[str]) -> Sequence[float]:
        found = []
        for text in texts:
            inside = [cosine for sentence, cosine in of_sentence.items() if sentence in text]
            found.append(of_sentence.get(text, max(inside, default=lowest)))
        return found

    return measure
