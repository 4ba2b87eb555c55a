"""The stage of the walk: what it hands to the walk, and what the trace shows of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.retrieval.bridge.second import SecondRound
from chatbot_mvp.retrieval.bridge.walk import BridgeWalk, Question, load_weights
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.retrieval.stages.bridge import Bridge
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Chunk, Document, last
from tests.fakes import FakeEmbedder

NAMES = ["Ada Vidarte", "Kestrel Bridge", "Heron Bridge", "Sauceda", "Orzama"]
CHUNKS = [
    Chunk(f"d{n}", f"d{n}", title, text, 0, len(text))
    for n, (title, text) in enumerate(
        (f"{NAMES[n % 5]} {n}" if n >= 5 else NAMES[n], f"It stands near {NAMES[(n * 3 + 1) % 5]}. Bread number {n}.")
        for n in range(90)
    )
]
QUESTIONS = ["Which bread stands near the Kestrel Bridge?", "Who is Ada Vidarte?", "", "bread 7"]


def pipeline(settings: Settings, strategy: str, chunks: list[Chunk] = CHUNKS, **changes: Any) -> Pipeline:
    changed = settings.with_changes(retrieval_strategy=strategy, **changes)
    return last(growing_pipeline(chunks, "en", changed, FakeEmbedder))


@pytest.mark.parametrize("strategy", ["BRIDGE", "BRIDGE_HYBRID"])
def test_hits_are_the_ranking_of_the_walk_with_the_weights_for_its_features(settings: Settings, strategy: str) -> None:
    made = pipeline(settings, strategy)
    index, dense = made.index, made.index.dense
    assert index.graph is not None
    walk = BridgeWalk(index.graph, index.analyzer, load_weights(strategy))
    questions = [Question(text) for text in QUESTIONS]
    if dense is not None:
        vectors = [FakeEmbedder().vector(text) for text in QUESTIONS]
        near = dense.vectors.search(np.array(vectors), 60)
        questions = [
            Question(text, np.array([row for row, _ in found]), lambda rows, v=v: dense.vectors.similarities(v, rows))
            for text, found, v in zip(QUESTIONS, near, vectors, strict=True)
        ]
        second = SecondRound(
            index.graph, index.analyzer, CHUNKS, lambda texts: FakeEmbedder().embed(texts, "query"), dense.vectors
        )
        questions = second.asked(walk, questions)
    for trace, ranking in zip(made.retrieve(QUESTIONS), walk.rank(questions, 20), strict=True):
        assert [hit.chunk for hit in trace.hits] == [CHUNKS[row] for row in ranking.rows.tolist()]
        assert [hit.score for hit in trace.hits] == pytest.approx(ranking.relative.tolist())
        for at, hit in enumerate(trace.hits):
            assert hit.signals == pytest.approx({name: of[at] for name, of in ranking.signals.items()})
        [record] = [record for record in trace.records if record.stage == Bridge.name]
        assert record.notes == {"candidates": ranking.candidates, "added_by_names_and_links": ranking.added}
        shown = [(hit.chunk, hit.signals["bm25"], hit.signals["bm25_rank"]) for hit in trace.candidates["bm25"]]
        rows, scores = ranking.found
        found = zip(rows.tolist()[:10], scores.tolist(), range(1, 11), strict=False)
        assert shown == [(CHUNKS[row], score, rank) for row, score, rank in found]


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({"retrieval_k": 7, "kb_top_k": 3}, 7),
        ({"retrieval_k": 7, "kb_top_k": 9}, 9),
        ({"retrieval_k": 7, "kb_top_k": 3, "reranker_candidates": 12, "reranker_top_n": 5}, 7),
    ],
)
def test_as_many_hits_are_kept_as_a_later_stage_reads(settings: Settings, changes: dict[str, Any], kept: int) -> None:
    [trace] = pipeline(settings, "BRIDGE", **changes).retrieve(QUESTIONS[:1])
    assert len(trace.hits) == kept


def test_a_reranker_gets_its_candidates(settings: Settings) -> None:
    made = pipeline(settings, "BRIDGE", retrieval_k=7, kb_top_k=3)
    config = made.config.with_changes(reranker_enabled=True, reranker_candidates=12, reranker_top_n=5)
    assert len(Bridge(made.index, config).run(RetrievalTrace(QUESTIONS[0])).hits) == 12


def test_a_batch_shares_the_time_and_gives_what_each_question_gives_alone(settings: Settings) -> None:
    made = pipeline(settings, "BRIDGE")
    stage = Bridge(made.index, made.config)
    traces = [RetrievalTrace(text) for text in QUESTIONS]
    together, alone = stage.run_batch(traces), [stage.run(trace) for trace in traces]
    assert [trace.hits for trace in together] == [trace.hits for trace in alone]
    seconds = {trace.records[-1].seconds for trace in together}
    assert len(seconds) == 1
    assert 0 < seconds.pop() < 10
    assert stage.run_batch([]) == []


def test_in_a_book_the_words_alone_find_candidates_and_an_expansion_counts(settings: Settings) -> None:
    text = "\n\n".join(f"# Sección {n}\n\nLa pieza número {n}.\n\nEl torno {n} pesa mucho." for n in range(100))
    chunks = chunk_document(Document("kb", "kb", text))
    made = pipeline(settings, "BRIDGE", chunks)
    assert made.index.graph is None
    stage = Bridge(made.index, made.config)
    found = stage.run(RetrievalTrace("torno"))
    wanted = made.index.lexical.search("torno", 80)
    assert [hit.chunk for hit in found.hits] == [made.index.chunks[row] for row, _ in wanted]
    assert found.records[-1].notes == {"found": 80}
    assert stage.run(RetrievalTrace("nada")).hits == ()
    assert len(stage.run(RetrievalTrace("nada", query_expanded="nada torno")).hits) == 80
