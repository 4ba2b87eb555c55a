"""Questions that a language model writes for each chunk; their words are indexed with the chunk (doc2query).

After Nogueira et al., "Document Expansion by Query Prediction" (2019). As in Doc2Query-- (Gospodinov et al., 2023), a
question counts only if it fits: a search with it must find the chunk, before the words of any question are indexed.
Searches still return the original chunks.
"""

from __future__ import annotations

import json
import logging
import re
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.llm.thoughts import without_thoughts
from chatbot_mvp.prompting.fence import as_data, fence_name, from_data
from chatbot_mvp.prompting.loader import PromptFolder
from chatbot_mvp.retrieval.indexes.enrichment import ContextCache, without_reply
from chatbot_mvp.text import fold
from chatbot_mvp.types import Chunk, Progress, ProgressCallback, ignore_progress

_log = logging.getLogger(__name__)

PHASE, CHECK_PHASE = "questions", "check_questions"
PROMPTS = PromptFolder(Path(__file__).parents[1] / "prompts" / "questions")
FOUND_WITHIN = 3
"""A question is kept if its chunk is among this many first results, of a corpus of 15 chunks and more."""
QUESTION_CHARS = 200
"""Longer lines of a reply are no questions of a person."""

_BATCH = 32
_KEPT, _DROPPED = "1", "0"
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)+)"')
_BULLET = re.compile(r"^(?:[-*•–]|\(?\d{1,2}[.):]|[pq]\d?[.):])\s+", re.I)

Find = Callable[[Sequence[str]], Sequence[Sequence[Chunk]]]
"""Questions -> the chunks that a search with each finds, best first."""


@dataclass(frozen=True, slots=True)
class QuestionCounts:
    """How many questions of a corpus were written and kept."""

    passages: int
    without: int
    """Passages without a question: the model's reply could not be read. It is asked for again by the next build."""
    written: int
    kept: int
    """The part of ``written`` whose passage is found by it."""


@dataclass(frozen=True, slots=True)
class KeptQuestions:
    """The questions of a corpus whose words are indexed."""

    texts: tuple[str, ...]
    """For each chunk its questions, one per line; "" for none."""
    counts: QuestionCounts


def question_prompts(chunks: Sequence[Chunk], language: str, count: int) -> list[str]:
    """Return one prompt per chunk, in order, with section and text of the chunk fenced as data."""
    template = PROMPTS.texts(language)["questions"].strip()
    passages = [as_data(chunk.index_text) for chunk in chunks]
    return [template.format(fence=fence_name(text, "questions"), passage=text, count=count) for text in passages]


def missing_question_prompts(
    chunks: Sequence[Chunk], language: str, count: int, model_name: str, path: Path
) -> list[str]:
    """Return the distinct prompts that ``write_questions`` would send with its cache at ``path``. Sends nothing."""
    return without_reply(question_prompts(chunks, language, count), model_name, path)


def read_questions(reply: str, most: int) -> list[str]:
    """Return up to ``most`` distinct questions of a reply in JSON or in lines; an empty list if it has none.

    A question is a string of JSON or a line that ends with a question mark. Bullets, numbers and quotes around it are
    dropped, and so are other lines, which are remarks of the model.
    """
    text = from_data(without_thoughts(reply).encode("utf-8", "replace").decode())
    strings = [_unescaped(found) for found in _STRING.findall(text)] if "[" in text or "{" in text else []
    found: dict[str, str] = {}
    for line in [string for string in strings if string.rstrip().endswith("?")] or text.splitlines():
        question = " ".join(_BULLET.sub("", line.strip()).strip("\"'«»“”*_` ").split())
        if question.endswith("?") and len(question) <= QUESTION_CHARS:
            found.setdefault(fold(question), question)
    return list(found.values())[:most]


