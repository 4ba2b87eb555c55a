"""The pipeline of chat and benchmark: every strategy, one by one or in batches, under a fingerprint."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.retrieval.pipeline import Pipeline, fingerprint, growing_pipeline, retrieval_config
from chatbot_mvp.retrieval.stages.base import RetrievalConfig
from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import last
from tests.fakes import FakeEmbedder, FakeLanguageModel, chunks_of

LANGUAGE_MODEL = FakeLanguageModel(lambda _: "Norma de la empresa.").model

TEXTS = [
    "Las vacaciones son 23 días laborables al año.",
    "La solicitud de vacaciones se presenta en el portal.",
    "El puente de piedra cruza el río Orzama.",
    "El molino viejo muele trigo junto al río.",
    "La dieta completa es de 48 euros.",
]
QUERIES = [
    "¿Cuántos días de vacaciones hay?",
    "¿Qué cruza el río?",
    "",
    "🙂 ¿?",
    "submarino nuclear",
    "vacaciones " * 500,
]


def pipeline_of(settings: Settings, embedder: Embedder, **changes: Any) -> Pipeline:
    return last(
        growing_pipeline(
            chunks_of(*TEXTS), "es", settings.with_changes(**changes), lambda: embedder, language_model=LANGUAGE_MODEL
        )
    )


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_finds_the_passage_that_shares_the_words(
    settings: Settings, embedder: FakeEmbedder, strategy: str
) -> None:
    pipeline = pipeline_of(settings, embedder, retrieval_strategy=strategy)
    trace = pipeline.retrieve(["¿Cuánto es la dieta completa en euros?"])[0]
    assert trace.hits[0].chunk.text == TEXTS[4]
    assert trace.chunks_final[0].chunk.text == TEXTS[4]
    assert trace.evidence == pytest.approx(1.0)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_batch_is_answered_like_each_query_alone(settings: Settings, embedder: FakeEmbedder, strategy: str) -> None:
    pipeline = pipeline_of(settings, embedder, retrieval_strategy=strategy)
    alone = [pipeline.retrieve([query])[0] for query in QUERIES]
    together = pipeline_of(settings, FakeEmbedder(), retrieval_strategy=strategy).retrieve(QUERIES)
    assert [replace(trace, records=()) for trace in together] == [replace(trace, records=()) for trace in alone]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_trace_has_one_record_per_stage_and_the_strategys_candidates(
    settings: Settings, embedder: FakeEmbedder, strategy: str
) -> None:
    made = pipeline_of(settings, embedder, retrieval_strategy=strategy)
    trace = made.retrieve(QUERIES[:1])[0]
    stages = [stage for stage in STRATEGIES[strategy].stages if stage.serves(made.index)]
    assert [record.stage for record in trace.records] == [stage.name for stage in stages]
    assert all(record.seconds >= 0 for record in trace.records)
    sources = {"lexical": "bm25", "dense": "vector", "bridge": "bm25"}
    assert set(trace.candidates) == {sources[stage.name] for stage in stages if stage.name in sources}
    assert (trace.query_vector is not None) == STRATEGIES[strategy].needs_vectors


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_embedding_model_is_made_only_for_strategies_with_vectors(settings: Settings, strategy: str) -> None:
    made: list[FakeEmbedder] = []

    def make() -> FakeEmbedder:
        made.append(FakeEmbedder())
        return made[-1]

    pipeline = last(
        growing_pipeline(
            chunks_of(*TEXTS),
            "es",
            settings.with_changes(retrieval_strategy=strategy),
            make,
            language_model=LANGUAGE_MODEL,
        )
    )
    pipeline.retrieve(QUERIES[:1])
    assert bool(made) == STRATEGIES[strategy].needs_vectors


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_an_empty_corpus_is_searched_without_error(settings: Settings, embedder: FakeEmbedder, strategy: str) -> None:
    changed = settings.with_changes(retrieval_strategy=strategy)
    [trace] = last(growing_pipeline([], "es", changed, lambda: embedder, language_model=LANGUAGE_MODEL)).retrieve(
        ["vacaciones"]
    )
    assert (trace.hits, trace.chunks_final, trace.evidence) == ((), (), 0.0)


def test_the_corpus_is_embedded_as_passages_and_a_question_as_a_query_each_once(
    settings: Settings, embedder: FakeEmbedder
) -> None:
    for _ in range(2):
        pipeline_of(settings, embedder, retrieval_strategy="HYBRID").retrieve([QUERIES[0], QUERIES[0]])
    assert sorted(embedder.embedded) == sorted([*TEXTS, QUERIES[0]])
    assert {kind for kind, texts in embedder.batches if QUERIES[0] in texts} == {"query"}
    assert {kind for kind, texts in embedder.batches if TEXTS[0] in texts} == {"passage"}


def test_no_more_candidates_than_asked_for_are_fused(settings: Settings, embedder: FakeEmbedder) -> None:
    trace = pipeline_of(settings, embedder, retrieval_strategy="HYBRID", retrieval_pre_fusion_k=2).retrieve(
        ["río vacaciones dieta"]
    )[0]
    assert {name: len(hits) for name, hits in trace.candidates.items()} == {"bm25": 2, "vector": 2}


def test_an_unknown_strategy_is_answered_with_the_known_ones(settings: Settings, embedder: FakeEmbedder) -> None:
    with pytest.raises(UnknownChoice) as raised:
        pipeline_of(settings, embedder, retrieval_strategy="MAGIC")
    assert "'MAGIC'" in str(raised.value)
    assert all(name in str(raised.value) for name in STRATEGIES)


def test_equal_settings_have_equal_fingerprints(settings: Settings) -> None:
    other = settings.with_changes(ui_language="en", data_dir="/elsewhere", kb_max_chars=5_000, eval_max_queries=3)
    assert fingerprint(retrieval_config(settings)) == fingerprint(retrieval_config(other))


WORDS = {"LEXICAL", "HYBRID", "CONTEXTUAL_HYBRID", "BRIDGE", "BRIDGE_HYBRID"}
FUSED = {"HYBRID", "CONTEXTUAL_HYBRID"}
VECTORS = {"SIMPLE_VECTOR", "BRIDGE_HYBRID", *FUSED}
EVERY = set(STRATEGIES)
RERANKED = {"reranker_enabled": True, "reranker_base_url": "http://127.0.0.1/v1"}

KNOBS: list[tuple[str, dict[str, Any], dict[str, Any], set[str]]] = [
    ("retrieval_k", {"retrieval_k": 21}, {}, EVERY),
    ("retrieval_pre_fusion_k", {"retrieval_pre_fusion_k": 151}, {}, EVERY - {"BRIDGE"}),
    ("retrieval_fusion", {"retrieval_fusion": "rrf"}, {"retrieval_fusion": "weighted"}, FUSED),
    ("retrieval_rrf_k", {"retrieval_rrf_k": 61}, {"retrieval_fusion": "rrf"}, FUSED),
    ("retrieval_rrf_k", {"retrieval_rrf_k": 61}, {"retrieval_fusion": "weighted"}, set()),
    ("retrieval_bm25_weight", {"retrieval_bm25_weight": 0.51}, {"retrieval_fusion": "rrf"}, FUSED),
    ("retrieval_bm25_weight", {"retrieval_bm25_weight": 0.51}, {"retrieval_fusion": "weighted"}, set()),
    ("retrieval_vector_weight", {"retrieval_vector_weight": 0.51}, {"retrieval_fusion": "rrf"}, FUSED),
    ("retrieval_vector_weight", {"retrieval_vector_weight": 0.51}, {"retrieval_fusion": "weighted"}, set()),
    ("embedding_model_name", {"embedding_model_name": "other/model"}, {}, VECTORS),
    (
        "embedding_kind",
        {"embedding_model_type": "symmetric"},
        {"embedding_model_name": "other/model", "embedding_base_url": "http://127.0.0.1/v1"},
        VECTORS,
    ),
    ("vector_store", {"vector_store": "chroma"}, {}, VECTORS),
    ("index_engine", {"index_engine": "milvus"}, {}, VECTORS),
    ("kb_top_k", {"kb_top_k": 6}, {}, EVERY),
    ("kb_min_score", {"kb_min_score": 0.01}, {}, EVERY),
    ("kb_max_context_chars", {"kb_max_context_chars": 4_001}, {}, EVERY),
    ("kb_large_context_chars", {"kb_large_context_chars": 6_001}, {}, EVERY),
    ("retrieval_chunk_chars", {"retrieval_chunk_chars": 600}, {}, EVERY),
    ("retrieval_expansion", {"retrieval_expansion": False}, {}, EVERY - {"SIMPLE_VECTOR"}),
    ("retrieval_stitching", {"retrieval_stitching": False}, {}, EVERY),
    ("reranker", RERANKED, {}, EVERY),
    ("reranker_candidates", {"reranker_candidates": 16}, {}, set()),
    ("reranker_candidates", {"reranker_candidates": 16}, RERANKED, EVERY),
    ("reranker_top_n", {"reranker_top_n": 6}, {}, set()),
    ("reranker_top_n", {"reranker_top_n": 6}, RERANKED, EVERY),
    ("query_expansion_llm", {"query_expansion_llm": True}, {}, WORDS),
    ("language_model", {"provider": "groq"}, {}, {"CONTEXTUAL_HYBRID"}),
    ("language_model", {"provider": "groq"}, {"query_expansion_llm": True}, WORDS),
    ("reranker", {"provider": "groq"}, {"reranker_enabled": True}, EVERY),
    ("retrieval_context_max_tokens", {"retrieval_context_max_tokens": 100}, {}, {"CONTEXTUAL_HYBRID"}),
    ("retrieval_context_questions", {"retrieval_context_questions": 3}, {}, {"CONTEXTUAL_HYBRID"}),
    (
        "retrieval_context_questions",
        {"retrieval_context_questions": 3},
        {"retrieval_context_questions": 4},
        {"CONTEXTUAL_HYBRID"},
    ),
]
"""Knob, the settings that change it, settings beside it, and the strategies whose ranking it decides."""


def test_another_model_of_the_same_provider_changes_the_fingerprint(settings: Settings) -> None:
    own = settings.with_changes(retrieval_strategy="CONTEXTUAL_HYBRID", provider="groq")
    other = own.with_changes(groq_model_name="llama-3.1-8b-instant")
    assert fingerprint(retrieval_config(own)) != fingerprint(retrieval_config(other))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("knob", "changes", "beside", "counts_in"), KNOBS)
def test_a_knob_changes_the_fingerprint_of_the_strategies_that_use_it_and_of_no_other(
    settings: Settings, strategy: str, knob: str, changes: dict[str, Any], beside: dict[str, Any], counts_in: set[str]
) -> None:
    before = settings.with_changes(retrieval_strategy=strategy, **beside)
    one, other = retrieval_config(before), retrieval_config(before.with_changes(**changes))
    assert getattr(one, knob) != getattr(other, knob)
    assert (fingerprint(one) != fingerprint(other)) == (strategy in counts_in)


def test_every_knob_and_every_strategy_is_in_the_table(settings: Settings) -> None:
    known = {knob for knob, *_ in KNOBS} | {"retrieval_strategy"}
    assert known == {field.name for field in fields(RetrievalConfig)}
    made = {fingerprint(retrieval_config(settings.with_changes(retrieval_strategy=name))) for name in STRATEGIES}
    assert len(made) == len(STRATEGIES)


def test_another_language_of_the_words_changes_the_fingerprint_where_words_are_searched(settings: Settings) -> None:
    for strategy in STRATEGIES:
        config = retrieval_config(settings.with_changes(retrieval_strategy=strategy))
        assert (fingerprint(config) != fingerprint(config, "en")) == (strategy in WORDS)
