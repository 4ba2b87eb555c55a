"""INDEX_ENGINE: what keeps the indexes of words and, with VECTOR_STORE=auto, of vectors. Each engine is one row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Protocol

from filelock import FileLock

from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.plugins.registry import Registry
from chatbot_mvp.retrieval.indexes.array_bm25 import ArrayIndex
from chatbot_mvp.retrieval.indexes.chroma import chroma_vectors
from chatbot_mvp.retrieval.indexes.dense import ExactVectors, VectorStore
from chatbot_mvp.retrieval.indexes.lexical import LexicalIndex, LexicalSearch
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.files import make_folder
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, ProgressCallback


class Indexes(Protocol):
    """The indexes that an engine keeps under one configuration.

    Hashable; equal objects keep the same indexes. Safe to share between threads. An engine that cannot be used raises
    a ``ConfigurationError`` of its own.
    """

    def words(
        self, chunks: Sequence[Chunk], analyzer: Analyzer, owner: str, folder: Path, progress: ProgressCallback
    ) -> LexicalSearch:
        """Open the inverted index of ``chunks``, and build it first if it is not complete.

        Args:
            owner: id of a knowledge base; "" for a data set.
            folder: place for files. Its name identifies chunks and analyser: equal names mean equal indexes.
            progress: called in the phase "index"; may raise to stop, then the next call builds the index again.
        """

    def vectors(self, matrix: Vectors, model_id: str, owner: str, progress: ProgressCallback) -> VectorStore:
        """Open what searches ``matrix``, and build it first if it is not complete.

        Args:
            matrix: shape (rows, dimensions), rows of unit length; at least one row.
            model_id: id of the embedding model; ``dense.vectors_key`` makes one key of both.
            owner, progress: as for ``words``.
        """

    def keep(self, owner: str, words: Sequence[LexicalSearch], vectors: Sequence[VectorStore]) -> None:
        """Delete what is kept of a knowledge base outside of the data folder and of ChromaDB, except some versions.

        Args:
            words, vectors: what this engine gave for the versions that stay; objects of other engines are ignored.

        Raises:
            ConfigurationError: some of it may be left; the call is made again.
        """

    def delete(self, owner: str) -> None:
        """Delete what is kept of a knowledge base outside of the data folder and of ChromaDB.

        Raises:
            ConfigurationError: some of it may be left; the call is made again.
        """


@dataclass(frozen=True, slots=True)
class LocalIndexes:
    """Words in files of the data folder; vectors of knowledge bases in ChromaDB, those of data sets in memory."""

    chroma_folder: Path = Path()
    """Folder of ChromaDB's files; unused with a server."""
    chroma_host: str = ""
    """"host:port" of a ChromaDB server; "" for files in ``chroma_folder``."""

    def words(
        self, chunks: Sequence[Chunk], analyzer: Analyzer, owner: str, folder: Path, progress: ProgressCallback
    ) -> LexicalSearch:
        make_folder(folder.parent)
        index = words_engine()
        if (found := index.open(folder, analyzer)) is not None:
            return found
        # If two processes build the same corpus, the second waits and then finds the index complete.
        with FileLock(f"{folder}.lock"):
            return index.open(folder, analyzer) or index.build(chunks, analyzer, folder, progress)

    def vectors(self, matrix: Vectors, model_id: str, owner: str, progress: ProgressCallback) -> VectorStore:
        if not owner:
            return ExactVectors(matrix)
        return chroma_vectors(self.chroma_folder, self.chroma_host, matrix, model_id, owner, progress)

    def keep(self, owner: str, words: Sequence[LexicalSearch], vectors: Sequence[VectorStore]) -> None:
        """There is nothing else."""

    def delete(self, owner: str) -> None:
        """There is nothing else: the files go with ``corpus.forget_index``."""


@dataclass(frozen=True, slots=True)
class IndexEngine:
    """A value of INDEX_ENGINE."""

    name: str
    open: Callable[[Settings], Indexes]
    """Returns the indexes that the settings configure, without a request. Raises ConfigurationError."""
    in_files: bool = False
    """Whether the index of words is in files of this machine, so that a plan can look for it without a request."""


LOCAL = IndexEngine("local", lambda settings: LocalIndexes(settings.chroma_dir, settings.chroma_host), in_files=True)

INDEX_ENGINES: Mapping[str, IndexEngine] = Registry("index_engine", IndexEngine, (LOCAL,))
"""Name -> engine."""


def index_engine(settings: Settings) -> IndexEngine:
    """Return the engine of INDEX_ENGINE.

    Raises:
        UnknownChoice: what adds it cannot be loaded.
    """
    if (found := INDEX_ENGINES.get(settings.index_engine)) is None:
        legal = ", ".join(INDEX_ENGINES)
        raise UnknownChoice(kind="INDEX_ENGINE", found=settings.index_engine, legal=legal)
    return found


def indexes_of(settings: Settings) -> Indexes:
    """Return the indexes of INDEX_ENGINE. Raises ConfigurationError if settings of the engine are missing or wrong."""
    return index_engine(settings).open(settings)


def words_engine() -> type[LexicalIndex] | type[ArrayIndex]:
    """Return the class that builds and opens inverted indexes. Both give the same rankings."""
    return ArrayIndex if _why_not_tantivy() else LexicalIndex


def words_described() -> str:
    """Return one line that says which engine searches for words, and why if it is not Tantivy."""
    if reason := _why_not_tantivy():
        return f"BM25 by NumPy, slower to build, because Tantivy is missing ({reason})"
    try:
        return f"BM25 by Tantivy {version('tantivy')}"
    except PackageNotFoundError:  # put on the path without its metadata
        return "BM25 by Tantivy"


@cache
def _why_not_tantivy() -> str:
    """Return why Tantivy cannot be imported, in one line; "" if it can."""
    try:
        import tantivy  # noqa: F401
    except (ImportError, OSError) as error:  # not installed, or not built for this processor or system
        return " ".join(str(error).split()) or type(error).__name__
    return ""
