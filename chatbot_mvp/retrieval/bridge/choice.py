"""Greedy choice: take documents one by one, by their score and by what they add to the documents already taken."""

from __future__ import annotations

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Floats, Ints, best_first
from chatbot_mvp.retrieval.bridge.candidates import Candidates
from chatbot_mvp.retrieval.bridge.corpus import Corpus
from chatbot_mvp.retrieval.bridge.links import Links
from chatbot_mvp.retrieval.bridge.question import Terms
from chatbot_mvp.retrieval.bridge.shared import shared_words, title_likeness

STEP_FEATURES = ("score", "new", "linked_new", "alone_new", "links", "words", "dup")

POOL = 40
"""Number of best candidates to choose from; the others follow in the order of their scores."""
DEPTH = 10
"""Number of documents that are chosen greedily."""
_LINKED = 0.3
_LINKS = (np.arange(4) / 3).astype(np.float32)
"""Value of the step feature "links" for each number of links; 1 for more."""


def choose(
    corpus: Corpus, terms: Terms, c: Candidates, links: Links, score: Floats, weights: Floats, sets: Ints
) -> tuple[Ints, Floats]:
    """Order the candidates by greedy choice.

    Args:
        links: mentions between the candidates.
        score: score of each candidate, shape (C,), C >= 1.
        weights: weights of STEP_FEATURES, in their order.
        sets: work array of ``Scratch``.

    Returns:
        (positions of all candidates, best first; features of the pool before each step, shape (steps, features, pool))
    """
    order = best_first(score)
    pool = order[:POOL]
    rows, has, relative = c.rows.take(pool), c.has.take(pool, axis=0), score.take(pool)
    link = _links_within(links, pool, len(order))
    # For each document of the pool its links, shared words and likeness with each other one, shape (P, 3, P).
    between = np.stack((link, shared_words(corpus, terms, rows, rows, sets), title_likeness(corpus, rows, sets)), 1)
    is_linked = link.astype(np.float64) > _LINKED
    taken = [0]
    left = terms.idf / np.float32(terms.total) * (1 - has[0])
    best = between[0]
    linked = is_linked[0].astype(np.int64)
    barred = np.zeros(len(pool))
    barred[0] = -np.inf
    steps = np.zeros((min(DEPTH, len(pool)) - 1, len(STEP_FEATURES), len(pool)), np.float32)
    steps[:, 0] = relative - relative[0]
    for at in steps:
        new = has @ left
        at[1] = new
        at[2] = new * best[0]
        at[3] = new * (best[0] == 0)
        at[4] = _LINKS.take(linked, mode="clip")
        at[5:] = best[1:]
        value = np.add.reduce(weights[:, None] * at, 0, np.float64)
        value += barred
        chosen = int(value.argmax())
        taken.append(chosen)
        barred[chosen] = -np.inf
        left *= 1 - has[chosen]
        best = np.maximum(best, between[chosen])
        linked += is_linked[chosen]
    first = pool.take(taken)
    others = np.ones(len(order), bool)
    others[taken] = False
    return np.concatenate((first, order[others])), steps


def _links_within(links: Links, pool: Ints, count: int) -> Floats:
    """Return the square root of the strongest mention between each two of P of the candidates, shape (P, P)."""
    index = np.full(count, -1)
    index[pool] = np.arange(len(pool))
    link = np.zeros((len(pool), len(pool)), np.float32)
    holder, named = index.take(links.parent[: links.forward]), index.take(links.candidate[: links.forward])
    inside = ((holder >= 0) & (named >= 0)).nonzero()[0]
    cell = holder.take(inside) * len(pool) + named.take(inside)
    np.maximum.at(link.reshape(-1), cell, links.weight.take(inside))
    return np.maximum(link, link.T)
