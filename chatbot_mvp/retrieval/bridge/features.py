"""Compute the features of candidates: their own match with the question, and their mentions from and to the best ones.

OWN_FEATURES, LINK_FEATURES and VECTOR_FEATURES name the learned weights. In this order they are the rows of a feature
matrix; its columns are the candidates of one question.
"""

from __future__ import annotations

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Floats, Ints, compiled, highest
from chatbot_mvp.retrieval.bridge.candidates import Candidates, Corpus, describe, joined
from chatbot_mvp.retrieval.bridge.graph import Edges
from chatbot_mvp.retrieval.bridge.links import Links, find_links, linked_rows, new_share
from chatbot_mvp.retrieval.bridge.question import Named, Terms

OWN_FEATURES = ("hand", "named_idf", "named_exact", "title_match", "length", "hub")
LINK_FEATURES = ("new_to_top", "forward_new", "pair", "support", "link_count", "words", "words_new")
VECTOR_FEATURES = ("cosine_scaled", "cosine")
FEATURES = (*OWN_FEATURES, *LINK_FEATURES, *VECTOR_FEATURES)

HAND, NAMED_IDF, NAMED_EXACT, TITLE_MATCH, LENGTH, HUB = range(6)
NEW_TO_TOP, FORWARD_NEW, PAIR, SUPPORT, LINK_COUNT, WORDS, WORDS_NEW, COSINE_SCALED, COSINE = range(6, 15)

# numpy integers, because numba would compile the functions a second time for plain ones.
_FIRST_PARENTS, _PARENTS = np.int64(6), np.int64(8)
"""Number of best candidates whose links are followed, in the first look and for the features."""
_DENSE_SCALE = np.int64(60)
"""Rank whose cosine becomes 0 when cosines are scaled; the nearest vector's becomes 1."""
_FORWARD, _BACKWARD = 0.8, 0.6
_COMMON_WORDS = 0.7


@compiled
def first_look(
    corpus: Corpus,
    outgoing: Edges,
    incoming: Edges,
    terms: Terms,
    named: Named,
    rows: Ints,
    bm25: Floats,
    cosine: Floats,
    of_row: Ints,
    of_term: Array,
) -> tuple[Candidates, Ints]:
    """Describe the documents found, and follow the links of the best ones.

    Args:
        rows: rows of the documents, at least one.
        bm25: score of each in the first search; 0 for documents that it did not find.
        cosine: cosine of each with the question; empty without vectors.
        of_row, of_term: work arrays of ``Scratch``.

    Returns:
        (the candidates, rows of further documents that the best candidates mention or are mentioned by)
    """
    c = describe(corpus, terms, rows, of_term)
    own = _own(corpus, terms, named, c, cosine, of_row)
    look = _hand_set(c, bm25, own, len(cosine) > 0)
    return c, linked_rows(outgoing, incoming, rows, look, _FIRST_PARENTS, of_row)


@compiled
def all_features(
    corpus: Corpus,
    outgoing: Edges,
    incoming: Edges,
    terms: Terms,
    named: Named,
    found: Candidates,
    linked: Ints,
    bm25: Floats,
    cosine: Floats,
    of_row: Ints,
    of_term: Array,
    sets: Ints,
) -> tuple[Candidates, Floats]:
    """Compute the feature matrix of all candidates.

    Args:
        found: the candidates that ``first_look`` described.
        linked: rows of the further documents that ``first_look`` returned.
        bm25, cosine: values of ``found``, then of ``linked``; ``cosine`` is empty without vectors.
        of_row, of_term, sets: work arrays of ``Scratch``.

    Returns:
        (all candidates, features of shape (FEATURES, candidates)). VECTOR_FEATURES are 0 without vectors.
    """
    c = joined(found, describe(corpus, terms, linked, of_term)) if len(linked) else found
    features = _own(corpus, terms, named, c, cosine, of_row)
    look = _hand_set(c, bm25, features, len(cosine) > 0)
    links = find_links(corpus, outgoing, incoming, terms, c, look, _FIRST_PARENTS, of_row, of_term)
    forward, backward = np.zeros_like(look), np.zeros_like(look)
    for e in range(len(links.value)):
        by_way = forward if links.forward[e] else backward
        by_way[links.candidate[e]] = max(by_way[links.candidate[e]], links.value[e])
    hand = _scaled(look + np.float32(_FORWARD) * forward + np.float32(_BACKWARD) * backward)
    features[HAND] = hand
    links = find_links(corpus, outgoing, incoming, terms, c, hand, _PARENTS, of_row, of_term)
    _add_links(corpus, terms, c, links, features, sets)
    return c, features


