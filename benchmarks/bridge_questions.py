"""The questions of a data set with what does not depend on the weights of the round that is fitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.listwise import Array
from chatbot_mvp.app import build_app
from chatbot_mvp.datasets import Dataset, load_dataset
from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.retrieval.bridge.second import SecondRound
from chatbot_mvp.retrieval.bridge.walk import VECTOR_CANDIDATES, BridgeWalk, Cosine, Prepared, Question, Weights
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex, growing_index
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.types import last

Model = dict[str, Any]
"""Weights of "linear" and "step", each by the name of the feature; under "first" those of a first round."""


@dataclass
class Questions:
    """The questions of a data set with everything that does not depend on weights."""

    dataset: Dataset
    index: CorpusIndex
    walk: BridgeWalk
    questions: list[Question]
    states: list[Prepared]
    gold: list[Array]


def prepare(folder: Path, cache_dir: Path, vectors: bool) -> Questions:
    dataset = load_dataset(folder)
    chunks = [passage_chunk(document) for document in dataset.documents]
    app = build_app(load_settings(data_dir=cache_dir.parent))
    index = last(
        growing_index(
            chunks,
            dataset.language,
            cache_dir,
            (lambda: app.embedders.get(app.settings.embedding_model_name)) if vectors else None,
            with_links=True,
        )
    )
    assert index.graph is not None
    walk = BridgeWalk(index.graph, index.analyzer, None)
    questions = [
        Question(query.text, *dense_side(index, query.text)) if vectors else Question(query.text)
        for query in dataset.queries
    ]
    return with_states(Questions(dataset, index, walk, questions, [], []))


def with_states(data: Questions) -> Questions:
    """Compute ``states`` and ``gold`` of ``questions``."""
    row_of = {document.doc_id: row for row, document in enumerate(data.dataset.documents)}
    states, gold = [], []
    for query, question in zip(data.dataset.queries, data.questions, strict=True):
        [prepared] = data.walk.prepare([question])
        assert prepared is not None, f"question {query.query_id!r} has no candidates"
        states.append(prepared)
        wanted = [row_of[doc_id] for doc_id, score in data.dataset.qrels.get(query.query_id, {}).items() if score > 0]
        gold.append(np.isin(prepared.candidates.rows, wanted))
    return replace(data, states=states, gold=gold)


def second_round(data: Questions, first: Model) -> Questions:
    """Return the questions with the results of the second queries that the weights of a first round lead to."""
    graph, analyzer, side = data.index.graph, data.index.analyzer, data.index.dense
    assert graph is not None and side is not None

    def embed(texts: Sequence[str]) -> Array:
        assert side is not None
        return side.cache.embed(side.embedder, texts, "query")

    second = SecondRound(graph, analyzer, data.index.chunks, embed, side.vectors)
    walk = BridgeWalk(graph, analyzer, Weights(first["linear"], first["step"]))
    return with_states(replace(data, questions=second.asked(walk, data.questions)))


def dense_side(index: CorpusIndex, text: str) -> tuple[Array, Cosine]:
    side = index.dense
    assert side is not None
    vector = side.cache.embed(side.embedder, [text], "query")
    nearest = np.array([row for row, _ in side.vectors.search(vector, VECTOR_CANDIDATES)[0]], np.int64)
    return nearest, lambda rows: side.vectors.similarities(vector[0], rows)
