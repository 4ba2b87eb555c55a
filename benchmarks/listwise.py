"""Fit a linear score so that what is relevant ranks above what is not: listwise softmax with a ridge penalty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize

RIDGE = 30.0
BOUNDS = {1: (0, None), -1: (None, 0), 0: (None, None)}
"""Sign known in advance (0: none) -> what a weight may be."""

Array = np.ndarray[Any, Any]


def listwise(features: Sequence[Array], gold: Sequence[Array], signs: Sequence[int]) -> Array:
    """Return the weights on raw features, shape (features,); the first one is hardly penalised.

    Args:
        features: of each question, shape (candidates, features).
        gold: of each question, shape (candidates,): whether a candidate is relevant; at least one is.
        signs: of each feature, a key of BOUNDS.
    """
    stacked, is_gold = np.concatenate(features).astype(np.float64), np.concatenate(gold)
    scale = stacked.std(0)
    scale = np.where(scale < 1e-6, 1e9, scale)
    x = (stacked - stacked.mean(0)) / scale
    lengths = np.array([len(labels) for labels in gold])
    begin = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    question = np.repeat(np.arange(len(gold)), lengths)
    at = np.flatnonzero(is_gold)
    of = question[at]
    share = 1 / np.bincount(of, minlength=len(gold))[of]
    ridge = np.full(x.shape[1], RIDGE)
    ridge[0] = 0.01

    def loss(weights: Array) -> tuple[float, Array]:
        score = x @ weights
        exponent = np.exp(score - np.maximum.reduceat(score, begin)[question])
        others = np.add.reduceat(np.where(is_gold, 0, exponent), begin) + 1e-12
        mine = exponent[at] + 1e-30
        total = others[of] + mine
        slope = np.where(is_gold, 0, exponent * np.bincount(of, share / total, len(gold))[question])
        slope[at] += share * (mine / total - 1)
        value = ((np.log(total) - np.log(mine)) * share).sum() + 0.5 * (ridge * weights) @ weights
        return float(value), x.T @ slope + ridge * weights

    start = np.zeros(x.shape[1])
    start[0] = 1
    bounds = [BOUNDS[value] for value in signs]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 300})
    weights: Array = found.x / scale
    return weights
