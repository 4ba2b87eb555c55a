"""Questions to begin with and to ask next, about sections near those that an answer cites: only what is answered."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from chatbot_mvp.documents.chunking import Section
from chatbot_mvp.knowledge_base.suggestions import ABOUT, section_question, spread
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.text import fold
from chatbot_mvp.types import Chunk

_REACH = 12
"""How many chunks before and behind a cited one are looked at."""
_TRIED = 6
"""Most questions that are searched."""


def follow_ups(
    pipeline: Pipeline,
    last: Sequence[Chunk],
    cited: Collection[str],
    asked: Collection[str],
    min_evidence: float,
    limit: int = 3,
) -> tuple[str, ...]:
    """Return up to ``limit`` questions whose own section is what a search for them finds first, with enough evidence.

    Args:
        last: the passages that the last answer cites, the most important first.
        cited: sections that the conversation has cited; they are not asked about again.
        asked: the questions of the conversation.
    """
    tried: dict[str, tuple[str, str]] = {}  # folded question -> (question, section)
    known = {fold(question) for question in asked}
    seen = set(cited)
    for chunk in _near(pipeline, last):
        if chunk.section in seen or chunk.start == 0:  # the first one is about the whole
            continue
        seen.add(chunk.section)
        question = _question(pipeline, chunk)
        if question and fold(question) not in known:
            tried.setdefault(fold(question), (question, chunk.section))
        if len(tried) == _TRIED:
            break
    found = []
    for (question, section), trace in zip(
        tried.values(), pipeline.retrieve([question for question, _ in tried.values()]), strict=True
    ):
        first = trace.chunks_final[0].chunk.section if trace.chunks_final else None
        if first == section and (trace.evidence or 0.0) >= min_evidence:
            found.append(question)
    return tuple(found[:limit])


def first_questions(
    pipeline: Pipeline, tried: Sequence[Sequence[str]], each: int, min_evidence: float
) -> tuple[str, ...]:
    """Return up to ``each`` questions of each knowledge base for whose search there is enough evidence.

    Args:
        tried: questions about each knowledge base, in the order of its text.
    """
    questions = [question for some in tried for question in some]
    traces = zip(questions, pipeline.retrieve(questions), strict=True)
    sure = {question for question, trace in traces if (trace.evidence or 0.0) >= min_evidence}
    found: dict[str, None] = {}
    for some in tried:
        answered = [question for question in some if question in sure]
        found |= dict.fromkeys(answered[at] for at in spread(range(len(answered)), each))
    return tuple(found)


def _near(pipeline: Pipeline, last: Sequence[Chunk]) -> Iterator[Chunk]:
    """Yield the chunks around the cited ones, nearest first."""
    chunks, row_of = pipeline.index.chunks, pipeline.index.row_of
    rows = [row_of[chunk.chunk_id] for chunk in last if chunk.chunk_id in row_of]
    for distance in range(1, _REACH + 1):
        for row in rows:
            for near in (row + distance, row - distance):
                if 0 <= near < len(chunks):
                    yield chunks[near]


def _question(pipeline: Pipeline, chunk: Chunk) -> str:
    language = pipeline.index.analyzer.language_of(chunk.text)
    section = Section(chunk.section, 0, 0, len(chunk.text))
    return section_question(chunk.text, section, language if language in ABOUT else "en")
