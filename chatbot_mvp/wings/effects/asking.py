"""An answer of one version of a knowledge base, judged by the paragraph that the question expects."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from chatbot_mvp.chat.answer import Answer
from chatbot_mvp.chat.citations import Source
from chatbot_mvp.chat.prompting import chat_fingerprint
from chatbot_mvp.evaluation.benchmark.estimate import CHARS_PER_TOKEN, cost_of
from chatbot_mvp.evaluation.kb.questions import KbQuestion, places_of
from chatbot_mvp.llm.registry import find_provider
from chatbot_mvp.metrics.decisions import UNANSWERABLE
from chatbot_mvp.retrieval.stages.context import context_budget
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk
from chatbot_mvp.wings.effects.types import Estimate, Passage, SideAnswer

_DECIDING = (
    "kb_top_k",
    "kb_min_score",
    "kb_max_context_chars",
    "kb_large_context_chars",
    "kb_min_evidence",
    "kb_doubt_evidence",
    "kb_sure_evidence",
    "chat_max_tokens",
    "llm_max_tokens",
    "llm_temperature",
)
"""Settings of an answer beside those of the search."""

Places = tuple[tuple[int, int], ...]

_PROMPT_TOKENS = 700
"""Tokens of the prompt and the question around the passages."""
_REQUESTS = 2
"""Requests of one answer at most: whether the passages are relevant, where that is in doubt, and the answer."""


def fingerprint_of(settings: Settings, model: str) -> str:
    """Return what identifies the settings, prompts and model of an answer: equal ones give equal answers.

    Args:
        model: provider and model.
    """
    deciding = json.dumps([getattr(settings, name) for name in _DECIDING])
    return f"{chat_fingerprint(settings, model)}-{hashlib.sha256(deciding.encode()).hexdigest()[:12]}"


def judged(question: KbQuestion, answer: Answer, text: str, fingerprint: str) -> SideAnswer:
    """Return an answer as it is kept, judged.

    Args:
        text: the text of the version that was asked.
        fingerprint: as ``fingerprint_of`` gives it.
    """
    places = places_of(text, question.paragraph)
    return SideAnswer(
        text=answer.text,
        outcome=answer.outcome,
        why=answer.why or "",
        evidence=round(answer.decision.evidence, 4),
        passages=tuple(map(_passage, answer.sources)),
        stands=bool(places) if question.paragraph else None,
        right=_right(question, answer, places),
        rank=_rank([hit.chunk for hit in answer.trace.chunks_final], places),
        fingerprint=fingerprint,
        model=answer.completion.model if answer.completion else "",
        seconds=round(answer.seconds, 4),
    )


def _right(question: KbQuestion, answer: Answer, places: Places) -> bool | None:
    answered = answer.outcome == "answered"
    if question.kind in UNANSWERABLE:
        return not answered
    if not places:
        return None
    quoted = [span for source in answer.sources for span in source.highlights or (_whole(source.chunk),)]
    return answered and any(start < last and first < end for first, last in quoted for start, end in places)


def _rank(chunks: Sequence[Chunk], places: Places) -> int | None:
    """Return the rank of the first chunk that covers half of the expected paragraph, as in a run of questions."""
    for rank, chunk in enumerate(chunks, 1):
        if any(2 * (min(end, chunk.end) - max(start, chunk.start)) >= end - start for start, end in places):
            return rank
    return None


def _whole(chunk: Chunk) -> tuple[int, int]:
    return chunk.start, chunk.end


def _passage(source: Source) -> Passage:
    chunk = source.chunk
    quotes = tuple((start - chunk.start, end - chunk.start) for start, end in source.highlights)
    place = source.place
    return Passage(place.file if place else "", place.page if place else None, chunk.section, chunk.text, quotes)


def estimate_of(settings: Settings, model: str, answers: int, chars: int) -> Estimate:
    """Return what so many answers need at most. Requests of the search itself, such as reranking, are not counted.

    Args:
        model: provider and model.
        chars: characters of the larger version.
    """
    if not find_provider(settings.chosen_provider).has_model:
        return Estimate(answers, 0, model, 0, 0, 0.0)
    context = min(chars, context_budget(chars, settings.kb_max_context_chars, settings.kb_large_context_chars))
    requests = _REQUESTS * answers
    prompt = round(requests * (context / CHARS_PER_TOKEN + _PROMPT_TOKENS))
    reply = answers * (settings.chat_max_tokens or settings.llm_max_tokens)
    cost, _ = cost_of(settings, prompt, reply)
    return Estimate(answers, requests, model, prompt, reply, cost)
