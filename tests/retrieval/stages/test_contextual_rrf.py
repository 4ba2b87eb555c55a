"""CONTEXTUAL_RRF: what the two searches find is merged by rank and stays as it is merged, in a knowledge base too."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.retrieval.indexes.chroma import ChromaVectors
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings
from chatbot_mvp.types import Document, last
from tests.fakes import FakeEmbedder, FakeLanguageModel, chunks_of, fake_app

QUESTIONS = ["¿Cuántos días de vacaciones tengo?", "teletrabajo", "¿Quién aprueba los gastos de viaje?"]


def pipeline_of(settings: Settings, kb: bool, **changes: Any) -> tuple[Pipeline, FakeLanguageModel]:
    path = PROJECT_ROOT / "data" / "samples" / "kb" / "politica_empresa.md"
    text = path.read_text("utf-8")[:20_000]
    chunks = chunk_document(Document("d", "Manual", text)) if kb else chunks_of(*text.split("\n\n"))
    fake = FakeLanguageModel(lambda _: "Parte del manual.")
    changed = settings.with_changes(retrieval_strategy="CONTEXTUAL_RRF", **changes)
    own = {"kb_id": "kb"} if kb else {}
    return last(growing_pipeline(chunks, "es", changed, FakeEmbedder, language_model=fake.model, **own)), fake


def by_rank(trace: RetrievalTrace, k: int, weights: dict[str, float]) -> list[str]:
    """The merged order by hand: sum of weight / (k + rank), ties by id."""
    scores: dict[str, float] = defaultdict(float)
    for source, hits in trace.candidates.items():
        for rank, hit in enumerate(hits, 1):
            scores[hit.chunk.chunk_id] += weights[source] / (k + rank)
    return sorted(scores, key=lambda chunk_id: (-scores[chunk_id], chunk_id))


@pytest.mark.parametrize("kb", [False, True], ids=["corpus", "knowledge base"])
@pytest.mark.parametrize("fusion", ["rrf", "weighted"])
def test_the_ranking_is_the_merged_one_whatever_the_setting_of_the_fusion(
    settings: Settings, kb: bool, fusion: str
) -> None:
    knobs = {"retrieval_rrf_k": 60, "retrieval_bm25_weight": 0.5, "retrieval_vector_weight": 0.5}
    pipeline, _ = pipeline_of(settings, kb, retrieval_fusion=fusion, **knobs)
    for trace in pipeline.retrieve(QUESTIONS):
        assert [record.stage for record in trace.records[:3]] == ["lexical", "dense", "fusion"]
        assert not {"kb_score", "late_interaction", "expansion"} & {record.stage for record in trace.records}
        assert set(trace.candidates) == {"bm25", "vector"}
        merged = by_rank(trace, 60, {"bm25": 0.5, "vector": 0.5})
        assert [hit.chunk.chunk_id for hit in trace.hits] == merged
        chosen = [hit.chunk.chunk_id for hit in trace.chunks_final if hit.chunk.chunk_id in merged[:5]]
        assert chosen == [chunk_id for chunk_id in merged if chunk_id in chosen]
        assert trace.evidence is not None


def test_a_knowledge_bases_vectors_are_searched_in_chromadb(settings: Settings) -> None:
    pipeline, _ = pipeline_of(settings, True, vector_store="chroma")
    assert pipeline.index.dense is not None
    assert isinstance(pipeline.index.dense.vectors, ChromaVectors)
    [trace] = pipeline.retrieve(QUESTIONS[:1])
    assert len(trace.candidates["vector"]) == len(pipeline.index.chunks), "fewer chunks than RETRIEVAL_PRE_FUSION_K"


def test_each_chunk_has_a_context_by_the_model(settings: Settings) -> None:
    pipeline, fake = pipeline_of(settings, False)
    assert len(fake.prompts) == len({chunk.text for chunk in pipeline.index.chunks})
    assert {hit.chunk.text.count("Parte del manual.") for hit in pipeline.retrieve(QUESTIONS[:1])[0].hits} == {0}
    assert len(pipeline.index.lexical.search("parte del manual", 1_000)) == len(pipeline.index.chunks)


def test_the_chat_answers_with_it(settings: Settings) -> None:
    fake = FakeLanguageModel(lambda _: "Parte del manual.")
    changed = settings.with_changes(retrieval_strategy="CONTEXTUAL_RRF")
    app = fake_app(changed, lambda _: FakeEmbedder(), DemoModel, lambda *_: fake.model)
    pipeline = app.kbs.pipeline(app.kbs.add_sample().kb_id)
    [trace] = pipeline.retrieve(QUESTIONS[:1])
    assert trace.chunks_final
    assert trace.evidence is not None
