"""Which rows of a result count for a promise, and which part of the text each is about."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence

from chatbot_mvp.documents.kb_files import KbFile
from chatbot_mvp.evaluation.kb.results import KbResult, ResultRow
from chatbot_mvp.evaluation.kb.sets import SetQuestion
from chatbot_mvp.metrics.decisions import ANSWERABLE, UNANSWERABLE
from chatbot_mvp.types import Chunk
from chatbot_mvp.wings.promise.errors import PromiseError

LEAST_PASSAGE, LONGEST_PASSAGE = 20, 5_000
"""Legal number of letters and digits of an expected passage, and legal number of characters. The real paragraphs of
seven question sets have 86 to 4,282 characters; shorter ones are single facts in a list."""
MOST_OF_TEXT = 0.5
"""Largest share of the text that all places of an expected passage may have together."""


NO_TICK = -1.0


def score_of(row: ResultRow, result: KbResult) -> float:
    """Return by how much the answer to a row is proven beyond what a tick needs, 0-1; NO_TICK if it has no tick.

    It is 1 with a model, whose sentences are checked otherwise; 0 if it was not recorded.
    """
    if row.said is None or not row.said.tick:
        return NO_TICK
    if row.said.proof is None or result.min_proof is None:
        return 0.0 if result.min_proof is None else 1.0
    return min(1.0, max(0.0, row.said.proof * result.min_proof - 1))


def labelled_rows(result: KbResult, people: Sequence[SetQuestion] | None) -> list[ResultRow]:
    """Return the rows of a result that count.

    Args:
        people: the questions of the set that people labelled; None for the questions of a file.
    """
    by_text = {one.question.question: one for one in people or ()}
    return [row for row in result.rows if (is_labelled(row) if people is None else _counts(row, by_text))]


def _counts(row: ResultRow, people: Mapping[str, SetQuestion]) -> bool:
    """Return whether a row of a set counts: a person labelled it, and the label says what a right answer is.

    A reviewer who calls an answer wrong need not know the right passage. Without one, every answer to the question
    counts as wrong: leaving these questions out would hide wrong answers.
    """
    labelled = people.get(row.question.question)
    if labelled is None:
        return False
    return is_labelled(row) or (
        labelled.origin == "review" and row.question.kind == ANSWERABLE and not row.question.paragraph
    )


def check_passage(row: ResultRow, chars: int) -> None:
    """Raise PromiseError if the expected passage of a row is no paragraph of a text of so many characters."""
    passage = row.question.paragraph or ""
    if not row.places:
        return
    seen = sum(char.isalnum() for char in passage)
    covered = sum(end - start for start, end in row.places)
    if seen < LEAST_PASSAGE or len(passage) > LONGEST_PASSAGE or covered > MOST_OF_TEXT * chars:
        raise PromiseError(
            "passage_length_illegal",
            question_id=row.question.question_id,
            chars=len(passage),
            places=len(row.places),
            share=f"{covered / max(1, chars):.0%}",
            least=LEAST_PASSAGE,
            most=LONGEST_PASSAGE,
            most_of_text=f"{MOST_OF_TEXT:.0%}",
        )


def is_labelled(row: ResultRow) -> bool:
    """Return whether a row says what a right answer is: a paragraph in the text, or that there is no answer."""
    return row.question.kind in UNANSWERABLE or (row.question.kind == ANSWERABLE and bool(row.places))


def groups_of(rows: Sequence[ResultRow], files: Sequence[KbFile], chunks: Sequence[Chunk]) -> list[str]:
    """Return the part that each question is about, because questions about one part are alike.

    A part is a file, or in a single file a top section; the names are those of ``part_names``.

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
    if len(files) > 1:
        return [str(row) for row in range(len(files))]
    return [chunk.section.split(" > ")[0] for chunk in chunks]
