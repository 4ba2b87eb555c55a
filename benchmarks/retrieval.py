"""Compare the strategies' speed, and its growth with the corpus, with bare BM25 in the same process.

    python benchmarks/retrieval.py DATASET_DIR [--growth] [--repeats 5]

Trust the ratios rather than the times. Bare BM25 is Tantivy's search for the question's terms, first 150 documents;
bm25s is timed too if it is installed. With --growth the corpus is also multiplied by 2, 4 and 8. Every copy has its own
names (capitalised words are rewritten), so that copies count as different documents.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import tantivy

from chatbot_mvp.app import build_app
from chatbot_mvp.datasets import load_dataset
from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.retrieval.indexes.lexical import LexicalIndex
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.types import Document, last

_CAPITALISED = re.compile(r"\b[A-Z][a-zà-ÿ]{2,}\b")


def copy_of(document: Document, number: int) -> Document:
    """The document with other names: its letters moved on by ``number`` in every capitalised word."""
    if number == 0:
        return document

    def rename(match: re.Match[str]) -> str:
        return "".join(chr((ord(char) - 97 + number) % 26 + 97) if "a" <= char <= "z" else char for char in match[0])

    return Document(
        f"{document.doc_id}-{number}",
        _CAPITALISED.sub(rename, document.title),
        _CAPITALISED.sub(rename, document.text),
    )


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


def bm25s_search(documents: Sequence[Document], pipeline: Pipeline) -> Callable[[str], object] | None:
    try:
        import bm25s
    except ImportError:
        return None
    analyzer = pipeline.index.analyzer
    retriever = bm25s.BM25()
    retriever.index([analyzer.terms(f"{d.title}\n{d.text}") for d in documents], show_progress=False)
    return lambda query: retriever.retrieve([analyzer.terms(query)], k=150, show_progress=False, n_threads=1)


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
            if other := bm25s_search(documents, pipeline):
                calls["bm25s"] = other
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
    report["peak_rss_mb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1_000)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dataset", type=Path)
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--strategies", nargs="*", default=["LEXICAL", "BRIDGE", "BRIDGE_HYBRID"])
    options = parser.parse_args()
    dataset = load_dataset(options.dataset)
    queries = [query.text for query in dataset.queries]
    if not options.growth:
        print(json.dumps(measure(dataset.documents, queries, options.strategies, options.repeats), indent=1))
        return
    for times in (1, 2, 4, 8):
        documents = [copy_of(document, number) for number in range(times) for document in dataset.documents]
        print(json.dumps(measure(documents, queries, ["BRIDGE"], options.repeats)), flush=True)


if __name__ == "__main__":
    main()
