"""On a Milvus server, too, any changes of its documents leave what a knowledge base built at once has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.random_vectors import RandomTokens, RandomVectors
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.indexes.vector_store import VectorStoreChoice
from chatbot_mvp.wings.milvus.engine import MilvusIndexes
from tests.cases import batches
from tests.retrieval.test_changes_of_vectors import PER_BATCH, Place, check, check_many
from tests.wings.milvus.server import MilvusProcess

pytestmark = pytest.mark.xdist_group("indexes")  # one worker, because starting a server takes seconds


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A server with data of its own, because milvus-lite takes longer the more rows it had."""
    pytest.importorskip("milvus_lite")
    process = MilvusProcess(tmp_path / "milvus")
    process.start()
    indexes = MilvusIndexes(process.server)

    def keep(index: CorpusIndex) -> None:
        assert index.dense is not None
        indexes.keep("kb", [index.lexical], [index.dense.vectors])

    yield Place(lambda owner: VectorStoreChoice("auto", owner, engine=indexes), keep, adds_again=False)
    process.kill()


@pytest.mark.sampled(1)
@pytest.mark.parametrize("embedder", [RandomTokens, RandomVectors])
@pytest.mark.parametrize("batch", batches(252))
def test_words_and_vectors_on_milvus_after_any_changes_are_those_of_one_build(
    tmp_path: Path, place: Place, batch: int, embedder: type[RandomVectors]
) -> None:
    check_many(batch, PER_BATCH, lambda steps, short: check(tmp_path, place, embedder, steps, short))
