"""An inverted index in Milvus: one sparse vector of BM25 weights per chunk, and the vocabulary of the corpus.

The weights are computed here from the terms of ``text.Analyzer``, so that rankings equal those of Tantivy. Milvus' own
BM25 function would analyse the texts itself, and count documents over all knowledge bases of the collection.

Rows of a corpus in the collection TERMS:
- one per chunk with terms, id "<corpus>/<row>";
- "<corpus>/v<number>": a part of the vocabulary as JSON, {hash of a term: [its dimension, chunks that contain it]};
- "<corpus>/facts": JSON with the number of chunks and of parts. It is written last: a corpus without it is incomplete.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from chatbot_mvp.retrieval.bm25 import DocumentWeights, in_order, term_weight
from chatbot_mvp.storage.lru import BoundedCache
from chatbot_mvp.text import Analyzer
from chatbot_mvp.types import Chunk, Progress, ProgressCallback, ignore_progress
from chatbot_mvp.wings.milvus.client import LARGEST_RESULT, TERMS, MilvusConnection
from chatbot_mvp.wings.milvus.errors import MilvusError

_ROWS = 1_000  # per request; gRPC messages are limited to 64 MB
_TERMS_PER_PART = 1_000  # about 30 kB of JSON; a text field has room for 65
_PARTS_KEPT = 500  # parts of the vocabulary in memory: about 100 MB
_TIE_MARGIN = 16  # rows fetched beyond the limit, so that ties at the cut can be broken by row
SETTLING_S = 10.0
"""Seconds in which searches wait until the server has seen all writes. Milvus lets other readers lag 5 s behind."""


@dataclass(frozen=True)
class _Facts:
    count: int
    parts: int


class MilvusTerms:
    """A ``LexicalSearch`` over one corpus. Safe to share between threads; reads nothing but the server."""

    def __init__(self, connection: MilvusConnection, corpus: str, analyzer: Analyzer, facts: _Facts) -> None:
        self.analyzer = analyzer
        self._connection = connection
        self.corpus = corpus
        """What its rows bear in common."""
        self._facts = facts
        self._parts: BoundedCache[int, dict[str, tuple[int, int]]] = BoundedCache(_PARTS_KEPT)
        self._settled_at = time.monotonic() + SETTLING_S

    @classmethod
    def build(
        cls,
        connection: MilvusConnection,
        chunks: Sequence[Chunk],
        analyzer: Analyzer,
        owner: str,
        key: str,
        progress: ProgressCallback = ignore_progress,
    ) -> MilvusTerms:
        """Open the index of ``chunks``, and write it first if the server does not have all of it.

        Two processes may build the same corpus at the same time: they write equal rows with equal ids.

        Args:
            owner: id of a knowledge base, or "corpus".
            key: identifies content and analyser; equal keys must mean equal chunks.
            progress: called in the phase "index"; may raise to stop, then the next build starts again.

        Raises:
            MilvusError (index_credentials_refused, index_engine_unavailable)
        """
        from pymilvus import DataType

        corpus = f"{owner}.{key}"
        connection.open_collection(
            TERMS,
            {"datatype": DataType.SPARSE_FLOAT_VECTOR},
            # Without drop ratios the search is exact.
            {"index_type": "SPARSE_INVERTED_INDEX", "metric_type": "IP"},
        )
        known = connection.texts(TERMS, [f"{corpus}/facts"])
        if known:
            [text] = known.values()
            return cls(connection, corpus, analyzer, _Facts(**json.loads(text)))
        facts = _write(connection, chunks, analyzer, owner, corpus, progress)
        return cls(connection, corpus, analyzer, facts)

    def search(self, query: str, limit: int) -> list[tuple[int, float]]:
        """Return (row, BM25 score) of the best ``limit`` chunks, ties by row; empty if the query has no known terms.

        Raises:
            MilvusError (index_credentials_refused, index_engine_unavailable)
            MilvusError (index_rows_missing): the rows of the corpus were deleted.
        """
        known = self._look_up(dict.fromkeys(self.analyzer.terms(query)))
        limit = min(limit, self._facts.count, LARGEST_RESULT)
        if not known or limit <= 0:
            return []
        vector = {dimension: term_weight(containing, self._facts.count) for dimension, containing in known.values()}
        fetched = min(limit + _TIE_MARGIN, LARGEST_RESULT)
        consistency = "Strong" if time.monotonic() < self._settled_at else "Bounded"
        [found] = self._connection.search(TERMS, self.corpus, [vector], fetched, consistency)
        if not found:  # each known term is in a chunk
            raise MilvusError("index_rows_missing", corpus=self.corpus, place=self._connection.server.address)
        return in_order(found, limit)

    def document_frequency(self, term: str) -> int:
        """Return the number of chunks in which ``term`` occurs.

        Raises:
            MilvusError (index_credentials_refused, index_engine_unavailable, index_rows_missing)
        """
        return self._look_up([term]).get(term, (0, 0))[1]

    def _look_up(self, terms: Iterable[str]) -> dict[str, tuple[int, int]]:
        """Return term -> (dimension, chunks that contain it) for the terms that the corpus has."""
        if not self._facts.parts:
            return {}
        hashes = {term: _term_hash(term) for term in terms}
        part_of = {term: _part(hash_, self._facts.parts) for term, hash_ in hashes.items()}
        parts = {number: self._parts.get(number) for number in set(part_of.values())}
        missing = {f"{self.corpus}/v{number}": number for number, part in parts.items() if part is None}
        if missing:
            texts = self._connection.texts(TERMS, list(missing))
            if len(texts) < len(missing):
                raise MilvusError("index_rows_missing", corpus=self.corpus, place=self._connection.server.address)
            for id_, text in texts.items():
                part = {hash_: (int(entry[0]), int(entry[1])) for hash_, entry in json.loads(text).items()}
                self._parts.put(missing[id_], part)
                parts[missing[id_]] = part
        found = {term: (parts[part_of[term]] or {}).get(hash_) for term, hash_ in hashes.items()}
        return {term: entry for term, entry in found.items() if entry is not None}


def vocabulary_of(corpus: str) -> str:
    """Return the name of the corpus that has a corpus' vocabulary and facts."""
    return f"{corpus}/vocabulary"


