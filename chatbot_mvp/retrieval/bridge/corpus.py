"""The arrays of a mention graph in the form that the walk reads, computed once per corpus."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Doubles, Floats, Ints, offsets
from chatbot_mvp.retrieval.bridge.graph import Edges, MentionGraph

REACH = 5
"""Number of content words on either side of a mention that count as near."""
_BACKWARD_OF_A_HUB = 40
"""Incoming mentions, strongest first, that are followed to documents which are not candidates yet."""
_BACKWARD_LOOKED_AT = 2_000
"""Incoming mentions, strongest first, that are examined for mentions between candidates."""
_WEAK_LINK = 0.05
"""Mentions of this strength or less are not followed."""


@dataclass(frozen=True)
class Corpus:
    """N documents with D distinct terms and M mentions. Read-only; safe to share between threads."""

    documents: int
    """N."""
    words: Array
    """Term number of each content word: those of all titles, then those of all texts. Before the first text and after
    each text there are REACH entries of D, which stand for no word."""
    start: Ints
    """Shape (2 N + 1,): offset in ``words`` of each document's title, then of each document's text, and the total."""
    title_words: int
    """Number of content words of all titles."""
    word_sentence: Array
    """Sentence number of each content word of the texts, without entries between texts."""
    sentence_start: Ints
    """Shape (N + 1,): number of each document's first sentence, and the total."""
    body_norm: Doubles
    """Shape (N,): k1 * (1 - b + b * length / mean length) of each text, with k1 = 1.2 and b = 0.75."""
    title_norm: Doubles
    """Shape (N,): 1 + a quarter of the title's content words."""
    length: Floats
    """Shape (N,): ln(1 + length of the text / mean length)."""
    idf: Floats
    """Shape (D,)."""
    marks: Array
    """What documents are compared by: the distinct proper words of all documents as term numbers, then the distinct
    terms of all titles as D + term number."""
    mark_start: Ints
    """Shape (2 N + 1,): offset in ``marks`` of each document's proper words, then of each title's terms, and the
    total."""
    mark_weight: Floats
    """Shape (2 D,): weight of each mark. Proper word: (idf / highest idf)^2, 0-1; term of a title: its idf."""
    title_weight: Floats
    """Shape (N,): sum of the idf of the title's terms."""
    group: Array
    """Shape (N,): a number that documents with equal titles share."""
    rarity: Floats
    """Shape (N,): 1 if no document mentions it, near 0 for a hub."""
    neighbours: Array
    """Rows of the documents that each document mentions, then of the strongest that mention it. May repeat a row."""
    neighbours_start: Ints
    """Shape (N + 1,): offset of each document in ``neighbours``, and the total."""
    mentions: Edges
    """The M mentions, grouped by the document that contains them."""
    mention_begin: Array
    """Shape (M,): index in ``words`` of the first content word of each mention."""
    mention_weight: Floats
    """Shape (M,): square root of the strength of each mention, 0-1."""
    is_strong: Array | None
    """Shape (M,): whether each mention is among the strongest 2,000 of the document that it names. None if all are."""

    @classmethod
    def of(cls, graph: MentionGraph) -> Corpus:
        length, title_length = np.diff(graph.text_start), np.diff(graph.title_start)
        mean_length = max(1.0, len(graph.words) / max(1, len(length)))
        terms, titles = len(graph.idf), len(graph.title_words)
        title_terms, title_terms_start = _distinct_of_rows(graph.title_words, graph.title_start)
        neighbours, neighbours_start = _neighbours(graph)
        rareness = (graph.idf / graph.unseen_idf) ** 2
        text_begin = graph.text_start + titles + REACH * np.arange(1, len(length) + 2)
        words = np.full(text_begin[-1], terms, np.int32)
        words[:titles] = graph.title_words
        words[np.arange(len(graph.words)) + (text_begin - graph.text_start)[:-1].repeat(length)] = graph.words
        source = np.arange(len(length)).repeat(np.diff(graph.outgoing.start))
        return cls(
            documents=len(length),
            words=words,
            start=np.concatenate((graph.title_start[:-1], text_begin)),
            title_words=titles,
            word_sentence=graph.word_sentence,
            sentence_start=graph.sentence_start,
            body_norm=1.2 * (0.25 + 0.75 * length / mean_length),
            title_norm=1 + 0.25 * title_length,
            length=np.log1p(length / mean_length).astype(np.float32),
            idf=graph.idf,
            marks=np.concatenate((graph.proper_words, title_terms + np.int32(terms))),
            mark_start=np.concatenate((graph.proper_start[:-1], title_terms_start + len(graph.proper_words))),
            mark_weight=np.concatenate((rareness, graph.idf)).astype(np.float32),
            title_weight=graph.title_weight,
            group=graph.group,
            rarity=graph.rarity,
            neighbours=neighbours,
            neighbours_start=neighbours_start,
            mentions=graph.outgoing,
            mention_begin=(graph.outgoing.position + (text_begin - graph.text_start)[source]).astype(np.int32),
            mention_weight=np.sqrt(graph.outgoing.weight),
            is_strong=_is_strong(graph),
        )


def _distinct_of_rows(values: Array, start: Ints) -> tuple[Array, Ints]:
    """Drop the repeated values of each row of a flat array; return (the others in their order, offsets of the rows)."""
    row = np.arange(len(start) - 1).repeat(np.diff(start))
    order = np.lexsort((values, row))  # equal values of a row in their order
    again = np.zeros(len(values), bool)
    again[order[1:]] = (np.diff(row[order]) == 0) & (np.diff(values[order]) == 0)
    return values[~again], offsets(np.bincount(row[~again], minlength=len(start) - 1))


def _neighbours(graph: MentionGraph) -> tuple[Array, Ints]:
    """Return ``neighbours`` and ``neighbours_start``."""
    outgoing, incoming = graph.outgoing, graph.incoming
    count = len(graph.group)
    source = np.arange(count).repeat(np.diff(outgoing.start))
    target = np.arange(count).repeat(np.diff(incoming.start))
    rank = np.arange(len(target)) - incoming.start[target]
    forward = outgoing.weight.astype(np.float64) > _WEAK_LINK
    backward = (incoming.weight.astype(np.float64) > _WEAK_LINK) & (rank < _BACKWARD_OF_A_HUB)
    owner = np.concatenate((source[forward], target[backward]))
    other = np.concatenate((outgoing.other[forward], incoming.other[backward]))
    return other[owner.argsort(kind="stable")], offsets(np.bincount(owner, minlength=count))


def _is_strong(graph: MentionGraph) -> Array | None:
    """Return ``is_strong``."""
    outgoing, incoming = graph.outgoing, graph.incoming
    hubs = (np.diff(incoming.start) > _BACKWARD_LOOKED_AT).nonzero()[0]
    is_strong = np.ones(len(outgoing.other), bool)
    for hub in hubs.tolist():
        at = (outgoing.other == hub).nonzero()[0]
        by_strength = np.lexsort((outgoing.position[at], -outgoing.weight[at]))
        is_strong[at[by_strength[_BACKWARD_LOOKED_AT:]]] = False
    return is_strong if len(hubs) else None