@compiled
def _own(corpus: Corpus, terms: Terms, named: Named, c: Candidates, cosine: Floats, of_row: Ints) -> Floats:
    """Compute the features that need no links; the other rows of the matrix are 0."""
    count = len(c.rows)
    features = np.zeros((15, count), np.float32)
    for i in range(count):
        of_row[c.rows[i]] = i
    for k in range(len(named.rows)):
        i = of_row[named.rows[k]]
        features[NAMED_IDF, i] = named.strength[k] * named.idf[k] / terms.total
        features[NAMED_EXACT, i] = named.strength[k] >= 1
    for i in range(count):
        row = c.rows[i]
        of_row[row] = -1
        features[TITLE_MATCH, i] = c.title_score[i] / terms.total
        features[LENGTH, i] = np.log1p((corpus.text_start[row + 1] - corpus.text_start[row]) / corpus.mean_length)
        features[HUB, i] = 1 - corpus.rarity[row]
    if len(cosine):
        ranked = highest(cosine, _DENSE_SCALE)
        low, high = cosine[ranked[len(ranked) - 1]], cosine[ranked[0]]
        features[COSINE_SCALED] = (cosine - low) / max(high - low, np.float32(1e-6))
        features[COSINE] = cosine
    return features


@compiled
def _hand_set(c: Candidates, bm25: Floats, own: Floats, vectors: bool) -> Floats:
    """Score the candidates' own match in 0-1. The weights were set by hand, once, before any measurement."""
    found, both = _scaled(bm25), _scaled(c.body_score + np.float32(0.5) * c.title_score)
    look = np.empty(len(c.rows), np.float32)
    for i in range(len(c.rows)):
        value = 0.5 * found[i] + 0.5 * both[i]
        value += 0.6 * min(1.0, 2 * own[NAMED_IDF, i]) + 0.3 * c.sentence_cover[i] + 0.2 * c.pair_cover[i]
        if vectors:
            value += 0.8 * own[COSINE_SCALED, i]
        look[i] = value
    return _scaled(look)


@compiled
def _scaled(values: Floats) -> Floats:
    """Divide non-negative values by the highest one; all-zero values stay 0."""
    top = np.float32(1e-6)
    for value in values:
        top = max(top, value)
    scaled: Floats = values / top
    return scaled


@compiled
def _add_links(corpus: Corpus, terms: Terms, c: Candidates, links: Links, features: Floats, sets: Ints) -> None:
    prior, parents = features[HAND], links.parents
    top = parents[0]
    cover = np.zeros(len(parents), np.float32)
    for p in range(len(parents)):
        for slot in range(len(terms.idf)):
            cover[p] += c.has[parents[p], slot] * terms.idf[slot] / terms.total
    left = 0.0
    for slot in range(len(terms.idf)):
        left += (1 - c.has[top, slot]) * terms.idf[slot]
    met = np.zeros((len(c.rows), len(parents)), np.bool_)
    for e in range(len(links.parent)):
        i, p = links.candidate[e], links.parent[e]
        new = links.adds[e]
        if links.forward[e]:
            features[FORWARD_NEW, i] = max(features[FORWARD_NEW, i], links.lent[e] * new)
        mean_prior = 0.5 * (prior[i] + prior[parents[p]])
        features[PAIR, i] = max(features[PAIR, i], mean_prior * links.weight[e] * (cover[p] + new))
        back = prior[i] * links.weight[e] * (0.2 + new)
        features[SUPPORT, parents[p]] = max(features[SUPPORT, parents[p]], back)
        if not met[i, p]:
            met[i, p] = True
            features[LINK_COUNT, i] = min(features[LINK_COUNT, i] + np.float32(0.2), np.float32(1))
    shared = shared_words(corpus, terms, c.rows, c.rows[parents], sets)
    for i in range(len(c.rows)):
        features[NEW_TO_TOP, i] = new_share(terms, c, i, top) * terms.total / left if left > 0 else 0
        for p in range(len(parents)):
            if shared[i, p] > 0:
                lent = shared[i, p] * prior[parents[p]]
                features[WORDS, i] = max(features[WORDS, i], lent)
                features[WORDS_NEW, i] = max(features[WORDS_NEW, i], lent * new_share(terms, c, i, parents[p]))


@compiled
def shared_words(corpus: Corpus, terms: Terms, rows: Ints, others: Ints, sets: Ints) -> Floats:
    """Measure the proper words that two documents share and the question lacks, shape (rows, others), 0-1.

    The value is x / (x + 0.7), where x is the sum of (idf / highest idf)^2 over these words; 0 for documents of equal
    titles. It links documents that share no mention. ``others`` has 62 entries at most.
    """
    shared = np.zeros((len(rows), len(others)), np.float32)
    for j in range(len(others)):
        for at in range(corpus.proper_start[others[j]], corpus.proper_start[others[j] + 1]):
            sets[corpus.proper_words[at]] |= 1 << j
    for k in range(len(terms.numbers)):
        sets[terms.numbers[k]] = 0
    for i in range(len(rows)):
        for at in range(corpus.proper_start[rows[i]], corpus.proper_start[rows[i] + 1]):
            word = corpus.proper_words[at]
            have = sets[word]
            j = 0
            while have:
                if have & 1:
                    shared[i, j] += corpus.rareness[word]
                have >>= 1
                j += 1
        for j in range(len(others)):
            same = corpus.group[rows[i]] == corpus.group[others[j]]
            shared[i, j] = 0 if same else shared[i, j] / (shared[i, j] + _COMMON_WORDS)
    for j in range(len(others)):
        for at in range(corpus.proper_start[others[j]], corpus.proper_start[others[j] + 1]):
            sets[corpus.proper_words[at]] = 0
    return shared
