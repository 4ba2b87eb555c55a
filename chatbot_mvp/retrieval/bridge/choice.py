"""Greedy choice: take documents one by one, by their score and by what they add to the documents already taken."""

from __future__ import annotations

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Floats, Ints, best_first, compiled
from chatbot_mvp.retrieval.bridge.candidates import Candidates, Corpus
from chatbot_mvp.retrieval.bridge.features import shared_words
from chatbot_mvp.retrieval.bridge.graph import Edges
from chatbot_mvp.retrieval.bridge.question import Terms

STEP_FEATURES = ("score", "new", "linked_new", "alone_new", "links", "words", "dup")

POOL = 40
"""Number of best candidates to choose from; the others follow in the order of their scores."""
DEPTH = 10
"""Number of documents that are chosen greedily."""
_LINKED = 0.3


@compiled
def choose(
    corpus: Corpus,
    outgoing: Edges,
    terms: Terms,
    c: Candidates,
    score: Floats,
    weights: Floats,
    of_row: Ints,
    sets: Ints,
) -> tuple[Ints, Floats]:
    """Order the candidates by greedy choice.

    Args:
        score: score of each candidate, shape (C,), C >= 1.
        weights: weights of STEP_FEATURES, in their order.
        of_row, sets: work arrays of ``Scratch``.

    Returns:
        (positions of all candidates, best first; features of the pool before each step, shape (steps, features, pool))
    """
    order = best_first(score)
    pool = order[:POOL]
    size = len(pool)
    rows = c.rows[pool]
    link = _links_within(outgoing, rows, of_row)
    shared = shared_words(corpus, terms, rows, rows, sets)
    alike = _title_likeness(corpus, rows, sets)
    left = terms.idf / np.float32(terms.total) * (1 - c.has[pool[0]])
    best_link, best_shared, best_alike = link[0].copy(), shared[0].copy(), alike[0].copy()
    links = np.zeros(size, np.float32)
    for j in range(size):
        links[j] = link[0, j] > _LINKED
    free = np.ones(size, np.bool_)
    free[0] = False
    taken = np.zeros(min(DEPTH, size), np.int64)
    steps = np.zeros((len(taken) - 1, 7, size), np.float32)
    for step in range(1, len(taken)):
        best_value, best = -np.inf, 0
        for j in range(size):
            new = np.float32(0)
            for slot in range(len(left)):
                new += c.has[pool[j], slot] * left[slot]
            at = steps[step - 1, :, j]
            at[0] = score[pool[j]] - score[pool[0]]
            at[1] = new
            at[2] = new * best_link[j]
            at[3] = new if best_link[j] == 0 else 0
            at[4] = min(links[j], 3) / 3
            at[5] = best_shared[j]
            at[6] = best_alike[j]
            value = 0.0
            for k in range(7):
                value += weights[k] * at[k]
            if free[j] and value > best_value:
                best_value, best = value, j
        taken[step] = best
        free[best] = False
        left *= 1 - c.has[pool[best]]
        for j in range(size):
            best_link[j] = max(best_link[j], link[best, j])
            best_shared[j] = max(best_shared[j], shared[best, j])
            best_alike[j] = max(best_alike[j], alike[best, j])
            links[j] += link[best, j] > _LINKED
    ranked = np.empty_like(order)
    at_rank = len(taken)
    ranked[:at_rank] = pool[taken]
    for j in range(len(order)):
        if j >= size or free[j]:
            ranked[at_rank] = order[j]
            at_rank += 1
    return ranked, steps


@compiled
def _links_within(outgoing: Edges, rows: Ints, of_row: Ints) -> Floats:
    """Return the square root of the strongest mention between each two of P documents, shape (P, P)."""
    link = np.zeros((len(rows), len(rows)), np.float32)
    for i in range(len(rows)):
        of_row[rows[i]] = i
    for i in range(len(rows)):
        for at in range(outgoing.start[rows[i]], outgoing.start[rows[i] + 1]):
            j = of_row[outgoing.other[at]]
            if j >= 0:
                strength = max(link[i, j], np.sqrt(outgoing.weight[at]))
                link[i, j] = strength
                link[j, i] = max(link[j, i], strength)
    for i in range(len(rows)):
        of_row[rows[i]] = -1
    return link


@compiled
def _title_likeness(corpus: Corpus, rows: Ints, sets: Ints) -> Floats:
    """Return the idf-weighted Jaccard similarity of the titles' terms, shape (P, P), 0-1; 0 on the diagonal."""
    likeness = np.zeros((len(rows), len(rows)), np.float32)
    for j in range(len(rows)):
        for at in range(corpus.title_start[rows[j]], corpus.title_start[rows[j] + 1]):
            sets[corpus.title_words[at]] |= 1 << j
    for i in range(len(rows)):
        begin = corpus.title_start[rows[i]]
        for at in range(begin, corpus.title_start[rows[i] + 1]):
            word = corpus.title_words[at]
            have = 0 if word in corpus.title_words[begin:at] else sets[word]
            j = 0
            while have:
                if have & 1:
                    likeness[i, j] += corpus.idf[word]
                have >>= 1
                j += 1
    for i in range(len(rows)):
        for j in range(len(rows)):
            either = corpus.title_weight[rows[i]] + corpus.title_weight[rows[j]] - likeness[i, j]
            likeness[i, j] = 0 if i == j else likeness[i, j] / max(either, np.float32(1e-6))
        for at in range(corpus.title_start[rows[i]], corpus.title_start[rows[i] + 1]):
            sets[corpus.title_words[at]] = 0
    return likeness
