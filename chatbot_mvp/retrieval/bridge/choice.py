"""Greedy choice: take documents one by one, by their score and by what they add to the documents already taken."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Floats, Ints, best_first
from chatbot_mvp.retrieval.bridge.candidates import Candidates
from chatbot_mvp.retrieval.bridge.corpus import Corpus
from chatbot_mvp.retrieval.bridge.links import Mentions, likeness
from chatbot_mvp.retrieval.bridge.question import Terms

STEP_FEATURES = (
    *("score", "new", "linked_new", "alone_new", "links", "hop_new", "word_hop_new"),
    *("words", "dup", "hop", "word_hop"),
)
HOP_STEP_FEATURES = ("hop_new", "word_hop_new", "hop", "word_hop")
"""The step features that are 0 without second queries."""

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
    between: Floats
    """For each document of the pool and each other one: shared words (0-1), likeness of the titles (0-1), nearness of
    the other one to the second query of the first (0-1) by vectors and by words, square root of the strongest mention
    between the two (0-1), and 1/3 if that mention counts as a link. Shape (P, 6, P)."""


def compare(
    corpus: Corpus,
    terms: Terms,
    c: Candidates,
    mentions: Mentions,
    score: Floats,
    hops: Sequence[tuple[Ints, Floats]],
    sets: Array,
) -> Ranked:
    """Sort the candidates of a question by score, and compare the best ones with each other.

    Args:
        mentions: mentions between the candidates.
        score: score of each candidate, shape (C,), C >= 1.
        hops: by vectors, then by words: positions of the Q documents with a second query, and the nearness of each
            candidate to each of these queries, shape (Q, C).
        sets: work array of ``Scratch``.
    """
    order = best_first(score)
    pool = order[:POOL]
    between = np.zeros((len(pool), 6, len(pool)), np.float32)
    between[:, 0], between[:, 1] = likeness(corpus, terms, c.rows.take(pool), sets)
    for kind, (parents, nearness) in enumerate(hops, 2):
        asking, query = (pool[:, None] == parents).nonzero()
        between[asking, kind] = nearness[query[:, None], pool]
    between[:, 4] = _links_within(mentions, pool, len(order))
    between[:, 5] = (between[:, 4] >= _LINKED) * _ONE_LINK
    has = c.has.take(pool, axis=0).astype(np.float32)
    return Ranked(terms, order, score.take(pool) - score[pool[0]], has, between)


def choose(asked: Sequence[Ranked], weights: Floats) -> list[tuple[Ints, Floats]]:
    """Order the candidates of each of B questions by greedy choice.

    Args:
        weights: weights of STEP_FEATURES, in their order.

    Returns:
        For each question: (positions of all candidates, best first; features of the pool before each step, shape
        (steps, features, pool)).
    """
    count, size = len(asked), max(len(q.terms.idf) for q in asked)
    width = max(len(q.has) for q in asked)
    # Pools of fewer documents and questions of fewer terms are filled up with zeros.
    has = np.zeros((count, width, size), np.float32)
    left = np.zeros((count, size, 1), np.float32)  # idf share of the terms that no chosen document has
    between = np.zeros((count, width, 6, width), np.float32)
    # The step features of all documents, and the square root of their strongest mention by or of a chosen document.
    now = np.zeros((count, len(STEP_FEATURES) + 1, width), np.float32)
    barred = np.full((count, width), -np.inf)
    for i, q in enumerate(asked):
        pool, terms = q.has.shape
        has[i, :pool, :terms] = q.has
        left[i, :terms, 0] = q.terms.idf / np.float32(q.terms.total)
        between[i, :pool, :, :pool] = q.between
        now[i, 0, :pool] = q.relative
        barred[i, :pool] = 0
    has_by_term = has.transpose(0, 2, 1).copy()
    lacks, to_others = (1 - has).reshape(count * width, size, 1), between.reshape(count * width, 6, width)
    begin, of_feature = width * np.arange(count), weights[:, None]
    features, links, hops, linked = now[:, :-1], now[:, 4], now[:, 9:11], now[:, 11]
    chosen, taken, steps = np.zeros(count, np.int64), [], []
    while True:
        taken.append(chosen)
        if len(taken) == min(DEPTH, width):
            break
        at = begin + chosen
        barred.reshape(-1)[at] = -np.inf
        left *= lacks.take(at, axis=0)
        more = to_others.take(at, axis=0)
        np.maximum(now[:, 7:], more[:, :5], out=now[:, 7:])
        links += more[:, 5]
        np.minimum(links, 1, out=links)
        now[:, 1] = np.add.reduce(has_by_term * left, 1)
        np.multiply(now[:, 1], linked, out=now[:, 2])
        np.multiply(now[:, 1], linked == 0, out=now[:, 3])
        np.multiply(now[:, 1:2], hops, out=now[:, 5:7])
        steps.append(features.copy())
        value = np.add.reduce(of_feature * features, 1, np.float64)
        value += barred
        chosen = value.argmax(axis=1)
    by_question = np.array(taken).T
    history = np.array(steps).reshape(-1, *features.shape)
    sizes = [len(q.has) for q in asked]
    return [
        (_with_first(q.order, first[:pool]), history[: pool - 1, i, :, :pool])
        for i, (q, first, pool) in enumerate(zip(asked, by_question, sizes, strict=True))
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
