"""What a run embeds of each document, read from the cache of contexts without a request."""

from __future__ import annotations

from chatbot_mvp.evaluation.benchmark.chunk_texts import missing_chunk_texts, texts_to_embed, write_chunk_texts
from chatbot_mvp.llm.language_model import LanguageModel
from chatbot_mvp.retrieval.indexes.enrichment import PHASE, ContextCache, enrich
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk, ignore_progress
from tests.fakes import FakeLanguageModel

CHUNKS = [Chunk(f"p{n}", f"p{n}", f"Faro {n}", f"El faro número {n} es alto.", 0, 26) for n in range(5)]


def test_the_texts_to_embed_are_those_of_the_enriched_chunks_and_plain_where_no_context_is_cached(
    settings: Settings,
) -> None:
    of_run = settings.with_changes(retrieval_strategy="CONTEXTUAL_HYBRID", retrieval_context_questions=0)
    model = LanguageModel(of_run.language_model, FakeLanguageModel().ask)
    plain = [chunk.index_text for chunk in CHUNKS]
    assert texts_to_embed(CHUNKS, "es", of_run) == plain
    prompts = missing_chunk_texts(CHUNKS, "es", of_run)[PHASE]
    write_chunk_texts(PHASE, model, prompts[:3], of_run, ignore_progress)
    found = texts_to_embed(CHUNKS, "es", of_run)
    assert found[3:] == plain[3:]
    assert all(text != without for text, without in zip(found[:3], plain, strict=False))
    enriched = enrich(CHUNKS, "es", model, ContextCache(of_run.contexts_path), 8)
    assert texts_to_embed(CHUNKS, "es", of_run) == [chunk.index_text for chunk in enriched]


def test_a_strategy_without_contexts_embeds_the_texts_of_the_corpus(settings: Settings) -> None:
    of_run = settings.with_changes(retrieval_strategy="HYBRID")
    assert texts_to_embed(CHUNKS, "es", of_run) == [chunk.index_text for chunk in CHUNKS]
    assert not of_run.contexts_path.exists()
