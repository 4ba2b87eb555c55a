"""A Milvus server as a place where indexes can be."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from chatbot_mvp.retrieval.indexes.vector_store import VectorStoreChoice
from chatbot_mvp.types import Chunk
from chatbot_mvp.wings.milvus import client
from chatbot_mvp.wings.milvus.engine import MilvusIndexes
from tests.retrieval.indexes.backends import Backend
from tests.wings.milvus.server import TOKEN, MilvusProcess


class Milvus(Backend):
    """Words and vectors on a Milvus server with credentials."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.process = MilvusProcess(folder / "milvus", TOKEN)
        self.process.start()

    def choice(self, owner: str) -> VectorStoreChoice:
        return VectorStoreChoice("auto", owner, self.folder / "chroma", engine=MilvusIndexes(self.process.server))

    def delete(self, chunks: Sequence[Chunk], owner: str) -> None:
        MilvusIndexes(self.process.server).delete(owner)

    def restart(self) -> None:
        self.process.kill()
        self.process.start()
        super().restart()
        client._connections.clear()

    def stop(self) -> None:
        self.process.kill()
