"""The Embedder protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

InputType = Literal["query", "passage"]
Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns texts into unit vectors whose dot product is their similarity."""

    @property
    def model_id(self) -> str:
        """Identifies model and weights; vectors with different ids must not be compared."""

    @property
    def dimensions(self) -> int:
        """Number of dimensions of a vector."""

    @property
    def batch_size(self) -> int | None:
        """Number of texts in one request to a remote model; None for a model that runs in this process."""

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        """Return one unit vector per text: shape (len(texts), dimensions), float32. Safe to call from threads."""


class TokenStates(NamedTuple):
    """The tokens of a text as its embedding model reads them, without special tokens and prefix."""

    states: Vectors
    """Last hidden state of each token, shape (tokens, dimensions); not normalized."""
    rarity: Vectors
    """Negative logarithm of each token's probability in the text that the tokenizer was made from, shape (tokens,)."""


@runtime_checkable
class TokenEmbedder(Embedder, Protocol):
    """An embedder that also returns the states of single tokens, so that one pass gives the vectors of many parts."""

    def text_tokens(self, texts: Sequence[str], input_type: InputType) -> list[TokenStates]:
        """Return the tokens of each text. Safe to call from threads."""

    def token_counts(self, parts: Sequence[str]) -> list[int]:
        """Return how many tokens each part of a text has in it. The parts must be separated by white space."""


@runtime_checkable
class EngineEmbedder(Embedder, Protocol):
    """An embedder whose numbers also depend on the processor."""

    @property
    def engine(self) -> str:
        """Begins with "@" and tells engines apart whose vectors are close, but not equal; "" names no engine."""


def vectors_id(embedder: Embedder) -> str:
    """Return what names the exact numbers of an embedder: its model, and its engine where engines differ.

    Caches use it. ``model_id`` alone says which vectors may be compared, and whose weights fit them.
    """
    return embedder.model_id + (embedder.engine if isinstance(embedder, EngineEmbedder) else "")


def unit_vectors(vectors: Vectors) -> Vectors:
    """Return the rows of a matrix at length 1; rows of zeros stay."""
    found: Vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    return found
