"""Compute the features of candidates: their own match with the question, and their mentions from and to the best ones.

OWN_FEATURES, LINK_FEATURES, VECTOR_FEATURES and HOP_FEATURES name the learned weights. In this order they are the rows
of a feature matrix; its columns are the candidates of one question.
"""

from __future__ import annotations

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Doubles, Floats, Ints, best_first, entries
from chatbot_mvp.retrieval.bridge.candidates import Candidates, Scratch
from chatbot_mvp.retrieval.bridge.corpus import Corpus
from chatbot_mvp.retrieval.bridge.links import (
    Links,
    Mentions,
    find_mentions,
    link_values,
    links_of,
    new_shares,
    shared_words,
)
from chatbot_mvp.retrieval.bridge.question import Named, Terms

OWN_FEATURES = ("hand", "named_idf", "named_exact", "title_match", "length", "hub")
LINK_FEATURES = ("new_to_top", "forward_new", "pair", "support", "link_count", "words", "words_new")
VECTOR_FEATURES = ("cosine_scaled", "cosine")
HOP_FEATURES = ("hop", "hop_best", "word_hop", "word_hop_best")
"""How near a candidate is to the second queries, by vectors and by words: with each query weighted by its document's
score, and unweighted."""
FEATURES = (*OWN_FEATURES, *LINK_FEATURES, *VECTOR_FEATURES, *HOP_FEATURES)

HAND, NAMED_IDF, NAMED_EXACT, TITLE_MATCH, LENGTH, HUB = range(6)
NEW_TO_TOP, FORWARD_NEW, PAIR, SUPPORT, LINK_COUNT, WORDS, WORDS_NEW, COSINE_SCALED, COSINE = range(6, 15)
HOP, HOP_BEST, WORD_HOP, WORD_HOP_BEST = range(15, 19)

_FIRST_PARENTS, _PARENTS = 6, 8
"""Number of best candidates whose links are followed, in the first look and for the features."""
_DENSE_SCALE = 60
"""Rank whose cosine becomes 0 when cosines are scaled; the nearest vector's becomes 1."""
_TINY = np.float32(1e-6)
_FORWARD, _BACKWARD = np.float32(0.8), np.float32(0.6)
_HAND_SET = np.array([0.5, 0.5, 0.6, 0.3, 0.2, 0.8])[:, None]
"""Weights of BM25, match of text and title, name, best sentence, neighbouring terms, and cosine."""
_LINK_COUNT = np.minimum(np.cumsum([0, *[0.2] * _PARENTS], dtype=np.float32), np.float32(1))
"""Value of LINK_COUNT for each number of parents that a candidate has links with."""


def first_look(
    corpus: Corpus, terms: Terms, named: Named, c: Candidates, place: dict[int, int], bm25: Floats, cosine: Floats
) -> Ints:
    """Follow the links of the best documents found.

    Args:
        c: the documents found, at least one.
        place: row of each -> its position in ``c``.
        bm25: score of each in the first search; 0 for documents that it did not find.
        cosine: cosine of each with the question; empty without vectors.

    Returns:
        Rows of further documents that the best candidates mention or are mentioned by.
    """
    prior = _hand_set(c, bm25, _own(corpus, terms, named, c, place, cosine))
    _, at = entries(corpus.neighbours_start, c.rows.take(best_first(prior)[:_FIRST_PARENTS]))
    met = dict.fromkeys(corpus.neighbours.take(at).tolist())
    return np.array([row for row in met if row not in place], np.int64)


def all_features(
    corpus: Corpus,
    terms: Terms,
    named: Named,
    c: Candidates,
    place: dict[int, int],
    bm25: Floats,
    cosine: Floats,
    scratch: Scratch,
) -> tuple[Mentions, Floats]:
    """Compute the feature matrix of all candidates.

    Args:
        c: the documents found, then those linked to them.
        place: row of each document found -> its position in ``c``.
        bm25, cosine: values of ``c``; ``cosine`` is empty without vectors.

    Returns:
        (mentions between the candidates, features of shape (FEATURES, candidates)). VECTOR_FEATURES are 0 without
        vectors, HOP_FEATURES always.
    """
    features = _own(corpus, terms, named, c, place, cosine)
    look = _hand_set(c, bm25, features)
    mentions = find_mentions(corpus, c, scratch.of_row)
    parents = best_first(look)[:_FIRST_PARENTS]
    links = links_of(corpus, mentions, parents, new_shares(terms, c, parents))
    value = link_values(corpus, terms, c, mentions, links, look.take(parents), scratch.of_term)
    forward, backward = np.zeros_like(look), np.zeros_like(look)
    np.maximum.at(forward, links.candidate[: links.forward], value[: links.forward])
    np.maximum.at(backward, links.candidate[links.forward :], value[links.forward :])
    features[HAND] = _scaled(look + _FORWARD * forward + _BACKWARD * backward)
    parents = best_first(features[HAND])[:_PARENTS]
    new = new_shares(terms, c, parents)
    _add_links(terms, c, links_of(corpus, mentions, parents, new), parents, features)
    _add_words(corpus, terms, c, parents, new, features, scratch.small_sets)
    return mentions, features


