"""Questions to begin with and to ask next, about sections near those that an answer cites: only what is answered.

Each is asked beforehand, and proposed if it is answered from what it was made of.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import islice

from chatbot_mvp.documents.chunking import Section
from chatbot_mvp.knowledge_base.question_forms import questions_in
from chatbot_mvp.knowledge_base.suggestions import ABOUT, is_about, section_question, spread
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.text import fold
from chatbot_mvp.types import Chunk

_REACH = 12
"""How many chunks before and behind a cited one are looked at."""
_TRIED = 6
"""Most sections that are asked about."""
_OF_SECTION = 2
"""Most questions of a section that are asked beforehand."""
Cited = Callable[[str], Collection[str]]
"""Question -> the sections that its answer cites; none if it would have no tick."""


def follow_ups(
    pipeline: Pipeline,
    last: Sequence[Chunk],
    cited: Collection[str],
    asked: Collection[str],
    answered: Cited,
    limit: int = 3,
) -> tuple[str, ...]:
    """Return up to ``limit`` questions about different sections, each answered from its own.

    Args:
        last: the passages that the last answer cites, the most important first.
        cited: sections that the conversation has cited; they are not asked about again.
        asked: the questions of the conversation.
    """
    known = {fold(question) for question in asked}
    found: list[str] = []
    for chunk in islice(_sections(pipeline, last, cited), _TRIED):
        for question in _questions(pipeline, chunk):
            if fold(question) not in known and chunk.section in answered(question):
                known.add(fold(question))
                found.append(question)
                break
        if len(found) == limit:
            break
    return tuple(found)


def first_questions(tried: Sequence[Sequence[str]], each: int, answered: Cited) -> tuple[str, ...]:
    """Return up to ``each`` questions of each knowledge base that are answered, in the order of its text.

    Args:
        tried: questions about each knowledge base, in that order. Those that are spread over it are asked first.
    """
    found: dict[str, None] = {}
    for every in tried:
        some = [question for question in every if not is_about(question)]
        order = dict.fromkeys([*(some[at] for at in spread(range(len(some)), each)), *some])
        found |= dict.fromkeys(sorted(islice(filter(answered, order), each), key=some.index))
    return tuple(found)


def _sections(pipeline: Pipeline, last: Sequence[Chunk], cited: Collection[str]) -> Iterator[Chunk]:
    """Yield the first chunk of each section near the cited ones that is not cited itself."""
    seen = set(cited)
    for chunk in _near(pipeline, last):
        if chunk.section not in seen and chunk.start > 0:  # the first one is about the whole
            seen.add(chunk.section)
            yield chunk


def _near(pipeline: Pipeline, last: Sequence[Chunk]) -> Iterator[Chunk]:
    """Yield the chunks around the cited ones, nearest first."""
    chunks, row_of = pipeline.index.chunks, pipeline.index.row_of
    rows = [row_of[chunk.chunk_id] for chunk in last if chunk.chunk_id in row_of]
    for distance in range(1, _REACH + 1):
        for row in rows:
            for near in (row + distance, row - distance):
                if 0 <= near < len(chunks):
                    yield chunks[near]


def _questions(pipeline: Pipeline, chunk: Chunk) -> list[str]:
    """Return the questions to try about a section: what its sentences answer, then that of its heading."""
    found = pipeline.index.analyzer.language_of(chunk.text)
    language = found if found in ABOUT else "en"
    own = section_question(chunk.text, Section(chunk.section, 0, 0, len(chunk.text)), language)
    told = dict.fromkeys([*questions_in(chunk.text, language), own])
    return [question for question in told if question and not is_about(question)][:_OF_SECTION]
