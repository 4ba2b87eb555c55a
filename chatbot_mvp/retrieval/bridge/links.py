"""What links the candidates of a question: mentions, weighed by what is around them, and words that they share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chatbot_mvp.retrieval.arrays import Array, Doubles, Floats, Ints, entries
from chatbot_mvp.retrieval.bridge.candidates import Candidates
from chatbot_mvp.retrieval.bridge.corpus import REACH, Corpus
from chatbot_mvp.retrieval.bridge.question import Terms

_AWAY = np.arange(REACH, 0, -1)
_CLOSENESS = (1 / (0.5 + _AWAY / 2)).astype(np.float32)
"""Weight of a word at each distance of ``_AWAY``."""
_COMMON_WORDS = 0.7
_BIT = np.uint64(1) << np.arange(64, dtype=np.uint64)
_TINY = np.float32(1e-6)


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


def find_mentions(corpus: Corpus, c: Candidates, of_row: Ints) -> Mentions:
    """Find the mentions between candidates; ``of_row`` is the work array of ``Scratch``."""
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


def shared_words(corpus: Corpus, terms: Terms, rows: Ints, others: Ints, sets: Array) -> Floats:
    """Measure the proper words that two documents share and the question lacks, shape (rows, others), 0-1.

    The value is x / (x + 0.7), where x is the sum of (idf / highest idf)^2 over these words; 0 for documents of equal
    titles. It links documents that share no mention.

    Args:
        others: rows of 8 documents at most.
        sets: work array ``small_sets`` of ``Scratch``.
    """
    return _as_share(corpus, _common(corpus, rows, others, len(others), terms, sets), rows, others)


def likeness(corpus: Corpus, terms: Terms, rows: Ints, sets: Array) -> tuple[Floats, Floats]:
    """Compare each two of P documents, 64 at most.

    Args:
        sets: work array ``sets`` of ``Scratch``.

    Returns:
        (``shared_words``, shape (P, P); idf-weighted Jaccard similarity of the titles' terms, shape (P, P), 0-1, 0 on
        the diagonal)
    """
    size = len(rows)
    spans = np.concatenate((rows, rows + corpus.documents))
    common = _common(corpus, spans, spans, size, terms, sets)
    words, titles = common[:size], common[size:]
    weight = corpus.title_weight.take(rows)
    alike: Floats = titles / np.maximum(weight[:, None] + weight - titles, _TINY)
    alike.reshape(-1)[:: size + 1] = 0
    return _as_share(corpus, words, rows, rows), alike


def _as_share(corpus: Corpus, common: Floats, rows: Ints, others: Ints) -> Floats:
    """Scale sums of ``_common`` to 0-1, with 0 for documents of equal titles."""
    exact = common.astype(np.float64)
    differ = corpus.group.take(rows)[:, None] != corpus.group.take(others)
    share: Floats = np.where(differ, exact / (exact + _COMMON_WORDS), 0).astype(np.float32)
    return share


def _common(corpus: Corpus, spans: Ints, others: Ints, documents: int, terms: Terms, sets: Array) -> Floats:
    """Sum the weights of the marks that documents have in common. Proper words of the question do not count.

    Args:
        spans, others: indices into ``Corpus.mark_start``.
        documents: number of distinct documents that ``others`` belongs to; its entry i belongs to document i modulo
            ``documents``.

    Returns:
        Shape (spans, documents).
    """
    other, at = entries(corpus.mark_start, others)
    of_others = corpus.marks.take(at)
    # A document has each mark once, so that adding its bit sets it.
    bit = _BIT.astype(sets.dtype)[np.arange(len(others)) % documents]
    np.add.at(sets, of_others, bit.take(other))
    sets[terms.numbers] = 0
    if spans is others:
        span, of_spans = other, of_others
        holders = sets.take(of_spans)
        hit = (holders & (holders - 1)).nonzero()[0]  # a single holder is the document itself
    else:
        span, at = entries(corpus.mark_start, spans)
        of_spans = corpus.marks.take(at)
        holders = sets.take(of_spans)
        hit = holders.nonzero()[0]
    sets[of_others] = 0
    little_endian = holders.take(hit).astype(sets.dtype.newbyteorder("<"))
    bits = np.unpackbits(little_endian.view(np.uint8), bitorder="little")
    held = bits.view(np.bool_).nonzero()[0].reshape(-1)
    width = 8 * sets.itemsize  # a power of two
    entry, document = hit.take(held >> (width.bit_length() - 1)), held & (width - 1)
    common = np.zeros(len(spans) * documents, np.float32)
    np.add.at(common, span.take(entry) * documents + document, corpus.mark_weight.take(of_spans.take(entry)))
    return common.reshape(len(spans), documents)