def _write(
    connection: MilvusConnection,
    chunks: Sequence[Chunk],
    analyzer: Analyzer,
    owner: str,
    corpus: str,
    progress: ProgressCallback,
) -> _Facts:
    """Write all rows of a corpus."""
    dimensions: dict[str, int] = {}
    containing = array("I")
    terms, ends = array("I"), array("Q")  # the dimensions of all terms, one chunk after the other
    for row, chunk in enumerate(chunks):
        if row % _ROWS == 0:
            progress(Progress("index", row // 2, len(chunks)))
        found = [dimensions.setdefault(term, len(dimensions)) for term in analyzer.terms(chunk.index_text)]
        containing.extend([0] * (len(dimensions) - len(containing)))
        for dimension in set(found):
            containing[dimension] += 1
        terms.extend(found)
        ends.append(len(terms))
    common: dict[str, Any] = {"owner": owner, "corpus": corpus, "text": ""}
    weights = DocumentWeights(len(terms) / max(1, len(chunks))) if terms else None
    for begin in range(0, len(chunks), _ROWS):
        progress(Progress("index", (len(chunks) + begin) // 2, len(chunks)))
        rows = []
        for row in range(begin, min(begin + _ROWS, len(chunks))):
            own = terms[ends[row - 1] if row else 0 : ends[row]]
            if weights is not None and len(own):  # Milvus stores no empty vector
                rows.append({**common, "id": f"{corpus}/{row}", "row": row, "vector": weights.of(own)})
        if rows:
            connection.upsert(TERMS, rows)
    facts = _Facts(len(chunks), math.ceil(len(dimensions) / _TERMS_PER_PART))
    parts: list[dict[str, tuple[int, int]]] = [{} for _ in range(facts.parts)]
    for term, dimension in dimensions.items():
        hash_ = _term_hash(term)
        parts[_part(hash_, facts.parts)][hash_] = (dimension, containing[dimension])
    # Under another corpus' name, so that no search finds these rows. Their vector is there because one is needed.
    beside = {**common, "corpus": vocabulary_of(corpus), "row": -1, "vector": {0: 1.0}}
    for number, part in enumerate(parts):
        text = json.dumps(part, separators=(",", ":"))
        connection.upsert(TERMS, [{**beside, "id": f"{corpus}/v{number}", "text": text}])
    connection.seal(TERMS)
    connection.upsert(TERMS, [{**beside, "id": f"{corpus}/facts", "text": json.dumps(asdict(facts))}])
    progress(Progress("index", len(chunks), len(chunks)))
    return facts


def _term_hash(term: str) -> str:
    """Return 64 bits in hex, since terms can be long. A million terms collide once in 10^7 times."""
    return hashlib.blake2b(term.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _part(term_hash: str, parts: int) -> int:
    return int(term_hash, 16) % parts
