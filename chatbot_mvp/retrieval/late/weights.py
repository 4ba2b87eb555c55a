"""The fitted weights of late interaction, which ``benchmarks/fit_late.py`` makes (see ``weights.md``)."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from chatbot_mvp.embedding.base import TokenStates, Vectors

PATH = Path(__file__).with_name("weights.npz")


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
