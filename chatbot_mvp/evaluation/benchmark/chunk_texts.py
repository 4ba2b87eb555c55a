"""The texts that a language model writes for chunks before they are indexed: contexts and questions."""

from __future__ import annotations

from collections.abc import Sequence

from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.llm.registry import requests_at_once
from chatbot_mvp.retrieval.indexes import enrichment, questions
from chatbot_mvp.retrieval.strategies import get_strategy
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk, ProgressCallback

ENRICH, QUESTIONS = enrichment.PHASE, questions.PHASE


def missing_chunk_texts(chunks: Sequence[Chunk], language: str, settings: Settings) -> dict[str, list[str]]:
    """Return phase -> its distinct prompts without a cached reply; only the phases that a run with ``settings`` has."""
    if not get_strategy(settings.retrieval_strategy).writes_contexts:
        return {}
    model, path = settings.language_model, settings.contexts_path
    most = settings.retrieval_context_max_tokens
    found = {ENRICH: enrichment.missing_prompts(chunks, language, model, path, most)}
    if count := settings.retrieval_context_questions:
        found[QUESTIONS] = questions.missing_question_prompts(chunks, language, count, model, path)
    return found


def texts_to_embed(chunks: Sequence[Chunk], language: str, settings: Settings) -> list[str]:
    """Return what a run embeds of each chunk: its text, after its context if the strategy has one in the cache."""
    if get_strategy(settings.retrieval_strategy).writes_contexts:
        prompts = list(enrichment.enrichment_prompts(chunks, language))
        most = enrichment.CHARS_PER_TOKEN * settings.retrieval_context_max_tokens
        cache = enrichment.ContextCache(settings.contexts_path)
        chunks = enrichment.with_contexts(chunks, cache.cached(settings.language_model, prompts, most))
    return [chunk.index_text for chunk in chunks]


def write_chunk_texts(
    phase: str, model: LanguageModel, prompts: Sequence[str], settings: Settings, progress: ProgressCallback
) -> None:
    """Send prompts of a phase of ``missing_chunk_texts`` and cache the replies.

    Raises:
        ChatbotError, OSError: the model gave no reply.
        CacheUnusable: the cache cannot be read or written.
    """
    cache, batch = enrichment.ContextCache(settings.contexts_path), settings.retrieval_context_batch_size
    if phase == QUESTIONS:
        count = settings.retrieval_context_questions
        questions.ask_for_questions(prompts, model, cache, batch, count, progress)
    else:
        most = enrichment.CHARS_PER_TOKEN * settings.retrieval_context_max_tokens
        cache.contexts(model, prompts, batch, progress, most)


def chunk_texts_at_once(settings: Settings) -> int:
    """Return the number of concurrent requests of these phases."""
    return min(enrichment.CALLS_AT_ONCE, settings.retrieval_context_batch_size, requests_at_once(settings))