def write_questions(
    chunks: Sequence[Chunk],
    language: str,
    model: LanguageModel,
    cache: ContextCache,
    batch_size: int,
    count: int,
    progress: ProgressCallback = ignore_progress,
) -> list[list[str]]:
    """Return for each chunk up to ``count`` questions that the model wrote; none if its reply cannot be read.

    Args:
        language: "es" or "en", the language of the prompt.
        batch_size: prompts per commit to the cache.
        progress: called in the phase "questions"; chunks without questions count as failed.

    Raises:
        ChatbotError, OSError: the model gave no reply.
        CacheUnusable: the cache cannot be read or written.
    """
    replies = ask_for_questions(question_prompts(chunks, language, count), model, cache, batch_size, count, progress)
    return [reply.splitlines() for reply in replies]


def ask_for_questions(
    prompts: Sequence[str],
    model: LanguageModel,
    cache: ContextCache,
    batch_size: int,
    count: int,
    progress: ProgressCallback = ignore_progress,
) -> list[str]:
    """Return the questions of each prompt, one per line. Arguments and errors are those of ``write_questions``."""
    return cache.replies(
        model, prompts, batch_size, lambda reply: "\n".join(read_questions(reply, count)), PHASE, progress
    )


def kept_questions(
    chunks: Sequence[Chunk],
    written: Sequence[Sequence[str]],
    find: Find,
    cache: ContextCache,
    search: str,
    progress: ProgressCallback = ignore_progress,
) -> KeptQuestions:
    """Keep the questions whose chunk is among the first results of a search with them (see ``found_within``).

    Args:
        written: the questions of each chunk.
        find: searches an index without words of questions; not called if the cache has the verdicts.
        cache: keeps the verdicts.
        search: identifies what ``find`` does with these chunks: the fingerprint of its pipeline.
        progress: called in the phase "check_questions"; may raise to stop.
    """
    pairs = [(row, question) for row, questions in enumerate(written) for question in questions]
    name = json.dumps([search, FOUND_WITHIN, [[chunk.chunk_id, chunk.index_text] for chunk in chunks], written])
    verdicts = cache.remembered(name, lambda: _verdicts(chunks, pairs, find, progress))
    kept: list[list[str]] = [[] for _ in chunks]
    for (row, question), verdict in zip(pairs, verdicts, strict=True):
        if verdict == _KEPT:
            kept[row].append(question)
    without = sum(not questions for questions in written)
    counts = QuestionCounts(len(chunks), without, len(pairs), sum(map(len, kept)))
    level = logging.WARNING if without else logging.INFO
    text = "questions that a model wrote for %d chunks: %d of %d kept, %d chunks without"
    _log.log(level, text, counts.passages, counts.kept, counts.written, counts.without)
    return KeptQuestions(tuple("\n".join(questions) for questions in kept), counts)


def found_within(chunks: int) -> int:
    """Return how many results may come up to a question's chunk: FOUND_WITHIN, but at most a fifth of all chunks."""
    return max(1, min(FOUND_WITHIN, chunks // 5))


def _verdicts(chunks: Sequence[Chunk], pairs: Sequence[tuple[int, str]], find: Find, progress: ProgressCallback) -> str:
    """Return one character per (row of a chunk, question)."""
    started, limit = time.monotonic(), found_within(len(chunks))
    verdicts = ""
    progress(Progress(CHECK_PHASE, 0, len(pairs)))
    for begin in range(0, len(pairs), _BATCH):
        batch = pairs[begin : begin + _BATCH]
        for (row, _), found in zip(batch, find([question for _, question in batch]), strict=True):
            verdicts += _KEPT if any(_has(whole, chunks[row]) for whole in found[:limit]) else _DROPPED
        progress(Progress(CHECK_PHASE, len(verdicts), len(pairs), time.monotonic() - started))
    return verdicts


def _has(whole: Chunk, part: Chunk) -> bool:
    """Return whether a result is the chunk, or the chunk joined with its neighbours."""
    return whole.doc_id == part.doc_id and whole.start <= part.start and part.end <= whole.end


def _unescaped(string: str) -> str:
    with suppress(ValueError):
        return str(json.loads(f'"{string}"'))
    return string
