"""Late interaction: compare a question with paragraphs token by token (MaxSim).

Source: ColBERT, Khattab & Zaharia 2020, arXiv:2004.12832. Two things differ: the tokens of a question count by their
rarity, and the states are those of the embedding model, projected by the weights of ``weights``.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from chatbot_mvp.embedding.base import Vectors

Int8 = NDArray[np.int8]
SCALE = 200.0
"""Components of the unit vectors are stored as int8: value x 200. Larger values than 0.63 are rare and are clipped."""

LENGTH_COST = 0.02
"""What a text loses for each unit of the natural logarithm of its tokens: in a longer text each token of a question
finds a closer one by chance. Chosen on two manuals, where 0.01 to 0.03 do about as well."""


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
