"""Late interaction: compare a question with paragraphs token by token (MaxSim).

Source: ColBERT, Khattab & Zaharia 2020, arXiv:2004.12832. Two things differ: the tokens of a question count by their
rarity, and the states are those of the embedding model, projected by weights that ``benchmarks/fit_late.py`` makes (see
``weights.md``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from chatbot_mvp.embedding.base import TokenStates, Vectors

PATH = Path(__file__).with_name("weights.npz")
Int8 = NDArray[np.int8]
SCALE = 200.0
"""Components of the unit vectors are stored as int8: value x 200. Larger values than 0.63 are rare and are clipped."""

LENGTH_COST = 0.02
"""What a text loses for each unit of the natural logarithm of its tokens: in a longer text each token of a question
finds a closer one by chance. Chosen on two manuals, where 0.01 to 0.03 do about as well."""


@dataclass(frozen=True)
class LateWeights:
    """Turns the states of an embedding model's tokens into small unit vectors, and weighs the tokens of a question."""

    key: str
    """Identifies the weights: 8 hex digits."""
    model_id: str
    """The embedding model whose states they were fitted to."""
    mean: Vectors
    """Mean state of a token, shape (dimensions,). The states of e5 lie in a narrow cone around it."""
    projection: Vectors
    """Shape (dimensions, kept dimensions)."""
    attention: Vectors
    """Shape (dimensions,): how much a state of a question matters, before the sigmoid."""
    bias: float
    """Added to the product of state and ``attention``."""

    def project(self, tokens: TokenStates) -> Vectors:
        """Return one unit vector per token, shape (tokens, kept dimensions)."""
        moved = (tokens.states - self.mean) @ self.projection
        unit: Vectors = moved / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-9)
        return unit

    def shares(self, question: TokenStates) -> Vectors:
        """Return how much each token of a question counts, shape (tokens,); the sum is 1.

        A token counts by the square root of its rarity, times the sigmoid of its state's product with ``attention``.
        """
        gate = 1 / (1 + np.exp(-((question.states - self.mean) @ self.attention + self.bias)))
        weight = np.sqrt(np.maximum(question.rarity, 1e-3)) * gate
        shares: Vectors = (weight / weight.sum()).astype(np.float32)
        return shares


@cache
def late_weights() -> LateWeights:
    """Load the weights once."""
    content = PATH.read_bytes()
    with np.load(PATH) as arrays:
        return LateWeights(
            hashlib.sha256(content).hexdigest()[:8],
            str(arrays["model_id"]),
            arrays["mean"].astype(np.float32),
            arrays["projection"].astype(np.float32),
            arrays["attention"].astype(np.float32),
            float(arrays["bias"]),
        )


def closest_tokens(question: Vectors, texts: Sequence[Int8]) -> Vectors:
    """Return for each token of a question its cosine with the closest token of each text.

    Args:
        question: shape (question tokens, dimensions), rows of unit length.
        texts: one matrix of shape (tokens, dimensions) per text, each with at least one token, in units of 1 / SCALE.

    Returns:
        Shape (question tokens, texts).
    """
    begin = np.cumsum([0, *(len(tokens) for tokens in texts[:-1])])
    similar = np.concatenate(texts).astype(np.float32) @ question.T  # (tokens, question tokens) is the faster order
    closest: Vectors = (np.maximum.reduceat(similar, begin, axis=0).T / SCALE).astype(np.float32)
    return closest


def grouped(closest: Vectors, groups: Sequence[NDArray[np.int64]]) -> Vectors:
    """Return for each token of a question its cosine with the closest token of each group of texts.

    Args:
        closest: result of ``closest_tokens``.
        groups: columns of ``closest`` that belong together, at least one per group.

    Returns:
        Shape (question tokens, groups).
    """
    order = np.concatenate(groups)
    begin = np.cumsum([0, *(len(group) for group in groups[:-1])])
    found: Vectors = np.maximum.reduceat(closest[:, order], begin, axis=1)
    return found


def max_sim(closest: Vectors, shares: Vectors, tokens: NDArray[np.int64]) -> Vectors:
    """Return the MaxSim of each text less what its length explains, shape (texts,).

    Args:
        closest: shape (question tokens, texts), as ``closest_tokens`` and ``grouped`` return it.
        shares: how much each token of the question counts, shape (question tokens,).
        tokens: number of tokens of each text, at least 1.
    """
    scores: Vectors = (shares @ closest - LENGTH_COST * np.log(tokens)).astype(np.float32)
    return scores
