"""Recover the paragraphs of a knowledge base from its chunks, join the pieces of split ones, and rank chunks by them.

Paragraphs are matched with the question, not chunks, because a question is usually answered by one paragraph. A
paragraph that was too long for one chunk was split; ``join_pieces`` makes its pieces one chunk again.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from chatbot_mvp.documents.blocks import begins_block, blocks
from chatbot_mvp.documents.chunking import LIMIT_CHARS, heading_text
from chatbot_mvp.retrieval.arrays import Array, Doubles, rows_of
from chatbot_mvp.text import sentences
from chatbot_mvp.types import Chunk

MAX_JOINED_CHARS = 4 * LIMIT_CHARS
"""Pieces are joined up to this many characters. A longer chunk would fill the whole context."""
WINDOW_SENTENCES = 2

_BLANK_LINE = re.compile(r"\s*\n[ \t]*\n")


@dataclass(frozen=True, slots=True)
class Passage:
    """One paragraph, which one or several (overlapping) chunks contain."""

    section: str
    text: str
    start: int
    """Offset in the source, in characters."""
    hits: tuple[int, ...]
    """Positions of the (joined) chunks that contain the whole paragraph."""
    windows: tuple[tuple[int, int], ...]
    """(start, end) in ``text`` of each window of WINDOW_SENTENCES successive sentences; at least one."""
    context: str = ""
    """Describes the chunk's place in the document; "" if not enriched. Matched like the heading, never shown."""
    questions: str = ""
    """Questions that the chunk answers, one per line; "" if there are none. Their words are searched, never shown."""

    @property
    def sentences(self) -> list[tuple[int, int]]:
        """(start, end) in ``text`` of each sentence; at least one."""
        return _sentences(self.text)


def join_pieces(chunks: Sequence[Chunk]) -> list[Chunk]:
    """Return the chunks in order, with the pieces of each split paragraph joined to one contiguous chunk.

    Two chunks are pieces of one paragraph if they touch or overlap and no blank line follows the end of the first.
    """
    joined: list[Chunk] = []
    group: list[Chunk] = []
    for chunk in chunks:
        if group and _continues(group[-1], chunk):
            # A chunk can contain the end of one split paragraph and the start of the next: it joins both groups.
            if len(group) > 1 and re.search(r"\n[ \t]*\n", group[-1].text[group[-2].end - group[-1].start :]):
                joined.extend(_one(group))
                group = [group[-1]]
            group.append(chunk)
        else:
            joined.extend(_one(group))
            group = [chunk]
    joined.extend(_one(group))
    return joined


def join_contexts(joined: Sequence[Chunk], chunks: Sequence[Chunk], contexts: Sequence[str]) -> list[str]:
    """Return for each joined chunk the contexts (or questions) of its original chunks, separated by a space."""
    starts: dict[str, list[tuple[int, int]]] = defaultdict(list)  # document -> (start, row) of its chunks
    for row, chunk in enumerate(chunks):
        starts[chunk.doc_id].append((chunk.start, row))
    for places in starts.values():
        places.sort()
    found = []
    for whole in joined:
        places = starts[whole.doc_id]
        inside = places[bisect_left(places, (whole.start, 0)) : bisect_left(places, (whole.end + 1, 0))]
        rows = sorted(row for _, row in inside if chunks[row].end <= whole.end)
        found.append(" ".join(contexts[row] for row in rows if contexts[row]))
    return found


def passages_of(chunks: Sequence[Chunk], contexts: Sequence[str] = (), questions: Sequence[str] = ()) -> list[Passage]:
    """Return the distinct paragraphs of (joined) chunks, in order; the chunks themselves if they have headings only.

    Args:
        contexts: one context per chunk; empty if the chunks were not enriched.
        questions: the questions of each chunk; empty if there are none.
    """
    return paragraphs_of(chunks, contexts, questions) or [
        Passage(
            chunk.section,
            chunk.text,
            chunk.start,
            (row,),
            _windows(chunk.text),
            contexts[row] if contexts else "",
            questions[row] if questions else "",
        )
        for row, chunk in enumerate(chunks)
    ]


def paragraphs_of(
    chunks: Sequence[Chunk], contexts: Sequence[str] = (), questions: Sequence[str] = (), first: int = 0
) -> list[Passage]:
    """Return the distinct paragraphs of (joined) chunks, in order; none if the chunks have headings only.

    Args:
        first: position of the first chunk; the other arguments are as for ``passages_of``.
    """
    context_of = contexts or [""] * len(chunks)
    questions_of = questions or [""] * len(chunks)
    places: dict[tuple[str, int, int], list[int]] = {}
    for position, chunk in enumerate(chunks):
        for left, right in blocks(chunk.text):
            places.setdefault((chunk.doc_id, chunk.start + left, chunk.start + right), []).append(position)
    # Overlap can put a part of a paragraph into a chunk while another chunk has all of it: drop such parts.
    begin: dict[tuple[str, int], int] = {}
    last: dict[tuple[str, int], int] = {}
    for doc_id, start, end in places:
        begin[doc_id, end] = min(start, begin.get((doc_id, end), start))
        last[doc_id, start] = max(end, last.get((doc_id, start), end))
    found = []
    for (doc_id, start, end), positions in sorted(places.items(), key=lambda item: (item[1][0], item[0][1])):
        chunk = chunks[positions[0]]
        text = chunk.text[start - chunk.start : end - chunk.start]
        whole = begin[doc_id, end] == start and last[doc_id, start] == end
        if whole and heading_text(text) != chunk.section.rpartition(" > ")[2]:
            hits = tuple(first + position for position in positions)
            beside = (context_of[positions[0]], questions_of[positions[0]])
            found.append(Passage(chunk.section, text, start, hits, _windows(text), *beside))
    return found


