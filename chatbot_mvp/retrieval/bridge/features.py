"""What speaks for a candidate: its own match, and what the best candidates say by mentioning it or being mentioned.

The names in OWN_FEATURES, LINK_FEATURES and VECTOR_FEATURES are those of the learned weights. All features are arrays
over the candidates of one question.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from chatbot_mvp.retrieval.bridge.arrays import Array, Floats, Ints, gather, row_maximum
from chatbot_mvp.retrieval.bridge.candidates import Candidates, Describer

OWN_FEATURES = ("hand", "named_idf", "named_exact", "title_match", "length", "hub")
LINK_FEATURES = ("new_to_top", "forward_new", "pair", "support", "link_count", "words", "words_new")
VECTOR_FEATURES = ("cosine_scaled", "cosine")

_BACKWARD_OF_A_HUB = 40
"""Mentions of a document that are followed to documents which are no candidates yet; the strongest first."""
_BACKWARD_LOOKED_AT = 2_000
_REACH = 5
"""Content words on either side of a mention that count as near to it."""
_DENSE_SCALE = 60
"""The cosine is scaled between that of the nearest vector and of the one at this rank."""


@dataclass(frozen=True)
class Links:
    """Mentions between the best candidates ("parents") and all candidates: E of them."""

    parents: Ints
    """Positions of the parents among the candidates, best first."""
    parent: Ints
    """E: number of the parent."""
    candidate: Ints
    """E: position of the other end."""
    forward: Array
    """E: True where the parent mentions the candidate."""
    weight: Floats
    """E: square root of the mention's strength."""
    lent: Floats
    """E: prior of the parent times ``weight``."""
    adds: Floats
    """C x P: idf share of the question that a candidate has and a parent lacks."""
    edge_adds: Floats
    """E: ``adds`` of the two ends."""
    value: Floats
    """E: the hand-set worth of the link for the candidate."""


