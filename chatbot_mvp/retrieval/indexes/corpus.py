"""Build, cache and load all indexes of a corpus. On disk they are stored under a hash of the corpus' content."""

from __future__ import annotations

import gc
import hashlib
import logging
import shutil
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock

from chatbot_mvp.documents.chunking import Passages
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.retrieval.bm25 import idf
from chatbot_mvp.retrieval.bridge.building import build_corpus
from chatbot_mvp.retrieval.bridge.corpus import GRAPH_VERSION, Corpus
from chatbot_mvp.retrieval.indexes.dense_side import (
    PHASE,
    DenseSide,
    kb_sides,
    passage_tokens,
    passages_read,
    texts_of,
)
from chatbot_mvp.retrieval.indexes.engines import LocalIndexes, words_engine
from chatbot_mvp.retrieval.indexes.lexical import INDEX_VERSION, LexicalSearch
from chatbot_mvp.retrieval.indexes.questions import KeptQuestions, QuestionCounts
from chatbot_mvp.retrieval.indexes.vector_store import VectorStoreChoice
from chatbot_mvp.retrieval.indexes.versions import words_in_memory
from chatbot_mvp.retrieval.kb.languages import analyzer_of
from chatbot_mvp.retrieval.kb.vocabulary import KbIndex, build_bm25_index
from chatbot_mvp.storage.files import make_folder, replaced_folder
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, Progress, ProgressCallback, ignore_progress

_log = logging.getLogger(__name__)

T = TypeVar("T")


def links(chunks: Sequence[Chunk], analyzer: Analyzer, folder: Path, progress: ProgressCallback, small: bool) -> Corpus:
    """Load or build the links. They get their name when they are complete, so a build that died leaves none.

    Args:
        folder: the folder of the inverted index.
        progress: called in the phase "link"; may raise to stop.
        small: whether links that cannot be written may be kept in memory.

    Raises:
        OSError: the disk is full or not writable, and the links are not small; ``filename`` is set.
    """
    progress(Progress("link", 0, 2 * len(chunks)))  # first, so that the phase's time includes all its work
    place = folder / f"links-{GRAPH_VERSION}"
    try:
        make_folder(folder)  # there is none yet if the words are indexed on a server
        with FileLock(f"{folder}.lock"):
            try:
                return Corpus.open(place)
            except (OSError, ValueError, KeyError):  # not built yet, or damaged
                for work in place.parent.glob(f".{place.name}.*"):  # what a build that died left
                    shutil.rmtree(work, ignore_errors=True)
            with replaced_folder(place) as work:
                build_corpus(chunks, len(chunks), analyzer, progress, work)
            return Corpus.open(place)
    except OSError as error:
        if not small:
            error.filename = error.filename or str(place)  # a write to an open file does not say to which one
            raise
        _log.warning("the links are kept in memory, because %s cannot be written: %s", place, error)
        return build_corpus(chunks, len(chunks), analyzer, progress)


