"""Compare the places where indexes can be: build time, bytes, time per question, recall and equality of rankings.

python benchmarks/index_backends.py DATASET_FOLDER [--documents 10000] [--questions 300] [--backends local,milvus]
    [--milvus http://host:19530] [--token USER:PASSWORD]

``local`` is Tantivy and ChromaDB in files. Without ``--milvus``, a server of the package milvus-lite is started.
``lancedb`` (pip install lancedb) is measured for comparison: its own BM25 on the terms of this project, and exact
vectors. The vectors are random points around 200 centres, with 384 dimensions; the words are those of the data set.
Each engine is compared with Tantivy in memory and with exact search: a ranking is equal if all ids are, in order.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from chatbot_mvp.datasets.files import load_dataset  # noqa: E402
from chatbot_mvp.documents.chunking import passage_chunk  # noqa: E402
from chatbot_mvp.embedding.base import Vectors  # noqa: E402
from chatbot_mvp.retrieval.indexes.corpus import growing_index  # noqa: E402
from chatbot_mvp.retrieval.indexes.dense import ExactVectors  # noqa: E402
from chatbot_mvp.retrieval.indexes.lexical import LexicalIndex  # noqa: E402
from chatbot_mvp.retrieval.indexes.milvus.client import MilvusServer, connect, delete_rows  # noqa: E402
from chatbot_mvp.retrieval.indexes.vector_store import VectorStoreChoice  # noqa: E402
from chatbot_mvp.text import Analyzer, detect_language  # noqa: E402
from chatbot_mvp.types import Chunk, ignore_progress, last  # noqa: E402
from tests.milvus_server import MilvusProcess  # noqa: E402

LIMIT = 100
NEAREST = 20
DIMENSIONS = 384

Hits = list[tuple[int, float]]
Searches = tuple[Callable[[str], Hits], Callable[[Vectors], Hits]]
"""Search for a question's words, and for a vector of shape (1, dimensions)."""


def clustered(seed: int, rows: int) -> Vectors:
    """Return unit vectors around 200 centres, shape (rows, 384)."""
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(7).normal(size=(200, DIMENSIONS))
    matrix = centres[rng.integers(0, 200, rows)] + 0.8 * rng.normal(size=(rows, DIMENSIONS))
    unit: Vectors = (matrix / np.linalg.norm(matrix, axis=1, keepdims=True)).astype(np.float32)
    return unit


def by_choice(
    choice: VectorStoreChoice, folder: Path, chunks: Sequence[Chunk], matrix: Vectors, analyzer: Analyzer
) -> Searches:
    lexical = last(growing_index(chunks, analyzer.language, folder, None, store=choice)).lexical
    store = choice.make(matrix, "random", ignore_progress)
    return (lambda query: lexical.search(query, LIMIT)), (lambda vector: store.search(vector, NEAREST)[0])


def by_lancedb(folder: Path, chunks: Sequence[Chunk], matrix: Vectors, analyzer: Analyzer) -> Searches:
    import lancedb
    import pyarrow as pa
    from lancedb.query import MatchQuery

    rows: dict[str, Any] = {
        "row": list(range(len(chunks))),
        "terms": [" ".join(analyzer.terms(chunk.index_text)) for chunk in chunks],
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(matrix.ravel()), DIMENSIONS),
    }
    table = lancedb.connect(str(folder)).create_table("corpus", pa.table(rows))
    raw = {"stem": False, "remove_stop_words": False, "ascii_folding": False, "lower_case": False}
    table.create_fts_index("terms", base_tokenizer="whitespace", max_token_length=None, with_position=False, **raw)

    def words(query: str) -> Hits:
        terms = " ".join(dict.fromkeys(analyzer.terms(query)))
        found = table.search(MatchQuery(terms, "terms"), query_type="fts").select(["row", "_score"]).limit(LIMIT + 16)
        hits = [(int(hit["row"]), float(hit["_score"])) for hit in found.to_list()]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))[:LIMIT]

    def near(vector: Vectors) -> Hits:
        found = table.search(vector[0]).distance_type("cosine").select(["row", "_distance"]).limit(NEAREST)
        return [(int(hit["row"]), 1.0 - float(hit["_distance"])) for hit in found.to_list()]

    return words, near


