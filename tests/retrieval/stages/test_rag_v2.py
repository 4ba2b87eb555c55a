"""RAG_V2: alpha alone ranks the candidates, in a knowledge base too; the evidence is the overlap of keywords."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from chatbot_mvp.chat.quality import debug_values
from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.retrieval.stages.rag_v2 import AdaptiveFusion, stepped_alpha
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk, Document, last
from tests.fakes import FakeEmbedder, FakeLanguageModel, chunks_of

OWN = {
    "retrieval_strategy": "RAG_V2",
    "query_expansion_llm": True,
    "retrieval_pre_fusion_k": 15,
    "reranker_enabled": True,
    "reranker_candidates": 15,
    "reranker_top_n": 5,
    "kb_top_k": 5,
    "kb_max_context_chars": 6_000,
}
SECTIONS = [
    f"## Máquina {n}\n\nLa máquina virtual número {n} se apaga con la orden stop{n}. Su disco es de {n} gigas."
    for n in range(1, 31)
]
KB = chunk_document(Document("kb", "kb", "# Guía de máquinas\n\n" + "\n\n".join(SECTIONS)))
QUESTION = "¿Cómo apago la máquina 7?"  # five words: no expansion


def pipeline_of(
    settings: Settings,
    chunks: list[Chunk],
    kb_id: str = "kb",
    reply: Any = lambda _: "5",
    embedder: FakeEmbedder | None = None,
    **changes: Any,
) -> tuple[Pipeline, FakeLanguageModel]:
    fake = FakeLanguageModel(reply)
    found = embedder or FakeEmbedder()
    changed = settings.with_changes(**{**OWN, **changes})
    made = growing_pipeline(chunks, "es", changed, lambda: found, kb_id=kb_id, language_model=fake.model)
    return last(made), fake


@pytest.mark.parametrize(("words", "alpha"), [(1, 0.4), (4, 0.4), (5, 0.6), (10, 0.6), (11, 0.75), (40, 0.75)])
def test_alpha_follows_the_number_of_words(words: int, alpha: float) -> None:
    assert stepped_alpha(" ".join(["palabra"] * words)) == alpha


@pytest.mark.parametrize("kb_id", ["kb", ""])
def test_nothing_but_the_fusion_and_the_reranker_ranks_in_a_knowledge_base_and_in_a_data_set(
    settings: Settings, kb_id: str
) -> None:
    chunks = KB if kb_id else chunks_of(*SECTIONS)
    [trace] = pipeline_of(settings, chunks, kb_id)[0].retrieve([QUESTION])
    assert [record.stage for record in trace.records] == [
        *("llm_expansion", "lexical", "dense", "adaptive_fusion", "rerank", "selection", "keyword_overlap")
    ]


@pytest.mark.parametrize(
    ("question", "best", "scores"),
    [
        # alpha 0.4: a = 0.6 x 1 + 0.4 x 0; b = 0.6 x 0.5 + 0.4 x 0.5; c = 0.6 x 0 + 0.4 x 1
        ("orden stop", "a", {"a": 0.6, "b": 0.5, "c": 0.4}),
        # alpha 0.75: a = 0.25 x 1; b = 0.25 x 0.5 + 0.75 x 0.5; c = 0.75 x 1
        ("una dos tres cuatro cinco seis siete ocho nueve diez once", "c", {"c": 0.75, "b": 0.5, "a": 0.25}),
    ],
)
def test_alpha_decides_which_of_the_same_candidates_is_first(
    settings: Settings, question: str, best: str, scores: dict[str, float]
) -> None:
    one, other, third = (replace(chunk, chunk_id=name) for chunk, name in zip(chunks_of(*"xyz"), "abc", strict=True))
    pipeline, _ = pipeline_of(settings, [one, other, third], "")
    stage = AdaptiveFusion(pipeline.index, pipeline.config)
    found = {
        "bm25": (Hit(one, 9.0), Hit(other, 6.0), Hit(third, 3.0)),
        "vector": (Hit(third, 0.9), Hit(other, 0.85), Hit(one, 0.8)),
    }
    trace = stage.run(RetrievalTrace(question, candidates=found))
    assert trace.hits[0].chunk.chunk_id == best
    assert {hit.chunk.chunk_id: hit.score for hit in trace.hits} == pytest.approx(scores)


def test_the_parts_of_a_score_are_the_two_searches_and_add_up_to_it(settings: Settings) -> None:
    [trace] = pipeline_of(settings, KB, reranker_enabled=False)[0].retrieve([QUESTION])
    for shown in debug_values(trace)["candidates"]:
        assert shown["parts"].keys() <= {"bm25_norm", "vector_norm"}
        assert sum(shown["parts"].values()) == pytest.approx(shown["score"], abs=2e-4)


def test_a_list_shorter_than_it_may_be_is_scaled_from_zero(settings: Settings) -> None:
    chunks = chunks_of(*"wxyz")
    pipeline, _ = pipeline_of(settings, chunks, "")
    trace = RetrievalTrace("una pregunta", candidates={"bm25": (Hit(chunks[0], 8.0), Hit(chunks[1], 6.0))})
    found = AdaptiveFusion(pipeline.index, pipeline.config).run(trace).hits
    assert [hit.score for hit in found] == pytest.approx([0.6 * 1, 0.6 * 0.75])


@pytest.mark.parametrize("kb_id", ["kb", ""])
def test_fifteen_of_each_search_become_fifteen_that_the_model_rates_and_five_that_stay(
    settings: Settings, kb_id: str
) -> None:
    pipeline, fake = pipeline_of(settings, KB if kb_id else chunks_of(*SECTIONS), kb_id)
    [trace] = pipeline.retrieve([QUESTION])
    assert {name: len(hits) for name, hits in trace.candidates.items()} == {"bm25": 15, "vector": 15}
    assert len(trace.retrieved) == len(fake.prompts) == 15
    assert len(trace.hits) == len(trace.chunks_final) == 5


def test_the_final_score_is_three_tenths_fusion_and_seven_tenths_rating(settings: Settings) -> None:
    pipeline, _ = pipeline_of(settings, KB, reply=lambda prompt: "9" if "número 12 " in prompt else "1")
    [trace] = pipeline.retrieve([QUESTION])
    best = max(hit.score for hit in trace.retrieved)
    before = {hit.chunk.chunk_id: hit.score for hit in trace.retrieved}
    assert trace.hits[0].chunk.section.endswith("Máquina 12")
    for hit in trace.hits:
        rated = 0.9 if hit.chunk.section.endswith("Máquina 12") else 0.1
        assert hit.score == pytest.approx(0.3 * before[hit.chunk.chunk_id] / best + 0.7 * rated)


def test_both_searches_get_the_words_of_the_model_and_none_of_the_knowledge_base(settings: Settings) -> None:
    embedder = FakeEmbedder()
    pipeline, _ = pipeline_of(
        settings, KB, reply=lambda prompt: "detener stop7" if "Consulta" in prompt else "5", embedder=embedder
    )
    [trace] = pipeline.retrieve(["apago máqina"])
    assert trace.expansion_notes == ("llm: detener", "llm: stop7")
    assert trace.query_expanded == "apago máqina detener stop7"
    assert "apago máqina detener stop7" in embedder.embedded
    assert trace.candidates["bm25"][0].chunk.section.endswith("Máquina 7")
    [record] = [record for record in trace.records if record.stage == "adaptive_fusion"]
    assert record.notes["alpha"] == 0.4, "the words of the model do not make a question longer"


@pytest.mark.parametrize(
    ("question", "overlap", "topic"),
    [
        ("¿Qué disco es de 7 gigas?", 1.0, 1.0),
        ("¿Cuál es el disco de Mongolia, Kenia y Nepal?", 0.25, 1.0),
        ("¿Cuál es la capital de Mongolia?", 0.0, 0.0),
        ("¿de la?", 0.0, 0.0),
    ],
)
def test_the_evidence_is_the_share_of_the_keywords_that_the_context_has(
    settings: Settings, question: str, overlap: float, topic: float
) -> None:
    [trace] = pipeline_of(settings, KB)[0].retrieve([question])
    assert trace.evidence == pytest.approx(overlap)
    assert trace.topic == topic


def test_without_any_hit_there_is_no_evidence(settings: Settings) -> None:
    [trace] = pipeline_of(settings, [])[0].retrieve([QUESTION])
    assert (trace.chunks_final, trace.evidence, trace.topic) == ((), 0.0, 0.0)