@dataclass(frozen=True)
class CorpusIndex:
    """The chunks of a corpus and their indexes. Row numbers are positions in ``chunks``."""

    chunks: Sequence[Chunk]
    lexical: LexicalSearch
    dense: DenseSide | None
    graph: Corpus | None = None
    """Mentions between documents; None for a strategy without links, and for a knowledge base of long documents."""
    kb: KbIndex | None = None
    """Present if the chunks were cut from longer documents; None for a corpus of whole passages."""
    questions: QuestionCounts | None = None
    """Counts the questions whose words are indexed with the chunks; None without such questions."""
    folder: Path | None = None
    """Folder of its files on this machine, if it has any; None for words in memory alone."""
    earlier: Callable[[], CorpusIndex | None] = field(default=lambda: None, repr=False, compare=False)
    """Gives the index of the version that this one was made from, while something else keeps it."""
    otherwise: frozenset[str] = field(default=frozenset(), repr=False, compare=False)
    """Terms of that version whose words this one reads otherwise, as in ``KbIndex``."""
    _derived: dict[Callable[[CorpusIndex], Any], Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def analyzer(self) -> Analyzer:
        return self.lexical.analyzer

    @property
    def documents(self) -> Sequence[Chunk]:
        """The texts that the mention graph was made from, one per row."""
        return self.kb.documents if self.kb is not None and self.kb.is_corpus else self.chunks

    @cached_property
    def source_chars(self) -> int:
        """Total length of the sources in characters, each measured up to the end of its last chunk."""
        if isinstance(self.chunks, Passages):
            return self.chunks.chars
        ends: dict[str, int] = {}
        for chunk in self.chunks:
            ends[chunk.doc_id] = max(chunk.end, ends.get(chunk.doc_id, 0))
        return sum(ends.values())

    @cached_property
    def row_of(self) -> Mapping[str, int]:
        """Chunk id -> row."""
        if isinstance(self.chunks, Passages):
            return self.chunks.rows
        return {chunk.chunk_id: row for row, chunk in enumerate(self.chunks)}

    def derived(self, make: Callable[[CorpusIndex], T]) -> T:
        """Return what ``make`` makes of this index. It is made once for all stages and pipelines over the index."""
        if make not in self._derived:
            self._derived[make] = make(self)
        found: T = self._derived[make]
        return found

    def derived_before(self, make: Callable[[CorpusIndex], T]) -> T | None:
        """Return what ``make`` made of the version that this one was made from; None if that is gone or not made."""
        index = self.earlier()
        found: T | None = index._derived.get(make) if index is not None else None
        return found

    def idf(self, term: str) -> float:
        """Return BM25's inverse document frequency, ln(1 + (N - n + 0.5) / (n + 0.5)).

        N is the number of chunks, n the number of chunks with the term. The maximum is at n = 0.
        """
        if self.graph is not None:
            return self.graph.idf_of(term)
        n = self.lexical.document_frequency(term)
        return idf(len(self.chunks), n)

    def terms_present(self, terms: Iterable[str], chunks: Sequence[Chunk]) -> list[set[str]]:
        """Return for each chunk the subset of ``terms`` that occurs in its text or heading."""
        if self.graph is not None:
            return self.graph.terms_present(terms, [self.row_of[chunk.chunk_id] for chunk in chunks])
        return [set(terms).intersection(self.analyzer.terms(chunk.index_text)) for chunk in chunks]


@contextmanager
def _without_collector() -> Iterator[None]:
    """Switch off cyclic garbage collection while an index is built, which halves the build time.

    A build creates millions of objects that all stay alive, and the collector would scan them repeatedly. The switch
    affects the whole process; other threads still free every object that is not in a reference cycle.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def growing_index(
    chunks: Sequence[Chunk],
    language: str,
    cache_dir: Path,
    embedder: Callable[[], Embedder] | None,
    progress: ProgressCallback = ignore_progress,
    with_links: bool = False,
    store: VectorStoreChoice | None = None,
    indexed: Sequence[Chunk] | None = None,
    earlier: CorpusIndex | None = None,
) -> Iterator[CorpusIndex]:
    """Build or load the indexes of ``chunks`` and yield them as they get better: of words, then with vectors.

    Args:
        language: "es" or "en", the language of the chunks; the main one of a knowledge base in several.
        embedder: creates the embedding model; None for a strategy without vectors.
        progress: called in the phases "index", "link" and "embed_corpus"; may raise to stop, finished work stays
            cached.
        with_links: also build the mention graph.
        store: where to store the indexes; None for files in ``cache_dir`` and exact search in memory.
        indexed: chunks to index in place of ``chunks``, row by row; searches still return ``chunks``.
        earlier: the index of another version of the same knowledge base. What both have in common is taken from it:
            vectors, and words if the chunks of both are ``ChunkedFiles``. The result is the same without it.
    """
    choice = store or VectorStoreChoice()
    words, sources = _index_words(chunks, language, cache_dir, progress, with_links, indexed, choice, (), earlier)
    yield words
    if embedder is None:
        return
    progress(Progress(PHASE, 0, len(chunks)))
    model, cache = embedder(), VectorCache(vector_cache_path(cache_dir))
    tokens = passage_tokens(model, tokens_cache_path(cache_dir))
    if words.kb is None:
        matrix = cache.embed(model, [chunk.index_text for chunk in sources], "passage", progress, PHASE)
        vectors = choice.make(matrix, model.model_id, progress)
        yield replace(words, dense=DenseSide(vectors, model, cache, tokens=tokens))
        return
    before = (earlier.kb, earlier.dense) if earlier is not None and earlier.kb and earlier.dense else None
    for side in kb_sides(words.kb, model, cache, tokens, choice, progress, before):
        yield replace(words, dense=side)


def with_questions(
    index: CorpusIndex,
    chunks: Sequence[Chunk],
    language: str,
    cache_dir: Path,
    questions: KeptQuestions,
    progress: ProgressCallback = ignore_progress,
    indexed: Sequence[Chunk] | None = None,
    store: VectorStoreChoice | None = None,
) -> CorpusIndex:
    """Return ``index`` with the words of questions indexed beside those of their chunks. The vectors stay as they are.

    Args:
        index: the last index that ``growing_index`` gave for the arguments of the same names, without links.
        store: as for ``growing_index``.
    """
    choice = store or VectorStoreChoice()
    words, _ = _index_words(chunks, language, cache_dir, progress, False, indexed, choice, questions.texts)
    return replace(words, dense=index.dense, questions=questions.counts)


@_without_collector()
def _index_words(
    chunks: Sequence[Chunk],
    language: str,
    cache_dir: Path,
    progress: ProgressCallback,
    with_links: bool,
    indexed: Sequence[Chunk] | None,
    store: VectorStoreChoice,
    questions: Sequence[str] = (),
    earlier: CorpusIndex | None = None,
) -> tuple[CorpusIndex, Sequence[Chunk]]:
    """Return the indexes without vectors, and what to embed of each row."""
    analyzer, owner = Analyzer(language), store.owner
    kb = before = None
    sources = chunks if indexed is None else indexed
    if not isinstance(chunks, Passages) and any(chunk.chunk_id != chunk.doc_id for chunk in chunks):
        known = (earlier.kb.source, earlier.kb.analyzer) if earlier and earlier.kb and earlier.kb.source else None
        analyzer = analyzer_of(chunks, language, known)
        if earlier is not None and earlier.kb is not None and (kept := earlier.kb.read_alike(chunks, analyzer)):
            before = replace(earlier, kb=kept)
        kb = build_bm25_index(chunks, analyzer, _contexts(chunks, sources), questions, before.kb if before else None)
        questions = kb.questions
        chunks = sources = kb.chunks
        if kb.is_corpus:
            sources = kb.documents
        if kb.contexts:
            sources = _led(chunks, kb.contexts)
    embedded = sources
    if any(questions):
        sources = _led(sources, questions)
    # Long documents have no graph: they are ranked by paragraphs, and their sections bear no names as documents do.
    linked = with_links and (kb is None or kb.is_corpus)
    # The words of a knowledge base stay in memory, as its paragraphs do: each version would write files of its own.
    in_memory = bool(owner) and isinstance(store.indexes, LocalIndexes)
    folder = _folder(cache_dir, sources, analyzer, owner) if linked or not in_memory else None
    if in_memory:
        then = (before.kb, before.lexical) if before is not None else None
        lexical: LexicalSearch = words_in_memory(sources, analyzer, kb, then, progress)
    else:
        assert folder is not None, "it is None in memory only"
        lexical = store.indexes.words(sources, analyzer, owner, folder, progress)
    graph = links(sources, analyzer, folder, progress, bool(owner)) if linked and folder is not None else None
    version = weakref.ref(earlier) if before is not None and earlier is not None else lambda: None
    otherwise = before.kb.otherwise if before is not None and before.kb is not None else frozenset()
    made = CorpusIndex(chunks, lexical, None, graph, kb, folder=folder, earlier=version, otherwise=otherwise)
    return made, embedded


def forget_index(
    chunks: Sequence[Chunk], language: str, cache_dir: Path, embedder: Embedder | None, owner: str
) -> None:
    """Delete the files of ``growing_index`` for a knowledge base: its indexes, the vectors of its texts.

    Contexts that a language model wrote for its chunks stay, because they were paid for.

    Args:
        embedder: the model whose vectors are deleted; None for a strategy without vectors.
        owner: id of the knowledge base.
    """
    folder = cache_dir / "indexes" / owner
    if folder.is_dir():
        with FileLock(f"{folder}.lock"):
            shutil.rmtree(folder, ignore_errors=True)
    Path(f"{folder}.lock").unlink(missing_ok=True)
    path = vector_cache_path(cache_dir)
    if embedder is not None and path.is_file():
        kb = build_bm25_index(chunks, analyzer_of(chunks, language))
        texts = {text for passage in kb.matcher.passages for text in texts_of(passage)}
        VectorCache(path).forget(embedder, sorted(texts), "passage")
        if tokens := passage_tokens(embedder, tokens_cache_path(cache_dir)):
            tokens.forget(passages_read(kb))


def vector_cache_path(cache_dir: Path) -> Path:
    """Return the path of the SQLite file that caches all vectors."""
    return cache_dir / "vectors.sqlite"


def tokens_cache_path(cache_dir: Path) -> Path:
    """Return the path of the SQLite file that caches the tokens of paragraphs."""
    return cache_dir / "tokens.sqlite"


def is_indexed(chunks: Sequence[Chunk], language: str, cache_dir: Path) -> bool:
    """Return whether the cache has the inverted index of a corpus of whole passages."""
    analyzer = Analyzer(language)
    return words_engine().is_complete(_folder(cache_dir, chunks, analyzer))


def _folder(cache_dir: Path, chunks: Sequence[Chunk], analyzer: Analyzer, owner: str = "") -> Path:
    """Return the folder of an inverted index: by its content, within a folder of its owner if it has one."""
    digest = hashlib.sha256(f"{INDEX_VERSION} {analyzer.key}".encode())
    identified = (f"\x00{chunk.chunk_id}\x01{chunk.index_text}" for chunk in chunks)
    while several := "".join(islice(identified, 1_000)):
        digest.update(several.encode("utf-8", "surrogatepass"))
    return cache_dir / "indexes" / owner / digest.hexdigest()[:24]


def _led(chunks: Sequence[Chunk], texts: Sequence[str]) -> list[Chunk]:
    """Return the chunks, each with one of ``texts`` before its own."""
    return [replace(chunk, text=f"{text}\n{chunk.text}") for chunk, text in zip(chunks, texts, strict=True)]


def _contexts(chunks: Sequence[Chunk], indexed: Sequence[Chunk]) -> list[str]:
    """Return the context that ``indexed`` puts before each chunk's text; an empty list if no chunk has one."""
    found = [other.text.removesuffix(chunk.text).strip() for chunk, other in zip(chunks, indexed, strict=True)]
    return found if any(found) else []
