"""The Embedder protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

InputType = Literal["query", "passage"]
Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into unit vectors whose dot product is their similarity."""

    @property
    def model_id(self) -> str:
        """Names model and weights; vectors of different ids must not be compared."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        """Embed texts; shape (len(texts), dimensions), float32, each row of length 1. Safe to call from threads."""
