"""Measure how time and memory of each phase grow with the number of passages.

    python -m benchmarks growth [FOLDER] [--up-to 100000] [--questions 200] [--sample 300] [--memory-mb 20000]

The sizes are 1,000, 10,000 … up to --up-to. Texts are synthetic (``synthetic``), and so are their vectors: the real
model takes half an hour for 100,000 texts, and its rate does not depend on their number. That rate is measured on a
sample of each size. The vectors of the questions are cached, so *retrieve* does not include embedding the question.

All times are processor seconds of the process, all threads together: other work on the machine changes them little.

Each strategy runs in a process of its own, because memory that one strategy needed must not count for the next. The
first one builds the inverted index, the second adds the vectors, the third the links; the fourth loads all of them.

Prints a Markdown table, with the exponent of growth between neighbouring sizes (1 is linear, 0 is constant). A process
that needs more than --memory-mb is stopped; what it measured before is kept. A size is left out if the disk has too
little space. FOLDER (default: a temporary one) keeps data sets and indexes.
"""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import synthetic
from benchmarks.process import peak_mb
from benchmarks.random_vectors import RandomVectors
from benchmarks.script import command, data_folder, head, parser, row
from chatbot_mvp.datasets import load_dataset
from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.embedding.base import Vectors
from chatbot_mvp.embedding.e5.embedder import local_e5
from chatbot_mvp.retrieval.indexes.dense import VectorStore
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.types import Document, last

SMALLEST = 1_000
_FEW = 10
_REHEARSAL = 100
ADDS = {"LEXICAL": "lexical index", "HYBRID": "embedding, synthetic vectors", "BRIDGE": "links"}
"""Strategy -> the phase that its build adds to what the strategies before it left in the cache."""
WARM = "BRIDGE_HYBRID"
"""Strategy that finds everything in the cache."""
EMBEDDING = "embedding"
"""Name of the process that measures the real model."""
_BYTES_PER_PASSAGE = 8_000  # on disk: text, inverted index, vector, links; measured 5,600
_BARS = "▁▂▃▄▅▆▇█"
_SEARCH_LIMIT = 150


@dataclass(frozen=True)
class Options:
    """What each process measures with."""

    folder: Path
    questions: int
    sample: int
    memory_mb: int


def child(name: str, place: Path, models_dir: Path, sample: int) -> None:
    """Measure one strategy, or the real model, and print each figure as a line of JSON when it is known."""
    dataset = load_dataset(place / "dataset")
    if name == EMBEDDING:
        embedder = local_e5(models_dir, 0)
        texts = [passage_chunk(document).index_text for document in dataset.documents[:sample]]
        embedder.embed(texts[:8], "passage")
        started = time.process_time()
        embedder.embed(texts, "passage")
        _tell("embedding, real model, per processor second, passages/s", len(texts) / (time.process_time() - started))
        return
    with tempfile.TemporaryDirectory() as empty:
        _, once = _built(name, Path(empty), dataset.documents[:_FEW])
    if name == WARM:
        _tell("once per process: load compiled code, s", once)
    pipeline, seconds = _built(name, place, dataset.documents)
    _tell(f"{ADDS[name]}, s" if name in ADDS else "load of a warm index, s", seconds)
    questions = [query.text for query in dataset.queries]
    pipeline.retrieve(questions[:1])
    side = pipeline.index.dense
    if side is not None:
        side.cache.embed(side.embedder, questions, "query")
        if name == WARM:
            _tell("exact search, ms", _search_ms(side.vectors, side.embedder.embed(questions, "query")))
    each = []
    for question in questions:
        started = time.process_time()
        pipeline.retrieve([question])
        each.append(1_000 * (time.process_time() - started))
    for percent in (50, 95):
        _tell(f"retrieve {name} p{percent}, ms", float(np.percentile(each, percent)))


def _built(strategy: str, place: Path, documents: Sequence[Document]) -> tuple[Pipeline, float]:
    """Return the pipeline and the seconds of its build."""
    settings = load_settings(data_dir=place, retrieval_strategy=strategy, vector_store="exact")
    chunks = [passage_chunk(document) for document in documents]

    started = time.process_time()
    pipeline = last(growing_pipeline(chunks, "en", settings, RandomVectors))
    return pipeline, time.process_time() - started


def _search_ms(vectors: VectorStore, queries: Vectors) -> float:
    """Return the median milliseconds of a search for one question."""
    each = []
    for query in queries:
        started = time.process_time()
        vectors.search(query[None, :], _SEARCH_LIMIT)
        each.append(1_000 * (time.process_time() - started))
    return float(np.median(each))


def _tell(figure: str, value: float) -> None:
    print(json.dumps([figure, value]), flush=True)


