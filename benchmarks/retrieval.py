"""Compare the speed of the strategies with that of bare BM25 in the same process.

    python -m benchmarks retrieval DATASET_DIR [--repeats 5]

Trust the ratios rather than the times. Bare BM25 is Tantivy's search for the question's terms, first 150 documents.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import tantivy

from benchmarks.process import peak_mb
from benchmarks.script import parser
from chatbot_mvp.app import build_app
from chatbot_mvp.datasets import load_dataset
from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.retrieval.indexes.lexical import LexicalIndex
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.types import Document, last


def times_ms(
    calls: dict[str, Callable[[str], object]], queries: Sequence[str], repeats: int
) -> dict[str, dict[str, float]]:
    """Milliseconds per query of each call, one query at a time: each query's best of ``repeats``.

    The calls take turns on every query, so that other work on the machine and its clock meet them alike.
    """
    best = {name: np.full(len(queries), np.inf) for name in calls}
    for _ in range(repeats):
        for i, query in enumerate(queries):
            for name, call in calls.items():
                started = time.perf_counter()
                call(query)
                best[name][i] = min(best[name][i], time.perf_counter() - started)
    return {
        name: {
            "mean": round(1_000 * float(seconds.mean()), 3),
            "p50": round(1_000 * float(np.median(seconds)), 3),
            "p99": round(1_000 * float(np.quantile(seconds, 0.99)), 3),
        }
        for name, seconds in best.items()
    }


def batch_ms(call: Callable[[Sequence[str]], object], queries: Sequence[str], repeats: int) -> float:
    best = np.inf
    for _ in range(repeats):
        started = time.perf_counter()
        call(queries)
        best = min(best, time.perf_counter() - started)
    return round(1_000 * best / len(queries), 3)


def bare_bm25(pipeline: Pipeline) -> Callable[[str], object]:
    """Term queries on the pipeline's own index, nothing else."""
    lexical = pipeline.index.lexical
    assert isinstance(lexical, LexicalIndex), "INDEX_ENGINE=local is needed here"
    should = tantivy.Occur.Should

    def search(query: str) -> object:
        terms = dict.fromkeys(lexical.analyzer.terms(query))
        clauses = [(should, tantivy.Query.term_query(lexical._schema, "terms", term)) for term in terms]
        return lexical._searcher.search(tantivy.Query.boolean_query(clauses), 150, count=False).hits

    return search


def one_by_one(pipeline: Pipeline) -> Callable[[str], object]:
    return lambda query: pipeline.retrieve([query])


def measure(
    documents: Sequence[Document], queries: Sequence[str], strategies: Sequence[str], repeats: int
) -> dict[str, object]:
    settings = load_settings()
    app = build_app(settings)
    chunks = [passage_chunk(document) for document in documents]
    report: dict[str, object] = {"documents": len(documents)}
    for strategy in strategies:
        with tempfile.TemporaryDirectory() as folder:
            changed = settings.with_changes(retrieval_strategy=strategy)
            if strategy.endswith("HYBRID"):  # vectors are cached under the data folder; only they are
                folder = str(settings.data_dir)
            started = time.perf_counter()
            pipeline = last(
                growing_pipeline(
                    chunks,
                    "en",
                    changed.with_changes(data_dir=Path(folder)),
                    lambda: app.embedders.get(settings.embedding_model_name),
                )
            )
            build_s = round(time.perf_counter() - started, 2)
            pipeline.retrieve(queries)  # question vectors come from the cache from here on
            calls = {"bare_bm25": bare_bm25(pipeline), "single": one_by_one(pipeline)}
            timed = times_ms(calls, queries, repeats)
            batch = batch_ms(pipeline.retrieve, queries, repeats)
            entry = {
                "index_s": build_s,
                **{f"{name}_ms": value for name, value in timed.items()},
                "batch_ms": batch,
                "ratio_single": round(timed["single"]["mean"] / timed["bare_bm25"]["mean"], 1),
                "ratio_batch": round(batch / timed["bare_bm25"]["mean"], 1),
            }
            report[strategy] = entry
    report["peak_rss_mb"] = round(peak_mb())
    return report


def main() -> None:
    options = parser(__doc__)
    options.add_argument("dataset", type=Path)
    options.add_argument("--repeats", type=int, default=5)
    options.add_argument("--strategies", nargs="*", default=["LEXICAL", "BRIDGE", "BRIDGE_HYBRID"])
    given = options.parse_args()
    dataset = load_dataset(given.dataset)
    queries = [query.text for query in dataset.queries]
    print(json.dumps(measure(dataset.documents, queries, given.strategies, given.repeats), indent=1))
