"""What the built-in model answers from, for the chat and for all that measures what the chat does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from chatbot_mvp.chat.dated import asked_date, date_of
from chatbot_mvp.chat.nearest import corrected
from chatbot_mvp.chat.two_in_one import questions_of
from chatbot_mvp.llm.base import Grounding
from chatbot_mvp.llm.extractive.units import titles
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.stages.kb_cosines import sentence_closeness
from chatbot_mvp.retrieval.stages.late_interaction import nearness
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.text import cells_of
from chatbot_mvp.types import Chunk

_TABLE_CHARS = 60_000
"""Some 500 rows: reading them takes a tenth of a second."""


def grounding_of(
    trace: RetrievalTrace,
    index: CorpusIndex,
    passages: Sequence[Chunk],
    least_proof: float | None,
    follows: bool = False,
    tables: Sequence[Chunk] = (),
) -> Grounding:
    """Return passages of a trace as the built-in model reads them.

    Args:
        tables: what ``rest_of_tables`` returns for them.
        least_proof: as in ``Grounding``.
        follows: whether the question before was searched with it: that is not asked again.
    """
    asked, _ = corrected(trace.query, trace, index, surely=True)
    parts = questions_of(asked, index.analyzer) if least_proof and not follows else ()
    near = nearness(index, asked) if least_proof and passages and not parts else None
    return Grounding(
        asked,
        tuple(passages),
        index.analyzer.language_of(asked),
        sentence_closeness(trace, index),
        index.analyzer,
        near,
        least_proof,
        tuple(tables),
        _goes_on(index, (*passages, *tables)),
        date_of,
        _until(asked, (*passages, *tables)),
        tuple(grounding_of(replace(trace, query=part), index, passages, least_proof, False, tables) for part in parts),
    )


def _until(question: str, passages: Sequence[Chunk]) -> date | None:
    """Return the day that a question asks about; None for any, or if all headings are of later ones."""
    headings = [heading for passage in passages for heading in (passage.section, *titles(passage.text).values())]
    dated = [day for heading in headings if (day := date_of(heading))]
    until = asked_date(question, max(dated)) if dated else None
    return until if until and min(dated) <= until else None


def rest_of_tables(index: CorpusIndex, passages: Sequence[Chunk]) -> tuple[Chunk, ...]:
    """Return the passages with the other rows of the tables that some passages end or begin in, in reading order.

    Of a table with more than ``_TABLE_CHARS`` characters, it is none.
    """
    found: dict[int, Chunk] = {}
    rows = {row for passage in passages if (row := index.row_of.get(passage.chunk_id)) is not None}
    for first in sorted(rows):
        more: dict[int, Chunk] = {}
        for step, edge in ((-1, 0), (1, -1)):
            row, here = first + step, index.chunks[first]
            while _is_row(here.text, edge) and 0 <= row < len(index.chunks):
                there = index.chunks[row]
                if (there.doc_id, there.section) != (here.doc_id, here.section) or not _is_row(there.text, -1 - edge):
                    break
                more[row] = here = there
                row += step
        if sum(len(chunk.text) for chunk in more.values()) <= _TABLE_CHARS:
            found |= more
    return tuple(chunk for row, chunk in sorted(found.items()) if row not in rows)


def _is_row(text: str, edge: int) -> bool:
    """Return whether the first (0) or last (-1) line of a text is a row that names the column of each cell."""
    lines = text.strip().splitlines()
    return bool(lines) and len(cells_of(lines[edge].lstrip("-* "))) > 1


def _goes_on(index: CorpusIndex, passages: Sequence[Chunk]) -> frozenset[tuple[str, int]]:
    """Return (id, -1 or 1) of those passages whose section has another passage before or behind them."""
    found = set[tuple[str, int]]()
    for passage in passages:
        row = index.row_of.get(passage.chunk_id)
        if row is None:
            continue
        for step in (-1, 1):
            beside = index.chunks[row + step] if 0 <= row + step < len(index.chunks) else None
            if beside and (beside.doc_id, beside.section) == (passage.doc_id, passage.section):
                found.add((passage.chunk_id, step))
    return frozenset(found)
