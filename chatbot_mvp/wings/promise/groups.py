"""Tell which part of a knowledge base each question is about, because questions about one part are alike."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from chatbot_mvp.documents.kb_files import KbFile
from chatbot_mvp.evaluation.kb.results import ResultRow
from chatbot_mvp.types import Chunk


def groups_of(rows: Sequence[ResultRow], files: Sequence[KbFile], chunks: Sequence[Chunk]) -> list[str]:
    """Return the name of the part that each question belongs to: its file, or in a single file its top section.

    A question is about the place of its labelled passage; without one, about the best passage found; without any, it is
    a part of its own.

    Args:
        files: the files of the knowledge base, in the order of the text.
        chunks: its chunks, in the order of the text.
    """
    starts = [file.start for file in files] if len(files) > 1 else [chunk.start for chunk in chunks]
    names = part_names(files, chunks)
    found = []
    for row in rows:
        offset = row.places[0][0] if row.places else row.found[0].start if row.found else None
        position = bisect_right(starts, offset) - 1 if offset is not None else -1
        found.append(names[position] if position >= 0 else f"alone {row.question.question_id}")
    return found


def part_names(files: Sequence[KbFile], chunks: Sequence[Chunk]) -> list[str]:
    """Return the part that each file, or in a single file each chunk, is or belongs to."""
    return [str(row) for row in range(len(files))] if len(files) > 1 else [_top(chunk) for chunk in chunks]


def _top(chunk: Chunk) -> str:
    return chunk.section.split(" > ")[0]