class FeatureMaker:
    """Computes features over one corpus. Safe to share between threads."""

    def __init__(self, describer: Describer) -> None:
        self.describer = describer
        self.graph = describer.graph

    def own(self, c: Candidates) -> dict[str, Floats]:
        """What a candidate has by itself; C values each."""
        graph, question, of_row = self.graph, c.question, self.describer.scratch.of_row
        count = len(c.rows)
        best = max(c.bm25.values(), default=1.0)
        both = c.body_score + 0.5 * c.title_score
        strength, idf_share = np.zeros(count, np.float32), np.zeros(count, np.float32)
        of_row[c.rows] = np.arange(count)
        for row, (name_strength, idf) in question.named.items():
            strength[of_row[row]], idf_share[of_row[row]] = name_strength, name_strength * idf / question.total
        of_row[c.rows] = -1
        features = {
            "bm25": np.array([c.bm25.get(row, 0.0) for row in c.rows.tolist()], np.float32) / best,
            "bm25_own": both / max(float(both.max(initial=0.0)), 1e-6),
            "named_idf": idf_share,
            "named_exact": (strength >= 1).astype(np.float32),
            "title_match": c.title_score / question.total,
            "length": np.log1p(self.describer.text_length[c.rows] / self.describer.mean_length).astype(np.float32),
            "hub": 1 - graph.rarity[c.rows],
        }
        if c.cosine is not None:
            cosine = np.array([c.cosine[row] for row in c.rows.tolist()], np.float32)
            ranked = np.sort(cosine)[::-1][:_DENSE_SCALE]
            low, high = float(ranked[-1]), float(ranked[0])
            features["cosine_scaled"] = (cosine - low) / max(high - low, 1e-6)
            features["cosine"] = cosine
        return features

    def edges(self, parents: Ints) -> tuple[Array, ...]:
        """(parent number, other row, weight, sentence, forward, position, width) of mentions by and of the parents.

        ``scratch.of_row`` must mark the candidates: a hub's incoming mentions are followed to these, and a few others.
        """
        outgoing, incoming = self.graph.outgoing, self.graph.incoming
        out_at, out_parent = gather(outgoing.start[parents], outgoing.start[parents + 1])
        begin = incoming.start[parents]
        in_at, in_parent = gather(begin, np.minimum(incoming.start[parents + 1], begin + _BACKWARD_LOOKED_AT))
        known = self.describer.scratch.of_row[incoming.other[in_at]] >= 0
        keep = known | (in_at - begin[in_parent] < _BACKWARD_OF_A_HUB)
        in_at, in_parent = in_at[keep], in_parent[keep]
        forward = np.arange(len(out_at) + len(in_at)) < len(out_at)
        join: Callable[[str], Array] = lambda name: np.concatenate(  # noqa: E731
            (getattr(outgoing, name)[out_at], getattr(incoming, name)[in_at])
        )
        return (
            np.concatenate((out_parent, in_parent)),
            join("other"),
            join("weight"),
            join("sentence"),
            forward,
            join("position"),
            join("width"),
        )

    def links(self, c: Candidates, prior: Floats, parents: int) -> Links:
        """The mentions between the ``parents`` best candidates by ``prior`` (0-1) and all candidates."""
        graph, question, of_row = self.graph, c.question, self.describer.scratch.of_row
        best = np.argsort(-prior, kind="stable")[:parents]
        of_row[c.rows] = np.arange(len(c.rows))
        parent, other, weight, sentence, forward, position, width = self.edges(c.rows[best])
        candidate = of_row[other]
        of_row[c.rows] = -1
        known = np.flatnonzero(candidate >= 0)
        parent, candidate, weight, sentence, forward, position, width = (
            values[known] for values in (parent, candidate, weight, sentence, forward, position, width)
        )
        adds: Floats = ((c.has * question.idf) @ (1 - c.has[best]).T / question.total).astype(np.float32)
        holder = np.where(forward, best[parent], candidate)
        named = np.where(forward, candidate, best[parent])
        not_the_name = 1 - c.in_title[named]
        said = c.in_sentence[sentence - graph.sentence_start[c.rows[holder]] + c.first_sentence[holder]]
        context = (said * not_the_name) @ question.idf / question.total
        near = self._near(c, c.rows[holder], not_the_name, position, width)
        root: Floats = np.sqrt(weight, dtype=np.float32)
        lent: Floats = prior[best][parent] * root
        edge_adds: Floats = adds[candidate, parent]
        value: Floats = lent * (0.15 + context + near + edge_adds) * (0.3 + graph.rarity[c.rows[named]])
        return Links(best, parent, candidate, forward, root, lent, adds, edge_adds, value)

    def linked(self, c: Candidates, own: dict[str, Floats], prior: Floats, parents: int) -> dict[str, Floats]:
        """All features; the links are those of the ``parents`` best by ``prior``, itself the feature ``hand``."""
        question, count = c.question, len(c.rows)
        links = self.links(c, prior, parents)
        rows, lent_by = links.parents, prior[links.parents]
        forward = links.forward
        left = (1 - c.has[rows[0]]) * question.idf
        joint = c.cover[rows[links.parent]] + links.edge_adds
        mean_prior = 0.5 * (prior[links.candidate] + lent_by[links.parent])
        back = prior[links.candidate] * links.weight * (0.2 + links.edge_adds)
        distinct = np.unique(links.candidate * len(rows) + links.parent) // len(rows)
        shared = self.shared_words(c, c.rows, c.rows[rows]) * lent_by
        return {
            **own,
            "hand": prior,
            "new_to_top": c.has @ left / (float(left.sum()) or 1.0),
            "forward_new": row_maximum((links.lent * links.edge_adds)[forward], links.candidate[forward], count),
            "pair": row_maximum(mean_prior * links.weight * joint, links.candidate, count),
            "support": row_maximum(back, rows[links.parent], count),
            "link_count": np.minimum(np.bincount(distinct, minlength=count), 5).astype(np.float32) / 5,
            "words": shared.max(1),
            "words_new": (shared * links.adds).max(1),
        }

    def shared_words(self, c: Candidates, rows: Ints, others: Ints) -> Floats:
        """rows x others in 0-1: proper words that both have and the question has not; 0 within one title.

        x / (x + 0.7) of the sum x of (idf / highest idf)^2 over those words: a link between documents without a name.
        """
        graph, of_term = self.graph, self.describer.scratch.of_term
        at, owner = gather(graph.proper_start[others], graph.proper_start[others + 1])
        words = graph.proper_words[at]
        of_term[c.question.terms] = 1
        fresh = of_term[words] < 0
        of_term[c.question.terms] = -1
        words, owner = words[fresh], owner[fresh]
        distinct = np.unique(words)
        of_term[distinct] = np.arange(len(distinct))
        theirs = np.zeros((len(others), len(distinct)), np.float32)
        theirs[owner, of_term[words]] = 1
        at, owner = gather(graph.proper_start[rows], graph.proper_start[rows + 1])
        column = of_term[graph.proper_words[at]]
        of_term[distinct] = -1
        ours = np.zeros((len(rows), len(distinct)), np.float32)
        ours[owner[column >= 0], column[column >= 0]] = 1
        total: Floats = (ours * (graph.idf[distinct] / graph.unseen_idf) ** 2) @ theirs.T
        total[graph.group[rows][:, None] == graph.group[others][None]] = 0
        share: Floats = total / (total + 0.7)
        return share

    def title_likeness(self, rows: Ints) -> Floats:
        """rows x rows in 0-1: idf-weighted Jaccard of the titles' terms; 0 on the diagonal."""
        graph, of_term = self.graph, self.describer.scratch.of_term
        at, owner = gather(graph.title_start[rows], graph.title_start[rows + 1])
        terms = graph.title_words[at]
        distinct = np.unique(terms)
        of_term[distinct] = np.arange(len(distinct))
        titles = np.zeros((len(rows), len(distinct)), np.float32)
        titles[owner, of_term[terms]] = 1
        of_term[distinct] = -1
        common = (titles * graph.idf[distinct]) @ titles.T
        weight = graph.title_weight[rows]
        likeness: Floats = common / np.maximum(weight[:, None] + weight[None] - common, 1e-6)
        np.fill_diagonal(likeness, 0)
        return likeness

    def _near(self, c: Candidates, holders: Ints, not_the_name: Floats, position: Array, width: Array) -> Floats:
        """idf share of question terms near a mention, each divided by 0.5 + half its distance in content words."""
        graph, question, of_term = self.graph, c.question, self.describer.scratch.of_term
        away = np.arange(1, _REACH + 1)
        at = np.concatenate((position[:, None] - away, position[:, None] + width[:, None] - 1 + away), 1)
        inside = (at >= graph.text_start[holders][:, None]) & (at < graph.text_start[holders + 1][:, None])
        of_term[question.terms] = question.slots
        slot = of_term[graph.words[np.where(inside, at, 0)]] if len(graph.words) else np.full(at.shape, -1)
        of_term[question.terms] = -1
        edge, place = np.nonzero(inside & (slot >= 0))
        closeness = np.zeros((len(position), question.size), np.float32)
        distance = place % _REACH + 1
        np.maximum.at(closeness, (edge, slot[edge, place]), (1 / (0.5 + distance / 2)).astype(np.float32))
        near: Floats = ((closeness * not_the_name) @ question.idf / question.total).astype(np.float32)
        return near
