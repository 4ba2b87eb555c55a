"""The context of the KB chat: what is selected, and the chunks that a strong section adds before it is filled up."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.stages.base import Selection, Stage
from chatbot_mvp.retrieval.stages.context import ContextChars, context_budget
from chatbot_mvp.retrieval.stages.kb_chat.score import own_score
from chatbot_mvp.retrieval.stages.stitching import add_neighbours, section_runs, stitched_hits
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.text import sentences
from chatbot_mvp.types import Chunk

ANCHOR_SCORE = 0.16
"""Least score of a hit whose heading or exact bonus alone makes it strong."""
_LEAST_CUT = 120  # a chunk is cut between words rather than to a sentence shorter than this, in characters


class KbChatSelection(Selection):
    """Selects the first ``kb_top_k`` hits with a score of at least ``kb_min_score``, each chunk once.

    Here ``kb_min_score`` is a score of ``KbChatScore`` itself, not a share of the best hit's score; after a reranker it
    is compared with the score before. Of several hits for one chunk, the first counts.
    """

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        chosen: dict[str, Hit] = {}
        for hit in trace.hits:
            if len(chosen) == self.config.kb_top_k:
                break
            if own_score(hit) >= self.config.kb_min_score:
                chosen.setdefault(hit.chunk.chunk_id, hit)
        return replace(trace, chunks_final=tuple(chosen.values())), {"kept": len(chosen)}


class KbChatStitching(Stage):
    """Fills the context: each selected hit, best first, and the neighbours of a strong one before the next hit.

    A hit is strong if ``strong_match`` is 1, or if its ``heading_bonus`` or ``exact_bonus`` is above 0 and its score is
    at least 0.16. Its neighbours are the chunks of its section, nearest first and the following one before the
    preceding one. Each direction ends at the section's end or at the first chunk that does not fit, so what is added is
    contiguous. The context never exceeds its budget: hits that do not fit are left out, and a first hit that is longer
    than the budget is cut behind a sentence. In ``chunks_final``, hits keep their order; added chunks follow, grouped
    by hit, in reading order, with the signal ``stitched`` = 1.
    """

    name = "stitching"

    def __init__(self, index: CorpusIndex, config: Settings) -> None:
        super().__init__(index, config)
        self._runs = index.derived(section_runs) if config.retrieval_stitching else {}

    def apply(self, trace: RetrievalTrace) -> tuple[RetrievalTrace, dict[str, Any]]:
        usual, large, chunks = self.config.kb_max_context_chars, self.config.kb_large_context_chars, self.index.chunks
        budget = context_budget(self.index.source_chars, usual, large)
        context = ContextChars()
        selected = {hit.chunk.chunk_id: hit for hit in trace.chunks_final}
        taken: dict[str, Hit] = {}
        added: list[list[int]] = []
        strong = 0
        for own, hit in selected.items():
            if own not in taken:
                if not taken:
                    hit = replace(hit, chunk=cut(hit.chunk, budget))
                if not context.fits(hit.chunk, budget):
                    continue
                context.add(hit.chunk)
                taken[own] = hit
            if own not in self._runs or not is_strong(hit):
                continue
            strong += 1
            rows = add_neighbours(chunks, self._runs[own], context, budget, taken)
            for chunk in (chunks[row] for row in rows):
                taken[chunk.chunk_id] = selected.get(chunk.chunk_id, Hit(chunk, 0.0))
            added.append([row for row in rows if chunks[row].chunk_id not in selected])
        stitched = stitched_hits(trace, chunks, added)
        following = replace(
            trace,
            chunks_final=(*(taken[own] for own in selected if own in taken), *stitched),
            chunks_added_by_stitching=tuple(hit.chunk.chunk_id for hit in stitched),
            context_chars_used=context.used,
            context_chars_budget=budget,
        )
        return following, {"strong": strong, "added": len(stitched)}


def is_strong(hit: Hit) -> bool:
    """Return whether a hit brings the neighbours of its section into the context."""
    if hit.signals.get("strong_match", 0.0) > 0:
        return True
    bonus = max(hit.signals.get("heading_bonus", 0.0), hit.signals.get("exact_bonus", 0.0))
    return bonus > 0 and own_score(hit) >= ANCHOR_SCORE


def cut(chunk: Chunk, limit: int) -> Chunk:
    """Return the beginning of a chunk, at most ``limit`` characters, up to the end of a sentence or of a word."""
    if len(chunk.text) <= limit:
        return chunk
    ends = [end for _, end in sentences(chunk.text) if _LEAST_CUT <= end <= limit]
    end = max(ends, default=0) or chunk.text.rfind(" ", _LEAST_CUT, limit + 1)
    text = chunk.text[: end if end > 0 else limit]
    return replace(chunk, text=text, end=chunk.start + len(text))
