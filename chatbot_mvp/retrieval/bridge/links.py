"""Find the mentions between the candidates of a question, and weigh them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Doubles, Floats, Ints, best_first, entries
from chatbot_mvp.retrieval.bridge.candidates import Candidates, Scratch
from chatbot_mvp.retrieval.bridge.corpus import REACH, Corpus
from chatbot_mvp.retrieval.bridge.question import Terms

_AWAY = np.arange(REACH, 0, -1)
_CLOSENESS = (1 / (0.5 + _AWAY / 2)).astype(np.float32)
"""Weight of a word at each distance of ``_AWAY``."""


class Links(NamedTuple):
    """The mentions between candidates, each once from either end. Arrays have shape (L,).

    From the document with the mention ("forward") the link leads to the document that it names; "backward" it leads
    from the named document to the one with the mention. Entries up to ``forward`` are the forward links.
    """

    forward: int
    """Number of forward links."""
    parent: Ints
    """Position of the candidate that the link leads from."""
    candidate: Ints
    """Position of the candidate that the link leads to."""
    weight: Floats
    """Square root of the mention's strength, 0-1."""
    adds: Floats
    """Idf share (0-1) of the question's terms that the candidate has and the parent lacks."""
    worth: Doubles
    """Value of the link for the candidate by a formula set by hand, before ``weight`` and the parent's score."""

    def values(self, prior: Floats, parents: Ints) -> Floats:
        """Return the value of each link for its candidate, 0 if it leads from none of ``parents``.

        Args:
            prior: score of each candidate, 0-1.
            parents: positions of candidates.
        """
        of_parents = np.zeros_like(prior)
        of_parents[parents] = prior[parents]
        lent = of_parents.take(self.parent) * self.weight
        return (lent * self.worth).astype(np.float32)


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


def find_links(corpus: Corpus, terms: Terms, c: Candidates, scratch: Scratch) -> Links:
    """Find the mentions between candidates."""
    holder, at = entries(corpus.mentions.start, c.rows)
    scratch.of_row[c.rows] = np.arange(len(c.rows))
    named = scratch.of_row.take(corpus.mentions.other.take(at))
    scratch.of_row[c.rows] = -1
    inside = (named >= 0).nonzero()[0]
    holder, named, at = holder.take(inside), named.take(inside), at.take(inside)
    weight = corpus.mention_weight.take(at)
    around = 0.15 + _around(corpus, terms, c, at, holder, named, scratch.of_term)
    rarity = 0.3 + corpus.rarity.take(c.rows.take(named)).astype(np.float64)
    has_holder, has_named = c.has.take(holder, axis=0), c.has.take(named, axis=0)
    in_both = has_holder * has_named
    forward = ((has_named - in_both) @ terms.exact_idf / terms.total).astype(np.float32)
    backward = ((has_holder - in_both) @ terms.exact_idf / terms.total).astype(np.float32)
    links = Links(
        len(at),
        np.concatenate((holder, named)),
        np.concatenate((named, holder)),
        np.concatenate((weight, weight)),
        np.concatenate((forward, backward)),
        np.concatenate(((around + forward) * rarity, (around + backward) * rarity)),
    )
    if len(corpus.too_weak):
        keep = np.concatenate((np.ones(len(at), bool), np.isin(at, corpus.too_weak, invert=True)))
        return Links(len(at), *(values[keep] for values in links[1:]))
    return links


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
    share: Doubles = (near * (1 - c.in_title.take(named, axis=0))).sum(axis=1) / terms.total
    return share
