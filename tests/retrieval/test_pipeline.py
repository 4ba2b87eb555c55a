"""The pipeline of chat and benchmark: every strategy, one by one or in batches, under a fingerprint."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.errors import InvalidSetting, NeedsLanguageModel, UnknownChoice
from chatbot_mvp.retrieval.pipeline import (
    Pipeline,
    decisive,
    fingerprint,
    growing_pipeline,
    require_language_model,
)
from chatbot_mvp.retrieval.search import other_search, with_search
from chatbot_mvp.retrieval.shared_work import SharedWork
from chatbot_mvp.retrieval.stages.kb_cosines import sentence_closeness, window_cosines
from chatbot_mvp.retrieval.strategies import STRATEGIES
from chatbot_mvp.settings.fields import ROWS
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Document, Progress, last
from tests.fakes import FakeEmbedder, FakeLanguageModel, chunks_of
from tests.strategies import OWN_STRATEGIES

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
    # The rule of the KB chat gives no share of the question but a degree, which is below 1.
    assert trace.evidence == pytest.approx(1.0) if strategy != "KB_CHAT" else trace.evidence > settings.kb_min_evidence


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
    assert fingerprint(settings) == fingerprint(other)


EXPANDED = {"LEXICAL", "HYBRID", "CONTEXTUAL_HYBRID", "BRIDGE", "BRIDGE_HYBRID", "RAG_V2", "KB_CHAT"}
WORDS = {*EXPANDED, "CONTEXTUAL_RRF"}
FUSED = {"HYBRID", "CONTEXTUAL_HYBRID"}
BY_RANK = {"CONTEXTUAL_RRF"}
"""Strategies that merge by rank whatever the setting says."""
CONTEXTS = {"CONTEXTUAL_HYBRID", "CONTEXTUAL_RRF"}
VECTORS = {"SIMPLE_VECTOR", "BRIDGE_HYBRID", "RAG_V2", *FUSED, *BY_RANK}
EVERY = set(OWN_STRATEGIES)
RERANKED = {"reranker_enabled": True, "reranker_base_url": "http://127.0.0.1/v1"}

KNOBS: list[tuple[str, dict[str, Any], dict[str, Any], set[str]]] = [
    ("retrieval_k", {"retrieval_k": 21}, {}, EVERY),
    ("retrieval_pre_fusion_k", {"retrieval_pre_fusion_k": 151}, {}, EVERY - {"BRIDGE", "KB_CHAT"}),
    ("retrieval_fusion", {"retrieval_fusion": "rrf"}, {"retrieval_fusion": "weighted"}, FUSED),
    ("retrieval_rrf_k", {"retrieval_rrf_k": 61}, {"retrieval_fusion": "rrf"}, FUSED | BY_RANK),
    ("retrieval_rrf_k", {"retrieval_rrf_k": 61}, {"retrieval_fusion": "weighted"}, BY_RANK),
    ("retrieval_bm25_weight", {"retrieval_bm25_weight": 0.51}, {"retrieval_fusion": "rrf"}, FUSED | BY_RANK),
    ("retrieval_bm25_weight", {"retrieval_bm25_weight": 0.51}, {"retrieval_fusion": "weighted"}, BY_RANK),
    ("retrieval_vector_weight", {"retrieval_vector_weight": 0.51}, {"retrieval_fusion": "rrf"}, FUSED | BY_RANK),
    ("retrieval_vector_weight", {"retrieval_vector_weight": 0.51}, {"retrieval_fusion": "weighted"}, BY_RANK),
    ("embedding_model_name", {"embedding_model_name": "other/model"}, {}, VECTORS),
    (
        "embedding_kind",
        {"embedding_model_type": "symmetric"},
        {"embedding_model_name": "other/model", "embedding_base_url": "http://127.0.0.1/v1"},
        VECTORS,
    ),
    ("vector_store", {"vector_store": "chroma"}, {}, VECTORS),
    ("kb_top_k", {"kb_top_k": 6}, {}, EVERY),
    ("kb_filter", {"kb_filter": '{"tags": ["x"]}'}, {}, EVERY),
    ("kb_min_score", {"kb_min_score": 0.01}, {}, EVERY),
    ("kb_max_context_chars", {"kb_max_context_chars": 4_001}, {}, EVERY),
    ("kb_large_context_chars", {"kb_large_context_chars": 6_001}, {}, EVERY),
    ("retrieval_chunk_chars", {"retrieval_chunk_chars": 600}, {}, EVERY),
    ("retrieval_expansion", {"retrieval_expansion": False}, {}, EVERY - {"SIMPLE_VECTOR", "RAG_V2"} - BY_RANK),
    ("retrieval_stitching", {"retrieval_stitching": False}, {}, EVERY),
    ("reranker", RERANKED, {}, EVERY),
    ("reranker_candidates", {"reranker_candidates": 16}, {}, set()),
    ("reranker_candidates", {"reranker_candidates": 16}, RERANKED, EVERY),
    ("reranker_top_n", {"reranker_top_n": 6}, {}, set()),
    ("reranker_top_n", {"reranker_top_n": 6}, RERANKED, EVERY),
    ("query_expansion_llm", {"query_expansion_llm": True}, {}, EXPANDED),
    ("language_model", {"provider": "groq"}, {}, CONTEXTS),
    ("language_model", {"provider": "groq"}, {"query_expansion_llm": True}, WORDS),
    ("reranker", {"provider": "groq"}, {"reranker_enabled": True}, EVERY),
    ("retrieval_context_max_tokens", {"retrieval_context_max_tokens": 100}, {}, CONTEXTS),
    ("retrieval_context_questions", {"retrieval_context_questions": 3}, {}, CONTEXTS),
    (
        "retrieval_context_questions",
        {"retrieval_context_questions": 3},
        {"retrieval_context_questions": 4},
        CONTEXTS,
    ),
]
"""Knob, the settings that change it, settings beside it, and the strategies whose ranking it decides."""


def test_another_model_of_the_same_provider_changes_the_fingerprint(settings: Settings) -> None:
    own = settings.with_changes(retrieval_strategy="CONTEXTUAL_HYBRID", provider="groq")
    other = own.with_changes(groq_model_name="llama-3.1-8b-instant")
    assert fingerprint(own) != fingerprint(other)


@pytest.mark.parametrize("strategy", OWN_STRATEGIES)
@pytest.mark.parametrize(("knob", "changes", "beside", "counts_in"), KNOBS)
def test_a_knob_changes_the_fingerprint_of_the_strategies_that_use_it_and_of_no_other(
    settings: Settings, strategy: str, knob: str, changes: dict[str, Any], beside: dict[str, Any], counts_in: set[str]
) -> None:
    one = settings.with_changes(retrieval_strategy=strategy, **beside)
    other = one.with_changes(**changes)
    assert decisive(one)[knob] != decisive(other)[knob]
    assert (fingerprint(one) != fingerprint(other)) == (strategy in counts_in)


def test_every_knob_and_every_strategy_is_in_the_table(settings: Settings) -> None:
    known = {knob for knob, *_ in KNOBS} | {"retrieval_strategy", "index_engine"}  # which have tests of their own
    assert known == decisive(settings).keys()
    made = {fingerprint(settings.with_changes(retrieval_strategy=name)) for name in STRATEGIES}
    assert len(made) == len(STRATEGIES)


@pytest.mark.parametrize("strategy", OWN_STRATEGIES)
def test_another_engine_changes_the_fingerprint_where_it_searches_vectors(settings: Settings, strategy: str) -> None:
    own = settings.with_changes(retrieval_strategy=strategy)
    other = own.model_copy(update={"index_engine": "another"})
    assert (fingerprint(own) != fingerprint(other)) == (strategy in VECTORS)
    exact = [each.model_copy(update={"vector_store": "exact"}) for each in (own, other)]
    assert fingerprint(exact[0]) == fingerprint(exact[1])


def test_another_language_of_the_words_changes_the_fingerprint_where_words_are_searched(settings: Settings) -> None:
    for strategy in OWN_STRATEGIES:
        config = settings.with_changes(retrieval_strategy=strategy)
        assert (fingerprint(config) != fingerprint(config, "en")) == (strategy in WORDS)


def test_other_settings_of_the_selection_share_the_index_and_others_are_those_of_the_build(
    settings: Settings, embedder: FakeEmbedder
) -> None:
    pipeline = pipeline_of(settings, embedder, retrieval_strategy="LEXICAL", kb_top_k=5)
    same = settings.with_changes(retrieval_strategy="LEXICAL", kb_top_k=5)
    assert pipeline.with_selection(same) is pipeline
    assert pipeline.with_selection(same.with_changes(retrieval_k=3)) is pipeline
    fewer = pipeline.with_selection(same.with_changes(kb_top_k=1, kb_min_score=0.1, retrieval_k=3))
    assert fewer.index is pipeline.index
    assert fewer.config == pipeline.config.with_changes(kb_top_k=1, kb_min_score=0.1)
    [few], [many] = fewer.retrieve(["vacaciones del río"]), pipeline.retrieve(["vacaciones del río"])
    assert (len(few.chunks_final), len(many.chunks_final)) == (1, 4)
    assert [hit.chunk for hit in few.hits] == [hit.chunk for hit in many.hits]
    for name in ("kb_max_context_chars", "kb_large_context_chars"):
        assert getattr(pipeline.with_selection(same.with_changes(**{name: 1_234})).config, name) == 1_234


SAME_INDEX = [
    pytest.param(strategy, changes, id=f"{strategy}-{knob}")
    for knob, changes, _, strategies in KNOBS
    if knob in ROWS and ROWS[knob].decides in ("ranking", "selection") and "query_expansion_llm" not in changes
    for strategy in sorted({"LEXICAL", "HYBRID"} & strategies)
]


@pytest.mark.parametrize(("strategy", "changes"), SAME_INDEX)
def test_a_setting_that_is_not_marked_as_of_the_index_leaves_it_as_it_is(
    settings: Settings, embedder: FakeEmbedder, strategy: str, changes: dict[str, Any]
) -> None:
    shared, before = SharedWork(), settings.with_changes(retrieval_strategy=strategy)
    one, other = (
        last(growing_pipeline(chunks_of(*TEXTS), "es", each, lambda: embedder, shared=shared))
        for each in (before, before.with_changes(**changes))
    )
    assert one.index is other.index


def test_reranker_and_expander_stay_beside_another_selection(settings: Settings) -> None:
    changes = {"retrieval_strategy": "LEXICAL", "reranker_enabled": True, "query_expansion_llm": True}
    pipeline = pipeline_of(settings, FakeEmbedder(), **changes)
    other = pipeline.with_selection(settings.with_changes(**changes, kb_top_k=1))
    stages = [[record.stage for record in made.retrieve(["río"])[0].records] for made in (pipeline, other)]
    assert stages[0] == stages[1]
    assert {"rerank", "llm_expansion"} <= set(stages[0])
    assert stages[0].index("rerank") + 1 == stages[0].index("selection")


def test_found_gives_the_chunks_before_any_reranking(settings: Settings, embedder: FakeEmbedder) -> None:
    pipeline = pipeline_of(settings, embedder, retrieval_strategy="LEXICAL")
    found = pipeline.found(["río", "submarino", "dieta completa"])
    assert [[chunk.text for chunk in chunks] for chunks in found] == [TEXTS[2:4], [], TEXTS[4:]]
    [trace] = pipeline_of(settings, embedder, retrieval_strategy="LEXICAL", reranker_enabled=True).retrieve(["río"])
    assert [hit.chunk for hit in trace.retrieved] == found[0]


def test_queries_are_embedded_ahead_only_where_vectors_are_used(settings: Settings, embedder: FakeEmbedder) -> None:
    pipeline = pipeline_of(settings, embedder, retrieval_strategy="HYBRID")
    seen: list[Progress] = []
    pipeline.embed_queries(["río", "dieta"], seen.append)
    assert seen[-1].phase == "embed_queries" and (seen[-1].done, seen[-1].total) == (2, 2)
    before = len(embedder.embedded)
    pipeline.retrieve(["río", "dieta"])
    assert len(embedder.embedded) == before
    pipeline_of(settings, embedder, retrieval_strategy="LEXICAL").embed_queries(["otra"], seen.append)
    assert "otra" not in embedder.embedded


def test_the_share_of_the_vectors_is_told_while_they_are_computed(settings: Settings, embedder: FakeEmbedder) -> None:
    text = "# A\n\nUna frase. Otra frase. Tres frases.\n\nCuatro van. Cinco van."
    chunks = chunk_document(Document("kb", "kb", text))

    def shares(strategy: str) -> list[float | None]:
        changed = settings.with_changes(retrieval_strategy=strategy)
        return [made.vectors_share for made in growing_pipeline(chunks, "es", changed, lambda: embedder)]

    first, some, whole = shares("HYBRID")
    assert (first, whole) == (0.0, 1.0)
    assert some is not None and 0 < some < 1
    assert shares("LEXICAL") == [None]


@pytest.mark.parametrize(
    ("changes", "feature"),
    [
        ({"retrieval_strategy": "CONTEXTUAL_HYBRID"}, "CONTEXTUAL_HYBRID"),
        ({"reranker_enabled": True}, "RERANKER_ENABLED"),
        ({"query_expansion_llm": True}, "QUERY_EXPANSION_LLM"),
    ],
)
def test_what_needs_a_language_model_says_so_by_its_setting_and_provider(
    settings: Settings, changes: dict[str, Any], feature: str
) -> None:
    changed = settings.with_changes(**changes)
    with pytest.raises(NeedsLanguageModel) as raised:
        require_language_model(changed, None)
    assert feature in str(raised.value) and changed.chosen_provider in str(raised.value)
    require_language_model(changed, LANGUAGE_MODEL)
    require_language_model(settings, None)
    require_language_model(settings.with_changes(reranker_enabled=True, reranker_base_url="http://127.0.0.1/v1"), None)


def test_another_search_is_what_differs_except_the_selection(settings: Settings) -> None:
    same = ("retrieval_k", settings.retrieval_k)
    asked = (("retrieval_strategy", "BRIDGE"), same, ("kb_top_k", 99), ("retrieval_fusion", "rrf"), ("of_old", 1))
    assert settings.retrieval_fusion != "rrf"
    assert other_search(settings, asked) == (
        ("of_old", 1),
        ("retrieval_fusion", "rrf"),
        ("retrieval_strategy", "BRIDGE"),
    )
    changed = with_search(settings, (("retrieval_strategy", "BRIDGE"), ("retrieval_k", 7)))
    assert (changed.retrieval_strategy, changed.retrieval_k) == ("BRIDGE", 7)
    assert with_search(settings, ()) is settings
    with pytest.raises(InvalidSetting):
        with_search(settings, (("retrieval_k", -1),))


def test_closeness_is_that_of_the_sentence_or_of_the_closest_one_inside_a_text(settings: Settings) -> None:
    text = "# Taller\n\nEl torno pesa mucho. Se abre el lunes.\n\n# Dietas\n\nLa dieta es de 48 euros."
    chunks = chunk_document(Document("kb", "kb", text))
    changed = settings.with_changes(retrieval_strategy="HYBRID", kb_top_k=1)
    pipeline = last(growing_pipeline(chunks, "es", changed, FakeEmbedder))
    [trace] = pipeline.retrieve(["¿cuánto pesa el torno?"])
    measure = sentence_closeness(trace, pipeline.index)
    assert measure is not None
    vector = FakeEmbedder().vector

    def cosine(said: str) -> float:
        return float(vector(said) @ vector(trace.query))

    heavy, opens = "El torno pesa mucho.", "Se abre el lunes."
    both, neither = f"{opens} {heavy}", "Nada."
    expected = [cosine(heavy), cosine(opens), max(cosine(heavy), cosine(opens)), min(cosine(heavy), cosine(opens))]
    assert list(measure([heavy, opens, both, neither])) == pytest.approx(expected, abs=1e-5)
    assert sentence_closeness(replace(trace, chunks_final=()), pipeline.index) is None
    assert sentence_closeness(replace(trace, query_vector=None), pipeline.index) is None
    of_corpus = pipeline_of(settings, FakeEmbedder(), retrieval_strategy="HYBRID")
    assert sentence_closeness(of_corpus.retrieve(["río"])[0], of_corpus.index) is None


def test_cosines_of_windows_are_computed_once_per_question_and_index(settings: Settings) -> None:
    chunks = chunk_document(Document("kb", "kb", "# Taller\n\nEl torno pesa. Se abre.\n\n# Dietas\n\nSon 48 euros."))
    changed = settings.with_changes(retrieval_strategy="HYBRID")
    pipeline = last(growing_pipeline(chunks, "es", changed, FakeEmbedder))
    other = last(growing_pipeline(chunks[:1], "es", changed, FakeEmbedder))
    one, two = pipeline.retrieve(["torno", "dietas"])
    first = window_cosines(one, pipeline.index.dense)
    assert first is not None and first is window_cosines(one, pipeline.index.dense)
    second = window_cosines(two, pipeline.index.dense)
    assert second is not None and second.tolist() != first.tolist()
    of_other = window_cosines(two, other.index.dense)
    assert of_other is not None and len(of_other) < len(second)
    assert window_cosines(replace(one, query_vector=None), pipeline.index.dense) is None
    assert window_cosines(one, None) is None