def _own(corpus: Corpus, terms: Terms, named: Named, c: Candidates, place: dict[int, int], cosine: Floats) -> Floats:
    """Compute the features that need no links; the other rows of the matrix are 0."""
    features = np.zeros((len(FEATURES), len(c.rows)), np.float32)
    if len(named.rows):
        at = [place[row] for row in named.rows.tolist()]
        features[NAMED_IDF, at] = (named.strength * named.idf).astype(np.float64) / terms.total
        features[NAMED_EXACT, at] = named.strength >= 1
    features[TITLE_MATCH] = c.title_score.astype(np.float64) / terms.total
    features[LENGTH] = corpus.length.take(c.rows)
    features[HUB] = 1 - corpus.rarity.take(c.rows)
    if len(cosine):
        last = min(_DENSE_SCALE, len(cosine))
        low, high = np.partition(cosine, -last)[-last], np.maximum.reduce(cosine)
        features[COSINE_SCALED] = (cosine - low) / max(high - low, _TINY)
        features[COSINE] = cosine
    return features


def _hand_set(c: Candidates, bm25: Floats, own: Floats) -> Floats:
    """Score the candidates' own match in 0-1. The weights were set by hand, once, before any measurement."""
    parts = np.empty((6, len(c.rows)))
    parts[0] = _scaled(bm25)
    parts[1] = _scaled(c.body_score + np.float32(0.5) * c.title_score)
    parts[2] = np.minimum(np.float32(1), 2 * own[NAMED_IDF])
    parts[3] = c.sentence_cover
    parts[4] = c.pair_cover
    parts[5] = own[COSINE_SCALED]
    parts *= _HAND_SET
    look = parts[0] + parts[1] + (parts[2] + parts[3] + parts[4]) + parts[5]
    return _scaled(look.astype(np.float32))


def _scaled(values: Floats) -> Floats:
    """Divide non-negative values by the highest one; all-zero values stay 0."""
    scaled: Floats = values / max(np.maximum.reduce(values), _TINY)
    return scaled


def _add_links(terms: Terms, c: Candidates, links: Links, parents: Ints, features: Floats) -> None:
    """Compute the features that come from mentions between ``parents``, best first, and the other candidates."""
    prior, parent, forward = features[HAND], links.parent, links.forward
    cover = np.zeros(len(parents), np.float32)
    of_parent, term = c.has.take(parents, axis=0).nonzero()
    np.add.at(cover, of_parent, (terms.exact_idf / terms.total).take(term))
    weight, new = links.weight, links.adds
    lent, own = prior.take(parents).take(parent), prior.take(links.candidate)
    np.maximum.at(features[FORWARD_NEW], links.candidate[:forward], (lent * weight * new)[:forward])
    pair = 0.5 * (own + lent) * weight.astype(np.float64) * (cover.take(parent) + new)
    np.maximum.at(features[PAIR], links.candidate, pair.astype(np.float32))
    back = own * weight * (0.2 + new.astype(np.float64))
    np.maximum.at(features[SUPPORT], parents.take(parent), back.astype(np.float32))
    met = np.zeros((len(prior), len(parents)), bool)
    met[links.candidate, parent] = True
    features[LINK_COUNT] = _LINK_COUNT.take(np.add.reduce(met, 1))


def _add_words(
    corpus: Corpus, terms: Terms, c: Candidates, parents: Ints, new: Doubles, features: Floats, sets: Array
) -> None:
    """Compute the features that compare the terms and words of ``parents``, best first, and all candidates."""
    left = float((1 - c.has[parents[0]]) @ terms.exact_idf)
    if left > 0:
        features[NEW_TO_TOP] = new[:, 0] * terms.total / left
    lent = shared_words(corpus, terms, c.rows, c.rows.take(parents), sets) * features[HAND].take(parents)
    features[WORDS] = np.maximum.reduce(lent, 1)
    features[WORDS_NEW] = np.maximum.reduce(lent * new, 1)
