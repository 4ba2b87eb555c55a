"""INDEX_ENGINE=milvus."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.retrieval.indexes.dense import VectorStore, vectors_key
from chatbot_mvp.retrieval.indexes.engines import IndexEngine
from chatbot_mvp.retrieval.indexes.lexical import LexicalSearch
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, ProgressCallback
from chatbot_mvp.wings.milvus.client import MilvusServer, connect, delete_rows, milvus_server
from chatbot_mvp.wings.milvus.terms import MilvusTerms, vocabulary_of
from chatbot_mvp.wings.milvus.vectors import MilvusVectors

_DATA_SETS = "corpus"
"""Owner of the rows of data sets."""


@dataclass(frozen=True, slots=True)
class MilvusIndexes:
    """The indexes on one server; each call but the first uses the same connection.

    Raises:
        MissingPackage, MilvusError (index_credentials_refused, index_engine_unavailable): from every method.
    """

    server: MilvusServer

    def words(
        self, chunks: Sequence[Chunk], analyzer: Analyzer, owner: str, folder: Path, progress: ProgressCallback
    ) -> LexicalSearch:
        return MilvusTerms.build(connect(self.server), chunks, analyzer, owner or _DATA_SETS, folder.name, progress)

    def vectors(self, matrix: Vectors, model_id: str, owner: str, progress: ProgressCallback) -> VectorStore:
        digest = vectors_key(model_id, matrix)
        return MilvusVectors.build(connect(self.server), matrix, owner or _DATA_SETS, digest, progress)

    def keep(self, owner: str, words: Sequence[LexicalSearch], vectors: Sequence[VectorStore]) -> None:
        of_words = [one.corpus for one in words if isinstance(one, MilvusTerms)]
        of_vectors = [one.corpus for one in vectors if isinstance(one, MilvusVectors)]
        vocabularies = map(vocabulary_of, of_words)
        delete_rows(connect(self.server), owner, [*of_words, *vocabularies, *of_vectors])

    def delete(self, owner: str) -> None:
        delete_rows(connect(self.server), owner)


ENGINE = IndexEngine("milvus", lambda settings: MilvusIndexes(milvus_server(settings)))