def timed_ms(search: Callable[[Any], Hits], queries: Sequence[Any]) -> tuple[list[Hits], str]:
    """Return the hits of each query and "p50 / p95" in milliseconds; the first search is not counted."""
    search(queries[0])
    found, seconds = [], []
    for query in queries:
        started = time.perf_counter()
        found.append(search(query))
        seconds.append(time.perf_counter() - started)
    return found, f"{1_000 * float(np.median(seconds)):.1f} / {1_000 * float(np.quantile(seconds, 0.95)):.1f}"


def ids(hits: Hits) -> list[int]:
    return [row for row, _ in hits]


class Reference:
    """The questions, and what Tantivy in memory and exact search find for them."""

    def __init__(self, chunks: Sequence[Chunk], analyzer: Analyzer, matrix: Vectors, questions: Sequence[str]) -> None:
        self._count = len(chunks)
        self._questions = questions
        self._vectors = [row[None, :] for row in clustered(2, len(questions))]
        tantivy, exact = LexicalIndex.build(chunks, analyzer), ExactVectors(matrix)
        self._words = [ids(tantivy.search(question, LIMIT)) for question in questions]
        self._nearest = [set(ids(exact.search(vector, NEAREST)[0])) for vector in self._vectors]

    def row(self, name: str, searches: Searches, build_s: float, folder: Path) -> str:
        """Ask all questions and return a line of the table."""
        by_words, words_ms = timed_ms(searches[0], self._questions)
        by_vectors, vectors_ms = timed_ms(searches[1], self._vectors)
        size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / self._count
        equal = np.mean([ids(one) == other for one, other in zip(by_words, self._words, strict=True)])
        recall = np.mean(
            [len(other.intersection(ids(one))) / NEAREST for one, other in zip(by_vectors, self._nearest, strict=True)]
        )
        return f"| {name} | {build_s:.1f} | {size:.0f} | {words_ms} | {equal:.3f} | {vectors_ms} | {recall:.4f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--backends", default="local,milvus")
    parser.add_argument("--milvus", default="")
    parser.add_argument("--token", default="")
    given = parser.parse_args()
    dataset = load_dataset(given.dataset)
    chunks = [passage_chunk(document) for document in dataset.documents[: given.documents]]
    questions = [query.text for query in dataset.queries[: given.questions]]
    analyzer = Analyzer(detect_language(" ".join(chunk.text for chunk in chunks[:50])))
    matrix = clustered(1, len(chunks))
    reference = Reference(chunks, analyzer, matrix, questions)
    print(f"{len(chunks)} documents, {len(questions)} questions\n")
    print("| backend | build s | bytes per document | words ms p50 / p95 | equal | vectors ms p50 / p95 | recall@20 |")
    print("|---|--:|--:|--:|--:|--:|--:|", flush=True)
    notes = []
    for name in given.backends.split(","):
        with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
            root, server = Path(folder), MilvusServer(given.milvus, given.token)
            if name == "milvus" and not given.milvus:
                process = MilvusProcess(root)
                process.start()
                stack.callback(process.kill)
                server = process.server
            choice = VectorStoreChoice(
                "auto", "benchmark", root / "chroma", milvus=server if name == "milvus" else None
            )
            started = time.perf_counter()
            if name == "lancedb":
                searches = by_lancedb(root, chunks, matrix, analyzer)
            else:
                searches = by_choice(choice, root / "cache", chunks, matrix, analyzer)
            print(reference.row(name, searches, time.perf_counter() - started, root), flush=True)
            if name == "milvus":
                delete_rows(connect(server), "benchmark")
                if not given.milvus:
                    notes.append(f"milvus-lite's peak memory: {process.peak_mb:.0f} MB")
    print("", *notes, sep="\n")


if __name__ == "__main__":
    main()
