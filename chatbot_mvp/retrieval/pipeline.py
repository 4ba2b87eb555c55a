"""The pipeline that answers a chat question and that a benchmark run measures: one class, built in one place."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path

from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.kb.chunking import CHUNKING_VERSION
from chatbot_mvp.retrieval.index import CorpusIndex, build_index
from chatbot_mvp.retrieval.lexical import INDEX_VERSION
from chatbot_mvp.retrieval.stages import RetrievalConfig
from chatbot_mvp.retrieval.strategies import get_strategy
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings import Settings
from chatbot_mvp.text import ANALYSIS_VERSION
from chatbot_mvp.types import Chunk, ProgressCallback, ignore_progress

PIPELINE_VERSION = 2
"""Part of the fingerprint: raise it whenever equal settings would give other results."""


class Pipeline:
    """Runs a strategy's stages over questions. Safe to share between threads."""

    def __init__(self, index: CorpusIndex, config: RetrievalConfig) -> None:
        self.index = index
        self.config = config
        self._stages = [stage(index, config) for stage in get_strategy(config.retrieval_strategy).stages]

    def retrieve(self, queries: Sequence[str]) -> list[RetrievalTrace]:
        """One trace per query, in order. What is found for a query does not depend on the others."""
        traces = [RetrievalTrace(query) for query in queries]
        for stage in self._stages:
            traces = stage.run_batch(traces)
        return traces


def retrieval_config(settings: Settings) -> RetrievalConfig:
    """The settings that a pipeline depends on."""
    return RetrievalConfig(**{field.name: getattr(settings, field.name) for field in fields(RetrievalConfig)})


def fingerprint(config: RetrievalConfig) -> str:
    """12 hex digits that are equal exactly when two pipelines over the same corpus give the same results."""
    strategy = get_strategy(config.retrieval_strategy)
    identity = {
        **asdict(config),
        "stages": [stage.name for stage in strategy.stages],
        "versions": [PIPELINE_VERSION, INDEX_VERSION, ANALYSIS_VERSION, CHUNKING_VERSION],
    }
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()[:12]


def build_pipeline(
    chunks: Sequence[Chunk],
    language: str,
    settings: Settings,
    embedder: Callable[[], Embedder],
    progress: ProgressCallback = ignore_progress,
) -> Pipeline:
    """The one way to a pipeline, for chat and benchmark alike.

    Args:
        embedder: makes the embedding model; called only if the strategy needs vectors.

    Raises:
        UnknownChoice: the strategy is not in the registry.
    """
    config = retrieval_config(settings)
    needs_vectors = get_strategy(config.retrieval_strategy).needs_vectors
    index = build_index(
        chunks,
        language,
        Path(settings.cache_dir),
        embedder if needs_vectors else None,
        settings.embedding_batch_size,
        progress,
    )
    return Pipeline(index, config)
