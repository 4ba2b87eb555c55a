"""Find the mentions between the best candidates of a question and the others, and weigh them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Floats, Ints, compiled, highest
from chatbot_mvp.retrieval.bridge.candidates import Candidates, Corpus
from chatbot_mvp.retrieval.bridge.graph import Edges
from chatbot_mvp.retrieval.bridge.question import Terms

_BACKWARD_OF_A_HUB = 40
"""Incoming mentions, strongest first, that are followed to documents which are not candidates yet."""
_BACKWARD_LOOKED_AT = 2_000
"""Incoming mentions, strongest first, that are examined for mentions between candidates."""
_WEAK_LINK = 0.05
"""Mentions of this strength or less are not followed."""
_REACH = 5
"""Number of content words on either side of a mention that count as near."""


class Links(NamedTuple):
    """E mentions between P best candidates ("parents") and all candidates. Arrays have shape (E,) unless noted."""

    parents: Ints
    """Shape (P,): positions of the parents among the candidates, best first."""
    parent: Ints
    """Index of the parent in ``parents``."""
    candidate: Ints
    """Position of the candidate at the other end."""
    forward: Array
    """True if the parent mentions the candidate, False if the candidate mentions the parent."""
    weight: Floats
    """Square root of the mention's strength, 0-1."""
    lent: Floats
    """Prior of the parent times ``weight``, 0-1."""
    adds: Floats
    """Idf share (0-1) of the question's terms that the candidate has and the parent lacks; may be longer than E."""
    value: Floats
    """Value of the link for the candidate, by a formula set by hand."""


@compiled
def linked_rows(outgoing: Edges, incoming: Edges, rows: Ints, prior: Floats, parents: np.int64, of_row: Ints) -> Ints:
    """Return rows of documents, not yet candidates, that the best candidates mention or are mentioned by.

    Args:
        rows: rows of the candidates.
        prior: score of each candidate, 0-1.
        parents: number of best candidates whose links are followed.
        of_row: work array of ``Scratch``.
    """
    for i in range(len(rows)):
        of_row[rows[i]] = i
    found = [rows[0]]
    found.pop()
    best = highest(prior, parents)
    for i in best:
        row = rows[i]
        for at in range(outgoing.start[row], outgoing.start[row + 1]):
            if outgoing.weight[at] > _WEAK_LINK and of_row[outgoing.other[at]] < 0:
                of_row[outgoing.other[at]] = 0
                found.append(np.int64(outgoing.other[at]))
        begin = incoming.start[row]
        for at in range(begin, min(incoming.start[row + 1], begin + _BACKWARD_OF_A_HUB)):
            if incoming.weight[at] > _WEAK_LINK and of_row[incoming.other[at]] < 0:
                of_row[incoming.other[at]] = 0
                found.append(np.int64(incoming.other[at]))
    for i in range(len(rows)):
        of_row[rows[i]] = -1
    linked = np.empty(len(found), np.int64)
    for i in range(len(found)):
        linked[i] = found[i]
        of_row[found[i]] = -1
    return linked


@compiled
def find_links(
    corpus: Corpus,
    outgoing: Edges,
    incoming: Edges,
    terms: Terms,
    c: Candidates,
    prior: Floats,
    parents: np.int64,
    of_row: Ints,
    of_term: Array,
) -> Links:
    """Find the mentions between the ``parents`` best candidates by ``prior`` (0-1) and all candidates."""
    best = highest(prior, parents)
    most = 0
    for i in best:
        row = c.rows[i]
        most += outgoing.start[row + 1] - outgoing.start[row]
        most += min(_BACKWARD_LOOKED_AT, incoming.start[row + 1] - incoming.start[row])
    parent, candidate = np.empty(most, np.int64), np.empty(most, np.int64)
    forward = np.empty(most, np.bool_)
    weight, lent = np.empty(most, np.float32), np.empty(most, np.float32)
    adds, value = np.empty(most, np.float32), np.empty(most, np.float32)
    for i in range(len(c.rows)):
        of_row[c.rows[i]] = i
    for k in range(len(terms.numbers)):
        of_term[terms.numbers[k]] = terms.slots[k]
    closeness = np.zeros(len(terms.idf), np.float32)
    edge = 0
    for p in range(len(best)):
        row = c.rows[best[p]]
        for way in range(2):
            edges = outgoing if way == 0 else incoming
            begin = edges.start[row]
            end = edges.start[row + 1]
            if way == 1:
                end = min(end, begin + _BACKWARD_LOOKED_AT)
            for at in range(begin, end):
                other = of_row[edges.other[at]]
                if other < 0:
                    continue
                holder, named = (best[p], other) if way == 0 else (other, best[p])
                parent[edge], candidate[edge], forward[edge] = p, other, way == 0
                weight[edge] = np.sqrt(edges.weight[at])
                lent[edge] = prior[best[p]] * weight[edge]
                around = _around(corpus, terms, c, edges, at, holder, named, closeness, of_term)
                rarity = corpus.rarity[c.rows[named]]
                adds[edge] = new_share(terms, c, other, best[p])
                value[edge] = lent[edge] * (0.15 + around + adds[edge]) * (0.3 + rarity)
                edge += 1
    for i in range(len(c.rows)):
        of_row[c.rows[i]] = -1
    for k in range(len(terms.numbers)):
        of_term[terms.numbers[k]] = -1
    return Links(best, parent[:edge], candidate[:edge], forward[:edge], weight[:edge], lent[:edge], adds, value[:edge])


@compiled
def new_share(terms: Terms, c: Candidates, candidate: int, other: int) -> float:
    """Return the idf share (0-1) of the question's terms that one candidate has and another lacks."""
    new = 0.0
    for slot in range(len(terms.idf)):
        if c.has[candidate, slot] > 0 and c.has[other, slot] == 0:
            new += terms.idf[slot]
    return new / terms.total


@compiled
def _around(
    corpus: Corpus,
    terms: Terms,
    c: Candidates,
    edges: Edges,
    at: int,
    holder: int,
    named: int,
    closeness: Floats,
    of_term: Array,
) -> float:
    """Return the idf share of the question's terms in the sentence of a mention, plus that of the terms near it.

    A near term is divided by 0.5 + half its distance in content words. Terms in the title of the named document count
    in neither part. ``closeness`` is a work array.
    """
    row = c.rows[holder]
    sentence = edges.sentence[at] - corpus.sentence_start[row] + c.first_sentence[holder]
    closeness[:] = 0
    for away in range(1, _REACH + 1):
        for place in (edges.position[at] - away, edges.position[at] + edges.width[at] - 1 + away):
            if corpus.text_start[row] <= place < corpus.text_start[row + 1]:
                slot = of_term[corpus.words[place]]
                if slot >= 0:
                    closeness[slot] = max(closeness[slot], 1 / (0.5 + away / 2))
    share = 0.0
    for slot in range(len(terms.idf)):
        if c.in_title[named, slot] == 0:
            share += terms.idf[slot] * (c.in_sentence[sentence, slot] + closeness[slot])
    return share / terms.total