def moved(passages: Sequence[Passage], positions: int, chars: int) -> Sequence[Passage]:
    """Return the paragraphs that many chunks and characters further on."""
    if not positions and not chars:
        return passages
    return [
        Passage(
            one.section,
            one.text,
            one.start + chars,
            tuple([hit + positions for hit in one.hits]),
            one.windows,
            one.context,
            one.questions,
        )
        for one in passages
    ]


def _windows(text: str) -> tuple[tuple[int, int], ...]:
    spans = _sentences(text)
    last = len(spans) - 1
    return tuple((start, spans[min(row + WINDOW_SENTENCES - 1, last)][1]) for row, (start, _) in enumerate(spans))


def _sentences(text: str) -> list[tuple[int, int]]:
    return sentences(text) or [(0, len(text))]


def _continues(one: Chunk, following: Chunk) -> bool:
    if (one.doc_id, one.section) != (following.doc_id, following.section):
        return False
    return one.start < following.start <= one.end < following.end and _within_paragraph(following, one.end)


def _within_paragraph(chunk: Chunk, offset: int) -> bool:
    """Return whether the block at ``offset`` of the text of ``chunk`` began before it."""
    rest = chunk.text[offset - chunk.start :]
    if not rest.strip() or _BLANK_LINE.match(rest):
        return False
    before, _, line = rest.partition("\n")
    return bool(before.strip()) or not begins_block(line.partition("\n")[0])


def _one(group: list[Chunk]) -> list[Chunk]:
    if len(group) < 2 or group[-1].end - group[0].start > MAX_JOINED_CHARS:
        return group
    text = group[0].text
    for before, chunk in pairwise(group):
        text += chunk.text[before.end - chunk.start :]
    first = group[0]
    number = group[-1].chunk_id.rpartition(":")[2]
    return [replace(first, chunk_id=f"{first.chunk_id}-{number}", text=text, end=group[-1].end)]


class ChunkParagraphs:
    """Which paragraphs each chunk contains.

    Args:
        positions: for each paragraph, the positions of the chunks that contain it.
        chunk_ids: the id of each chunk; ties break by it.
    """

    def __init__(self, positions: Sequence[Sequence[int]], chunk_ids: Sequence[str]) -> None:
        found = np.array([position for hits in positions for position in hits], np.int64)
        order = np.argsort(found, kind="stable")
        self._position, self._row = (
            found[order],
            rows_of(np.array(list(map(len, positions)), np.int64))[order].astype(int),
        )
        self._start = np.searchsorted(self._position, np.arange(len(chunk_ids) + 1))
        self._chunks = np.flatnonzero(np.diff(self._start))
        """Positions of the chunks that contain a paragraph."""
        self._id_rank = np.empty(len(chunk_ids), np.int64)
        self._id_rank[sorted(range(len(chunk_ids)), key=chunk_ids.__getitem__)] = np.arange(len(chunk_ids))

    def of(self, position: int) -> Array:
        """Return the rows of the paragraphs of the chunk at ``position``, in rising order."""
        return self._row[self._start[position] : self._start[position + 1]]

    def ranked(self, scores: Doubles, others_weight: float) -> tuple[Array, Array]:
        """Rank the chunks whose best paragraph has a positive score.

        Args:
            scores: score of each paragraph.
            others_weight: weight of the sum of all of a chunk's paragraphs, which decides between nearly equal chunks.

        Returns:
            (positions of the chunks, best first; row of the best paragraph of each, the first of equal ones).
        """
        if not len(self._row):
            return self._row, self._row
        found, begin = scores[self._row], self._start[self._chunks]
        best = np.maximum.reduceat(found, begin)
        is_best = found == np.repeat(best, np.diff(np.append(begin, len(found))))
        row = np.minimum.reduceat(np.where(is_best, self._row, len(scores)), begin)
        # In the order of the rows, in which the sums have always been made: the last digits depend on it.
        by_row = np.argsort(self._row, kind="stable")
        sums = np.bincount(self._position[by_row], found[by_row], len(self._id_rank))[self._chunks]
        order = np.lexsort((self._id_rank[self._chunks], -best - others_weight * sums))
        order = order[best[order] > 0]
        return self._chunks[order], row[order]
