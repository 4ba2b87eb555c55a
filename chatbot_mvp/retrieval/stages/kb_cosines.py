"""Compare a question with the sentence windows of a knowledge base, once for all stages."""

from __future__ import annotations

import threading
import weakref

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.retrieval.indexes.dense import ExactVectors
from chatbot_mvp.retrieval.indexes.dense_side import DenseSide
from chatbot_mvp.retrieval.kb.postings import Scores
from chatbot_mvp.retrieval.trace import RetrievalTrace


class _Last(threading.local):
    """The last result of a thread."""

    windows: weakref.ref[ExactVectors] | None = None  # weak, so that a dropped index leaves the memory
    query: Vectors | None = None
    cosines: Scores | None = None


_last = _Last()


def window_cosines(trace: RetrievalTrace, side: DenseSide | None) -> Scores | None:
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
