"""Greedy choice: take documents one by one, by their score and by what they add to the documents already taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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
_ONE_LINK = np.float32(1 / 3)
"""Value of the step feature "links" for one link; it is 1 for three or more."""


class Ranked(NamedTuple):
    """The scored candidates of one question, in the order of their scores, and the comparisons within its pool of P."""

    terms: Terms
    order: Ints
    """Positions of all candidates, best first. The first P are the pool."""
    relative: Floats
    """Score of each document of the pool, minus the best one. Shape (P,)."""
    has: Floats
    """Shape (P, T): 1 where the document has the term."""
    link: Floats
    """Square root of the strongest mention between each two documents, shape (P, P)."""
    alike: Floats
    """Result of ``likeness``, shape (P, 2, P)."""


def compare(corpus: Corpus, terms: Terms, c: Candidates, mentions: Mentions, score: Floats, sets: Array) -> Ranked:
    """Sort the candidates of a question by score, and compare the best ones with each other.

    Args:
        mentions: mentions between the candidates.
        score: score of each candidate, shape (C,), C >= 1.
        sets: work array of ``Scratch``.
    """
    order = best_first(score)
    pool = order[:POOL]
    return Ranked(
        terms,
        order,
        score.take(pool) - score[pool[0]],
        c.has.take(pool, axis=0).astype(np.float32),
        _links_within(mentions, pool, len(order)),
        likeness(corpus, terms, c.rows.take(pool), sets),
    )


def choose(asked: Sequence[Ranked], weights: Floats) -> list[tuple[Ints, Floats]]:
    """Order the candidates of each of B questions by greedy choice.

    Args:
        weights: weights of STEP_FEATURES, in their order.

    Returns:
        For each question: (positions of all candidates, best first; features of the pool before each step, shape
        (steps, features, pool)).
    """
    count, size = len(asked), max(len(q.terms.idf) for q in asked)
    # Pools of fewer documents and questions of fewer terms are filled up with zeros.
    has = np.zeros((count, POOL, size), np.float32)
    left = np.zeros((count, size, 1), np.float32)
    link = np.zeros((count, POOL, POOL), np.float32)
    alike = np.zeros((count, POOL, 2, POOL), np.float32)
    now = np.zeros((count, len(STEP_FEATURES), POOL), np.float32)
    barred = np.full((count, POOL), -np.inf)
    for i, q in enumerate(asked):
        pool, terms = q.has.shape
        has[i, :pool, :terms] = q.has
        left[i, :terms, 0] = q.terms.idf / np.float32(q.terms.total)
        link[i, :pool, :pool] = q.link
        alike[i, :pool, :, :pool] = q.alike
        now[i, 0, :pool] = q.relative
        barred[i, 1:pool] = 0
    lacks, has_by_term = 1 - has[..., None], has.transpose(0, 2, 1).copy()
    is_linked = (link >= _LINKED) * _ONE_LINK
    left *= lacks[:, 0]
    now[:, 4], now[:, 5:] = is_linked[:, 0], alike[:, 0]
    # Factors of a document's new terms for the features "new", "linked_new" and "alone_new".
    factors = np.ones((count, 3, POOL), np.float32)
    factors[:, 1] = link[:, 0]
    question, of_feature = np.arange(count), weights[:, None]
    taken, steps = [np.zeros(count, np.int64)], []
    for _ in range(DEPTH - 1):
        np.equal(factors[:, 1], 0, out=factors[:, 2])
        np.multiply(factors, np.add.reduce(has_by_term * left, 1)[:, None], out=now[:, 1:4])
        steps.append(now.copy())
        value = np.add.reduce(of_feature * now, 1, np.float64)
        value += barred
        chosen = value.argmax(axis=1)
        taken.append(chosen)
        barred[question, chosen] = -np.inf
        left *= lacks[question, chosen]
        np.maximum(factors[:, 1], link[question, chosen], out=factors[:, 1])
        np.minimum(now[:, 4] + is_linked[question, chosen], 1, out=now[:, 4])
        np.maximum(now[:, 5:], alike[question, chosen], out=now[:, 5:])
    by_question = np.array(taken).T
    features = np.array(steps)
    return [
        (_with_first(q.order, by_question[i][:pool]), features[: pool - 1, i, :, :pool])
        for i, q in enumerate(asked)
        for pool in (len(q.has),)
    ]


def _with_first(order: Ints, taken: Ints) -> Ints:
    """Move the entries at the indices ``taken`` to the front."""
    others = np.ones(len(order), bool)
    others[taken] = False
    return np.concatenate((order.take(taken), order[others]))


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