def measure(size: int, options: Options) -> dict[str, float]:
    """Return the figures of one size by name. What a process was stopped before is missing."""
    place = options.folder / f"{size}-{options.questions}"
    if not (place / "dataset" / "corpus.parquet").is_file():
        subprocess.run(command("growth", "--make", size, options.questions, place / "dataset"), check=True)
    shutil.rmtree(place / "cache", ignore_errors=True)
    found: dict[str, float] = {}
    for name in (*ADDS, WARM, EMBEDDING):
        figures, peak = _in_child(name, place, options)
        found |= figures
        if name != EMBEDDING:
            found[f"peak memory {name}, MB"] = peak
        print(f"{size:,} passages: {name} done", file=sys.stderr)
    return found


def _in_child(name: str, place: Path, options: Options) -> tuple[dict[str, float], float]:
    """Return the figures of one process and its peak memory in MB."""
    again = command("growth", "--child", name, place, options.folder / "models", options.sample)
    output, peak = place / f"{name}.jsonl", 0.0
    with output.open("wb") as stdout:
        process = subprocess.Popen(again, stdout=stdout)
        while process.poll() is None:
            peak = max(peak, peak_mb(process.pid))
            if peak > options.memory_mb:
                process.kill()
            time.sleep(0.02)
    if process.returncode and peak <= options.memory_mb:
        sys.exit(f"{name} over {place} ended with code {process.returncode}; its error is above.")
    if process.returncode:
        print(f"{name} over {place} was stopped at {peak:,.0f} MB", file=sys.stderr)
    return dict(json.loads(line) for line in output.read_text("utf-8").splitlines()), peak


Figures = Mapping[int, Mapping[str, float]]
"""Number of passages -> name of a figure -> value."""


def names_of(figures: Figures) -> list[str]:
    """Return the names of all figures: seconds first, then milliseconds, rates and memory."""
    units = ("s", "ms", "passages/s", "MB")
    names = dict.fromkeys(name for of_size in figures.values() for name in of_size)
    return sorted(names, key=lambda name: units.index(name.rpartition(", ")[2]))


def table(figures: Figures) -> str:
    """Return the figures as Markdown. "exponent" is log(ratio of values) / log(ratio of sizes).

    The bars show growth since the smallest size on a logarithmic scale: each step up is a factor of 3.16, so linear
    growth rises two steps with each size.
    """
    sizes = list(figures)
    names = ["", f"{sizes[0]:,}"]
    for size in sizes[1:]:
        names += [f"{size:,}", "exponent"]
    lines = [head([*names, "growth"])]
    for name in names_of(figures):
        values = [figures[size].get(name) for size in sizes]
        cells = [name, _number(values[0])]
        for at in range(1, len(sizes)):
            cells += [_number(values[at]), _exponent(sizes[at - 1 : at + 1], values[at - 1 : at + 1])]
        lines.append(row([*cells, _spark(values)]))
    return "\n".join(lines)


def _number(value: float | None) -> str:
    if value is None:
        return "–"
    decimals = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:,.{decimals}f}"


def _exponent(sizes: Sequence[int], values: Sequence[float | None]) -> str:
    before, after = values
    if not before or not after:
        return "–"
    return f"{math.log(after / before) / math.log(sizes[1] / sizes[0]):.2f}"


def _spark(values: Sequence[float | None]) -> str:
    first = next((value for value in values if value), 1.0)
    steps = [None if not value else round(2 * math.log10(value / first)) for value in values]
    return "".join(" " if step is None else _BARS[min(max(step, 0), len(_BARS) - 1)] for step in steps)


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]), int(sys.argv[5]))
        return
    if sys.argv[1:2] == ["--make"]:
        synthetic.make(1, int(sys.argv[2]), int(sys.argv[3])).write(Path(sys.argv[4]))
        return
    options = parser(__doc__)
    options.add_argument("folder", type=Path, nargs="?")
    options.add_argument("--up-to", type=int, default=100_000)
    options.add_argument("--questions", type=int, default=200)
    options.add_argument("--sample", type=int, default=300, help="texts that the real model embeds")
    options.add_argument("--memory-mb", type=int, default=20_000)
    given = options.parse_args()
    if given.up_to < SMALLEST:
        options.error(f"--up-to must be at least {SMALLEST}")
    with data_folder(given.folder) as folder:
        how = Options(folder, given.questions, given.sample, given.memory_mb)
        figures: dict[int, dict[str, float]] = {}
        measure(_REHEARSAL, how)  # not reported: it compiles the walk and converts the real model, once
        size = SMALLEST
        while size <= given.up_to:
            free = shutil.disk_usage(folder).free
            if free < size * _BYTES_PER_PASSAGE:
                print(f"{size:,} passages are left out: {free / 1e9:.1f} GB free on {folder}", file=sys.stderr)
                break
            figures[size] = measure(size, how)
            size *= 10
    if figures:
        print(table(figures))
