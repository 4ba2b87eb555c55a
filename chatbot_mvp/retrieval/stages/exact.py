"""The pipeline stage that keeps exact matches among the first hits: records that a question names, and whole questions.

Scores of words add up: a few common words in the right places outweigh one number that a single record has. A question
for "expediente 1234" is about that record all the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from chatbot_mvp.retrieval.stages.base import Stage
from chatbot_mvp.retrieval.stages.exact_names import Named, named_chunks
from chatbot_mvp.retrieval.trace import PART, Hit, RetrievalTrace

FIRST = 5
"""Exact matches are among this many first hits."""
RAISED = "exact"
"""Summand of the score of a hit that was moved up."""
_MOVED = 2  # hits that can take a place among the first ones from others, so that the best ones stay
_WHOLE = 1  # first hits of BM25 that may be kept because they have all words of the question
_QUOTED_TERMS = 6  # a question of fewer terms quotes nothing
_QUOTED_SHARE = 0.7  # of its neighbouring terms that stand together in what it quotes: one word of ten may differ


class Exact(Stage):
    """Moves exact matches that rank lower to the first FIRST hits. The other hits keep their order.

    - *Records* that the question names by a number become the first hits.
    - *Bare*: chunks that have the numbers of the question, if they are few, take the last of the first places.
    - *Whole*: so does the best hit of BM25, if it has every term of the question that the text has at all.
    - *Quoted*: so does the one of the first FIRST hits of BM25 that the question quotes nearly word for word.

    Where a walk over links has ranked short documents, as in a data set, only documents with every term of the question
    and quoted ones are exact: such questions lead over several documents, and their numbers name none of them.
    """

    name = "exact"

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        found = named_chunks(trace, self.index) if self._is_long else Named()
        top = found.records[:FIRST]
        late = dict.fromkeys((*found.records, *found.bare, *self._quoted(trace), *self._whole(trace)))
        hits = _falling(self._placed(trace.hits, top, 0)) if top else trace.hits
        hits = self._among_first(hits, [row for row in late if row not in top])
        moved = sum(one.chunk is not other.chunk for one, other in zip(hits[:FIRST], trace.hits, strict=False))
        return replace(trace, hits=hits), {"records": len(found.records), "bare": len(found.bare), "moved": moved}

    @property
    def _is_long(self) -> bool:
        return self.index.kb is not None and self.index.graph is None

    def _whole(self, trace: RetrievalTrace) -> list[int]:
        """Return the rows of the best hits of BM25 that have every term of the question."""
        terms = set(self.index.analyzer.terms(trace.query))
        if self._is_long:
            terms = {term for term in terms if self.index.lexical.document_frequency(term)}
        best = [hit.chunk for hit in trace.candidates.get("bm25", ())[:_WHOLE]]
        if len(terms) < 2 or not best:
            return []
        present = self.index.terms_present(terms, best)
        return [self.index.row_of[chunk.chunk_id] for chunk, found in zip(best, present, strict=True) if found == terms]

    def _quoted(self, trace: RetrievalTrace) -> list[int]:
        """Return the row of the hit of BM25 that has most neighbouring terms of the question; [] if it has too few."""
        terms = self.index.analyzer.terms(trace.query)
        best = [hit.chunk for hit in trace.candidates.get("bm25", ())[:FIRST]]
        if len(terms) < _QUOTED_TERMS or not best:
            return []
        asked = set(pairwise(terms))
        shares = [
            len(asked.intersection(pairwise(self.index.analyzer.terms(chunk.text)))) / len(asked) for chunk in best
        ]
        quoted = best[shares.index(max(shares))]
        return [self.index.row_of[quoted.chunk_id]] if max(shares) >= _QUOTED_SHARE else []

    def _placed(self, hits: tuple[Hit, ...], rows: Sequence[int], at: int) -> tuple[Hit, ...]:
        """Return the hits with those of ``rows`` from the place ``at`` on."""
        known = {hit.chunk.chunk_id: hit for hit in hits}
        chunks = [self.index.chunks[row] for row in rows]
        moved = {chunk.chunk_id: known.get(chunk.chunk_id) or Hit(chunk, 0.0) for chunk in chunks}
        rest = [hit for hit in hits if hit.chunk.chunk_id not in moved]
        return (*rest[:at], *moved.values(), *rest[at:])

    def _among_first(self, hits: tuple[Hit, ...], rows: Sequence[int]) -> tuple[Hit, ...]:
        """Return the hits with up to _MOVED of ``rows`` in the last of the first places, if they rank lower."""
        there = {hit.chunk.chunk_id for hit in hits[:FIRST]}
        late = [row for row in rows if self.index.chunks[row].chunk_id not in there][:_MOVED]
        if not late:
            return hits
        return _falling(self._placed(hits, late, FIRST - len(late))[: max(FIRST, len(hits))])


def _falling(hits: Sequence[Hit]) -> tuple[Hit, ...]:
    """Return the hits with scores that never rise: a hit that was moved up gets the best score behind it.

    What that adds is the summand ``RAISED`` of its score.
    """
    found: list[Hit] = []
    highest = hits[-1].score
    for hit in reversed(hits):
        highest = max(highest, hit.score)
        raised = {f"{PART}{RAISED}": highest - hit.score}
        found.append(hit if hit.score == highest else replace(hit, score=highest, signals={**hit.signals, **raised}))
    return tuple(reversed(found))
