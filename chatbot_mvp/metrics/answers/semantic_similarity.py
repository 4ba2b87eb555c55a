"""Semantic similarity of an answer and its reference, as in RAG_P v3.2."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


def semantic_similarity(answer: Vector, reference: Vector) -> float:
    """Return the cosine of two unit vectors of shape (dimensions,), with negative values as 0. Range 0-1.

    The scale depends on the embedding model: multilingual-e5-small gives unrelated words 0.75 and more. Compare only
    runs with the same model, and read differences rather than values.
    """
    return float(np.clip(np.dot(answer.astype(np.float64), reference.astype(np.float64)), 0.0, 1.0))
