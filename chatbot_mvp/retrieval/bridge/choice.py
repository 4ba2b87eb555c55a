"""Greedy choice: take documents one by one, by their score and by what they add to the documents already taken."""

from __future__ import annotations

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Floats, Ints, best_first
from chatbot_mvp.retrieval.bridge.candidates import Candidates
from chatbot_mvp.retrieval.bridge.corpus import Corpus
from chatbot_mvp.retrieval.bridge.links import Mentions
from chatbot_mvp.retrieval.bridge.question import Terms
from chatbot_mvp.retrieval.bridge.shared import likeness

STEP_FEATURES = ("score", "new", "linked_new", "alone_new", "links", "words", "dup")

POOL = 40
"""Number of best candidates to choose from; the others follow in the order of their scores."""
DEPTH = 10
"""Number of documents that are chosen greedily."""
_LINKED = np.float32(0.3)
"""Square root of the strength from which a mention counts as a link."""
_NO_LINK, _ONE_LINK, _ALL_LINKS = np.float32(0), np.float32(1 / 3), np.float32(1)
"""Value of the step feature "links" for no link, one link, and three or more."""


def choose(
    corpus: Corpus, terms: Terms, c: Candidates, mentions: Mentions, score: Floats, weights: Floats, sets: Array
) -> tuple[Ints, Floats]:
    """Order the candidates by greedy choice.

    Args:
        mentions: mentions between the candidates.
        score: score of each candidate, shape (C,), C >= 1.
        weights: weights of STEP_FEATURES, in their order.
        sets: work array of ``Scratch``.

    Returns:
        (positions of all candidates, best first; features of the pool before each step, shape (steps, features, pool))
    """
    order = best_first(score)
    pool = order[:POOL]
    rows, relative = c.rows.take(pool), score.take(pool)
    has = c.has.take(pool, axis=0).astype(np.float32)
    link = _links_within(mentions, pool, len(order))
    is_linked = (link >= _LINKED) * _ONE_LINK
    alike = likeness(corpus, terms, rows, sets)
    lacks, has_by_term = 1 - has[:, :, None], has.T.copy()
    left = terms.idf[:, None] / np.float32(terms.total) * lacks[0]
    now = np.empty((len(STEP_FEATURES), len(pool)), np.float32)
    now[0] = relative - relative[0]
    now[4], now[5:] = is_linked[0], alike[0]
    # Factors of a document's new terms for the features "new", "linked_new" and "alone_new".
    factors = np.ones((3, len(pool)), np.float32)
    factors[1] = link[0]
    of_feature = weights[:, None]
    barred = np.zeros(len(pool))
    barred[0] = -np.inf
    taken = [0]
    steps = []
    for _ in range(min(DEPTH, len(pool)) - 1):
        np.equal(factors[1], _NO_LINK, out=factors[2])
        np.multiply(factors, np.add.reduce(has_by_term * left, 0), out=now[1:4])
        steps.append(now.copy())
        value = np.add.reduce(of_feature * now, 0, np.float64)
        value += barred
        chosen = int(value.argmax())
        taken.append(chosen)
        barred[chosen] = -np.inf
        left *= lacks[chosen]
        np.maximum(factors[1], link[chosen], out=factors[1])
        now[4] += is_linked[chosen]
        np.minimum(now[4], _ALL_LINKS, out=now[4])
        np.maximum(now[5:], alike[chosen], out=now[5:])
    others = np.ones(len(order), bool)
    others[taken] = False
    ranked = np.concatenate((pool.take(taken), order[others]))
    return ranked, np.array(steps, np.float32).reshape(-1, *now.shape)


def _links_within(mentions: Mentions, pool: Ints, count: int) -> Floats:
    """Return the square root of the strongest mention between each two of P of the candidates, shape (P, P)."""
    index = np.full(count, -1)
    index[pool] = np.arange(len(pool))
    link = np.zeros((len(pool), len(pool)), np.float32)
    holder, named = index.take(mentions.holder), index.take(mentions.named)
    inside = ((holder >= 0) & (named >= 0)).nonzero()[0]
    cell = holder.take(inside) * len(pool) + named.take(inside)
    np.maximum.at(link.reshape(-1), cell, mentions.weight.take(inside))
    return np.maximum(link, link.T)
