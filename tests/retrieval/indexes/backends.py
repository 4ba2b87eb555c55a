"""The places where indexes can be, behind one interface, for the contract that all of them keep."""

from __future__ import annotations

import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

import httpx

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.retrieval.indexes import chroma, chroma_connection
from chatbot_mvp.retrieval.indexes.corpus import forget_index, growing_index
from chatbot_mvp.retrieval.indexes.dense import VectorStore
from chatbot_mvp.retrieval.indexes.keeping import keep_vectors
from chatbot_mvp.retrieval.indexes.lexical import LexicalSearch
from chatbot_mvp.retrieval.indexes.vector_store import VectorStoreChoice
from chatbot_mvp.types import Chunk, ProgressCallback, ignore_progress, last
from tests.loopback import free_port
from tests.waiting import wait_until


class Backend(ABC):
    """Indexes of words and of vectors, and the servers that they need."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @abstractmethod
    def choice(self, owner: str) -> VectorStoreChoice:
        """The store of an owner's indexes as the pipeline configures it."""

    def keep(self, owner: str, terms: LexicalSearch, vectors: VectorStore) -> None:
        """Delete what an owner has beside these."""
        choice = self.choice(owner)
        client = chroma.chroma_client(choice.folder, choice.host)
        keep_vectors(client, owner, [vectors] if isinstance(vectors, chroma.ChromaVectors) else [])
        choice.indexes.keep(owner, [terms], [vectors])

    @abstractmethod
    def delete(self, chunks: Sequence[Chunk], owner: str) -> None:
        """Delete all of an owner's indexes."""

    def terms(self, chunks: Sequence[Chunk], owner: str, progress: ProgressCallback = ignore_progress) -> LexicalSearch:
        """Build or open the inverted index of an owner's chunks."""
        cache = self.folder / "cache"
        return last(growing_index(chunks, "en", cache, None, progress, store=self.choice(owner))).lexical

    def vectors(self, matrix: Vectors, owner: str, progress: ProgressCallback = ignore_progress) -> VectorStore:
        """Build or open the vectors of an owner."""
        return self.choice(owner).make(matrix, "model", progress)

    def restart(self) -> None:
        """End the server, if there is one, and start it again. This process forgets its connections."""
        chroma_connection._clients.clear()

    def stop(self) -> None:  # noqa: B027 - files need no server
        """End the server, if there is one."""


class Local(Backend):
    """Tantivy and ChromaDB, both in files."""

    def choice(self, owner: str) -> VectorStoreChoice:
        return VectorStoreChoice("chroma", owner, self.folder / "chroma")

    def delete(self, chunks: Sequence[Chunk], owner: str) -> None:
        chroma.delete_collections(chroma.chroma_client(self.folder / "chroma"), owner)
        forget_index(chunks, "en", self.folder / "cache", None, owner)


class ChromaServer(Local):
    """Tantivy in files, vectors on a ChromaDB server."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._port = free_port()
        self._start()

    def choice(self, owner: str) -> VectorStoreChoice:
        return VectorStoreChoice("chroma", owner, self.folder / "chroma", f"127.0.0.1:{self._port}")

    def delete(self, chunks: Sequence[Chunk], owner: str) -> None:
        chroma.delete_collections(chroma.chroma_client(self.folder / "chroma", f"127.0.0.1:{self._port}"), owner)
        forget_index(chunks, "en", self.folder / "cache", None, owner)

    def restart(self) -> None:
        self.stop()
        self._start()
        super().restart()

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)

    def _start(self) -> None:
        program = str(Path(sys.executable).with_name("chroma"))
        command = [program, "run", "--host", "127.0.0.1", "--port", str(self._port), "--path", str(self.folder / "s")]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self._answers, 30, "the server's heartbeat", 0.1)

    def _answers(self) -> bool:
        try:
            return httpx.get(f"http://127.0.0.1:{self._port}/api/v2/heartbeat", timeout=1).is_success
        except httpx.HTTPError:
            return False
