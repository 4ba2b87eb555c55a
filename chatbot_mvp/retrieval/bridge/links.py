"""Find the mentions between the candidates of a question, and weigh them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Doubles, Floats, Ints, best_first, entries
from chatbot_mvp.retrieval.bridge.candidates import Candidates
from chatbot_mvp.retrieval.bridge.corpus import REACH, Corpus
from chatbot_mvp.retrieval.bridge.question import Terms

_AWAY = np.arange(REACH, 0, -1)
_CLOSENESS = (1 / (0.5 + _AWAY / 2)).astype(np.float32)
"""Weight of a word at each distance of ``_AWAY``."""


class Mentions(NamedTuple):
    """The E mentions between candidates. All arrays have shape (E,)."""

    at: Ints
    """Index of the mention in the corpus."""
    holder: Ints
    """Position of the candidate with the mention."""
    named: Ints
    """Position of the candidate that it names."""
    weight: Floats
    """Square root of the mention's strength, 0-1."""


class Links(NamedTuple):
    """The mentions between P parents and all candidates, each seen from the parent. Arrays have shape (L,).

    The first entries are "forward": the parent mentions the candidate. The others are "backward": the candidate
    mentions the parent. A mention between two parents is there twice.
    """

    forward: int
    """Number of forward links."""
    mention: Ints
    """Index in ``Mentions``."""
    parent: Ints
    """Index of the parent."""
    candidate: Ints
    """Position of the candidate at the other end."""
    weight: Floats
    """Square root of the mention's strength, 0-1."""
    adds: Floats
    """Idf share (0-1) of the question's terms that the candidate has and the parent lacks."""


def linked_rows(corpus: Corpus, rows: Ints, place: dict[int, int], prior: Floats, parents: int) -> Ints:
    """Return rows of documents, not yet candidates, that the best candidates mention or are mentioned by.

    Args:
        rows: rows of the candidates.
        place: row of each candidate -> its position.
        prior: score of each candidate, 0-1.
        parents: number of best candidates whose links are followed.
    """
    best = rows.take(best_first(prior)[:parents])
    _, at = entries(corpus.neighbours_start, best)
    met = dict.fromkeys(corpus.neighbours.take(at).tolist())
    return np.array([row for row in met if row not in place], np.int64)


def find_mentions(corpus: Corpus, c: Candidates, of_row: Ints) -> Mentions:
    """Find the mentions between candidates.

    Args:
        of_row: work array of ``Scratch``.
    """
    holder, at = entries(corpus.mentions.start, c.rows)
    of_row[c.rows] = np.arange(len(c.rows))
    named = of_row.take(corpus.mentions.other.take(at))
    of_row[c.rows] = -1
    inside = (named >= 0).nonzero()[0]
    at = at.take(inside)
    return Mentions(at, holder.take(inside), named.take(inside), corpus.mention_weight.take(at))


def links_of(corpus: Corpus, mentions: Mentions, parents: Ints, new: Doubles) -> Links:
    """List the links of some candidates.

    Args:
        parents: positions of the P candidates.
        new: ``new_shares`` of the candidates against ``parents``, shape (C, P).
    """
    index = np.full(len(new), -1)
    index[parents] = np.arange(len(parents))
    holder, named = index.take(mentions.holder), index.take(mentions.named)
    forward, backward = (holder >= 0).nonzero()[0], (named >= 0).nonzero()[0]
    if corpus.is_strong is not None:
        backward = backward[corpus.is_strong.take(mentions.at.take(backward))]
    mention = np.concatenate((forward, backward))
    parent = np.concatenate((holder.take(forward), named.take(backward)))
    candidate = np.concatenate((mentions.named.take(forward), mentions.holder.take(backward)))
    adds = new.take(candidate * len(parents) + parent).astype(np.float32)
    return Links(len(forward), mention, parent, candidate, mentions.weight.take(mention), adds)


def link_values(
    corpus: Corpus, terms: Terms, c: Candidates, mentions: Mentions, links: Links, prior: Floats, of_term: Array
) -> Floats:
    """Return the value of each link for its candidate, by a formula set by hand.

    Args:
        prior: score of each parent, 0-1.
        of_term: work array of ``Scratch``.
    """
    holder, named = mentions.holder.take(links.mention), mentions.named.take(links.mention)
    lent = prior.take(links.parent) * links.weight
    around = _around(corpus, terms, c, mentions.at.take(links.mention), holder, named, of_term)
    rarity = corpus.rarity.take(c.rows.take(named)).astype(np.float64)
    return (lent * (0.15 + around + links.adds) * (0.3 + rarity)).astype(np.float32)


def new_shares(terms: Terms, c: Candidates, others: Ints) -> Doubles:
    """Return the idf share (0-1) of the question's terms that each candidate has and each of ``others`` lacks.

    Shape (C, others).
    """
    lacks = (1 - c.has.take(others, axis=0)) * terms.exact_idf
    shares: Doubles = c.has @ lacks.T / terms.total
    return shares


def _around(
    corpus: Corpus, terms: Terms, c: Candidates, at: Ints, holder: Ints, named: Ints, of_term: Array
) -> Doubles:
    """Return the idf share of the question's terms in the sentence of each mention, plus that of the terms near it.

    A near term is divided by 0.5 + half its distance in content words. Terms in the title of the named document count
    in neither part.

    Args:
        at: indices of the mentions in the corpus, shape (E,).
        holder, named: positions of the candidates at their ends, shape (E,).
        of_term: work array of ``Scratch``.
    """
    mentions = corpus.mentions
    begin = corpus.mention_begin.take(at)
    behind = begin + mentions.width.take(at)
    # From far to near, because the last of several assignments to an element counts.
    place = np.concatenate((begin - _AWAY[:, None], behind + (_AWAY - 1)[:, None]), axis=1)
    of_term[terms.numbers] = terms.slots
    slot = of_term.take(corpus.words.take(place))
    of_term[terms.numbers] = -1
    away, mention = (slot >= 0).nonzero()
    near = np.zeros((len(at), len(terms.idf)), np.float32)
    near[mention % max(1, len(at)), slot[away, mention]] = _CLOSENESS.take(away)
    sentence = mentions.sentence.take(at) + (c.first_sentence - corpus.sentence_start.take(c.rows)).take(holder)
    near += c.in_sentence.take(sentence, axis=0)
    near *= terms.idf
    share: Doubles = (near * (1 - c.in_title.take(named, axis=0))) @ np.ones(len(terms.idf)) / terms.total
    return share
