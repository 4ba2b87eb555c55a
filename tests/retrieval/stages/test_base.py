"""Fusion, selection and evidence, each against figures worked out by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex, growing_index
from chatbot_mvp.retrieval.stages.base import Fusion, Selection
from chatbot_mvp.retrieval.stages.evidence import covered_share
from chatbot_mvp.retrieval.trace import PART, Hit, RetrievalTrace
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk, last
from tests.fakes import chunks_of

TEXTS = ["gato perro", "gato luna", "sol mar", "río puente"]
CHUNKS = {name: replace(chunk, chunk_id=name) for name, chunk in zip("abcd", chunks_of(*TEXTS), strict=True)}


@pytest.fixture
def index(tmp_path: Path) -> CorpusIndex:
    return last(growing_index(list(CHUNKS.values()), "es", tmp_path, None))


def hits(signal: str, *found: tuple[str, float]) -> tuple[Hit, ...]:
    return tuple(Hit(CHUNKS[name], score, {signal: score}) for name, score in found)


def fuse(index: CorpusIndex, settings: Settings, **changes: Any) -> RetrievalTrace:
    trace = RetrievalTrace(
        "gato",
        candidates={
            "bm25": hits("bm25", ("a", 9.0), ("b", 5.0), ("c", 1.0)),
            "vector": hits("vector", ("c", 0.9), ("a", 0.8)),
        },
    )
    return Fusion(index, settings.with_changes(retrieval_fusion="rrf", **changes)).run(trace)


def test_fusion_adds_weight_over_k_plus_rank(index: CorpusIndex, settings: Settings) -> None:
    """k = 60, weights 0.5: a = 0.5/61 + 0.5/62, c = 0.5/63 + 0.5/61, b = 0.5/62."""
    fused = fuse(index, settings)
    assert [hit.chunk.chunk_id for hit in fused.hits] == ["a", "c", "b"]
    assert [hit.score for hit in fused.hits] == pytest.approx([0.01626124, 0.01613323, 0.00806452], abs=1e-8)


def test_weights_and_k_move_the_order(index: CorpusIndex, settings: Settings) -> None:
    """k = 1, bm25 0.1, vector 0.9: c = 0.1/4 + 0.9/2 = 0.475, a = 0.1/2 + 0.9/3 = 0.35, b = 0.1/3 = 0.0333."""
    fused = fuse(index, settings, retrieval_rrf_k=1, retrieval_bm25_weight=0.1, retrieval_vector_weight=0.9)
    assert [hit.chunk.chunk_id for hit in fused.hits] == ["c", "a", "b"]
    assert [hit.score for hit in fused.hits] == pytest.approx([0.475, 0.35, 0.1 / 3])


def test_a_fused_hit_keeps_the_signals_of_both_retrievers(index: CorpusIndex, settings: Settings) -> None:
    signals = {
        hit.chunk.chunk_id: {name: value for name, value in hit.signals.items() if not name.startswith(PART)}
        for hit in fuse(index, settings).hits
    }
    assert signals == {"a": {"bm25": 9.0, "vector": 0.8}, "b": {"bm25": 5.0}, "c": {"bm25": 1.0, "vector": 0.9}}


def test_equal_fused_scores_are_ordered_by_chunk_id(index: CorpusIndex, settings: Settings) -> None:
    trace = RetrievalTrace("x", candidates={"bm25": hits("bm25", ("b", 2.0)), "vector": hits("vector", ("a", 0.5))})
    fused = Fusion(index, settings.with_changes(retrieval_fusion="rrf")).run(trace)
    assert [hit.chunk.chunk_id for hit in fused.hits] == ["a", "b"]


def test_a_lone_candidate_of_the_vectors_counts_in_full(index: CorpusIndex, settings: Settings) -> None:
    """One word: 0.6 for the keywords, 0.4 for the vectors."""
    trace = RetrievalTrace("x", candidates={"bm25": hits("bm25", ("b", 2.0)), "vector": hits("vector", ("a", 0.5))})
    fused = Fusion(index, settings.with_changes(retrieval_fusion="weighted")).run(trace)
    assert [(hit.chunk.chunk_id, hit.score) for hit in fused.hits] == [("b", 0.6), ("a", pytest.approx(0.4))]


def select(index: CorpusIndex, settings: Settings, found: list[Hit], **changes: Any) -> RetrievalTrace:
    return Selection(index, settings.model_copy(update=changes)).run(RetrievalTrace("x", hits=tuple(found)))


def sized(*hits_: tuple[int, float]) -> list[Hit]:
    """Hits with texts of the given lengths and the given scores, ids h0, h1, …"""
    return [Hit(Chunk(f"h{n}", f"d{n}", "", "x" * length, 0, length), score) for n, (length, score) in enumerate(hits_)]


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({"kb_top_k": 2}, ["h0", "h1"]),
        ({"kb_top_k": 50}, ["h0", "h1", "h2", "h3"]),
        ({"kb_min_score": 0.5}, ["h0", "h1"]),
        ({"kb_min_score": 0.25}, ["h0", "h1", "h2"]),
        ({"kb_min_score": 1.0}, ["h0"]),
        # 400 + 300 + 250 = 950 fit; h1 of 300 would make 1000 with h3.
        ({"kb_max_context_chars": 950}, ["h0", "h1", "h2"]),
        # h1 does not fit beside h0 (700 > 650), but h2 does.
        ({"kb_max_context_chars": 650}, ["h0", "h2"]),
        # The best one is given even if it alone is over the budget.
        ({"kb_max_context_chars": 10}, ["h0"]),
    ],
)
def test_selection_obeys_top_k_least_score_and_budget(
    index: CorpusIndex, settings: Settings, changes: dict[str, Any], kept: list[str]
) -> None:
    """Four hits of 400, 300, 250 and 60 characters that score 8, 4, 2 and 1."""
    trace = select(index, settings, sized((400, 8.0), (300, 4.0), (250, 2.0), (60, 1.0)), **changes)
    assert [hit.chunk.chunk_id for hit in trace.chunks_final] == kept
    assert trace.context_chars_used == sum(len(hit.chunk.text) for hit in trace.chunks_final)
    assert trace.context_chars_budget == changes.get("kb_max_context_chars", 4_000)


def test_selection_of_nothing_is_nothing(index: CorpusIndex, settings: Settings) -> None:
    assert select(index, settings, []).chunks_final == ()


def found(*names: str) -> list[Hit]:
    return [Hit(CHUNKS[name], 1.0) for name in names]


def test_evidence_is_one_when_a_passage_has_every_term(index: CorpusIndex) -> None:
    score, notes = covered_share("¿El gato y los perros?", found("c", "a"), index)
    assert score == pytest.approx(1.0)
    assert notes == {"terms": 2, "missing": []}


def test_evidence_is_the_idf_weighted_share_of_the_best_single_passage(index: CorpusIndex) -> None:
    """N = 4. "perr" in 1 chunk: ln(1 + 3.5/1.5) = 1.20397; "lun" the same; "gat" in 2: ln(1 + 2.5/2.5) = 0.69315.

    Chunk a has gat and perr, chunk b gat and lun: 1.89712 of 3.10110, whichever it is; they do not add up.
    """
    weight_gat, weight_one = math.log(2), math.log(1 + 3.5 / 1.5)
    score, notes = covered_share("gato perro luna", found("a", "b"), index)
    assert score == pytest.approx((weight_gat + weight_one) / (weight_gat + 2 * weight_one))
    assert notes == {"terms": 3, "missing": ["lun"]}


def test_a_term_that_the_corpus_does_not_have_weighs_the_most(index: CorpusIndex) -> None:
    """ "submarin" in no chunk: ln(1 + 4.5/0.5) = ln 10 against ln 2 of "gat"."""
    score, notes = covered_share("gato submarino", found("a"), index)
    assert score == pytest.approx(math.log(2) / (math.log(2) + math.log(10)))
    assert notes["missing"] == ["submarin"]


@pytest.mark.parametrize(
    ("query", "names"),
    [("fórmula química", "abc"), ("gato perro", ""), ("", "abc"), ("el la de", "abc"), ("río puente", "abc")],
    ids=["another topic", "no hits", "empty", "stop words only", "passages of another topic"],
)
def test_evidence_is_zero_without_a_shared_term(index: CorpusIndex, query: str, names: str) -> None:
    assert covered_share(query, found(*names), index)[0] == 0.0


def test_only_the_first_three_passages_count(index: CorpusIndex) -> None:
    assert covered_share("río puente", found("a", "b", "c", "d"), index)[0] == 0.0
    assert covered_share("río puente", found("a", "b", "d", "c"), index)[0] == pytest.approx(1.0)
