"""How near an answer is to its reference in meaning, as RAG_P v3.2 has it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float32]


def semantic_similarity(answer: Vector, reference: Vector) -> float:
    """Cosine of two unit vectors, each of shape (dimensions,); a negative one counts as 0. Range 0-1.

    The scale is the embedding model's own: multilingual-e5-small gives unrelated words 0.75 and more, so that only
    runs with the same model compare, and a difference says more than the value.
    """
    return float(np.clip(np.dot(answer.astype(np.float64), reference.astype(np.float64)), 0.0, 1.0))
