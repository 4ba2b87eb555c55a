"""Measure corpora of up to millions of passages: ingestion without vectors, memory, and time and recall of questions.

    python benchmarks/millions.py [FOLDER] [--sizes 10000 100000 1000000] [--questions 500]

Each size gets a synthetic data set (see ``write_corpus``), one process that builds the inverted index and the links
(strategy ``BRIDGE``), and one process that loads both and asks planted questions one by one. A planted question names
its first gold document; only a mention in that document leads to the second one.

Prints one line of JSON per process, then a Markdown table. Times ending in "CPU" are processor seconds of all threads.
FOLDER (default: a temporary one) keeps data sets and indexes.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from millions_corpus import write_corpus

from chatbot_mvp.datasets import load_dataset
from chatbot_mvp.metrics.ranking.recall import recall_at
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.types import Progress, last

_IN_MEMORY = "resident in memory only, MB"
_PEAK_IN_MEMORY = "peak in memory only, MB"
"""Sampled ten times a second."""


def ingest(place: Path) -> dict[str, float]:
    """Build the inverted index and the links of a data set, and measure each phase."""
    spent = _Phases()
    dataset = load_dataset(place / "dataset")
    spent.begin("index")
    pipeline = _pipeline("BRIDGE", place, dataset, lambda progress: spent.begin(progress.phase))
    return {**spent.end(), "peak RSS, MB": _peak_mb(), "chunks": len(pipeline.index.chunks)}


def ask(place: Path) -> dict[str, float]:
    """Ask all planted questions one by one, lexically and with links."""
    spent = _Phases()
    dataset = load_dataset(place / "dataset")
    found: dict[str, float] = {}
    for strategy in ("LEXICAL", "BRIDGE"):
        spent.begin(f"load {strategy}")
        pipeline = _pipeline(strategy, place, dataset, lambda progress: None)
        spent.begin("ask")
        each, recalls, recalls_2 = [], [], []
        for query in dataset.queries:
            started = time.process_time()
            [trace] = pipeline.retrieve([query.text])
            each.append(1_000 * (time.process_time() - started))
            ids = [hit.chunk.doc_id for hit in trace.retrieved]
            recalls.append(recall_at(5, ids, dataset.qrels[query.query_id]) or 0.0)
            recalls_2.append(recall_at(2, ids, dataset.qrels[query.query_id]) or 0.0)
        warm = each[len(each) // 10 :]
        found |= {
            f"{strategy} first question, ms": each[0],
            f"{strategy} p50, ms CPU": float(np.percentile(warm, 50)),
            f"{strategy} p95, ms CPU": float(np.percentile(warm, 95)),
            f"{strategy} mean, ms CPU": float(np.mean(warm)),
            f"{strategy} recall@2": float(np.mean(recalls_2)),
            f"{strategy} recall@5": float(np.mean(recalls)),
        }
    return {**spent.end(), **found, "peak RSS, MB": _peak_mb(), **_resident()}


class _Phases:
    """Measures the time of phases that follow each other."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.phase = "load"
        self.started = time.perf_counter(), _cpu_seconds()

    def begin(self, phase: str) -> None:
        now = time.perf_counter(), _cpu_seconds()
        for name, before, after in zip((f"{self.phase}, s", f"{self.phase}, s CPU"), self.started, now, strict=True):
            self.seconds[name] = self.seconds.get(name, 0.0) + after - before
        self.phase, self.started = phase, now

    def end(self) -> dict[str, float]:
        self.begin("")
        return self.seconds


def _pipeline(strategy: str, place: Path, dataset: Any, progress: Callable[[Progress], None]) -> Pipeline:
    from chatbot_mvp.evaluation.benchmark.corpus import RunCorpus

    settings = load_settings(data_dir=place, retrieval_strategy=strategy)
    chunks = RunCorpus(dataset).chunks()
    return last(growing_pipeline(chunks, "en", settings, _no_embedder, progress))


def _no_embedder() -> Any:
    raise AssertionError("strategies without vectors need no embedder")


def _cpu_seconds() -> float:
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def _peak_mb() -> float:
    # A process starts with its parent's value, so the parent of this one stays small.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024 / 1e6


def _resident(process: int | str = "self") -> dict[str, float]:
    """Return the resident memory by kind. Pages of files can be dropped at any time; they are read again if needed.

    Empty for a process that has ended, and on systems without /proc.
    """
    try:
        status = Path(f"/proc/{process}/status").read_text("ascii", "replace")
    except OSError:
        return {}
    lines = (line.split() for line in status.splitlines())
    sizes = {line[0]: int(line[1]) * 1_024 / 1e6 for line in lines if line[0] in ("RssAnon:", "RssFile:")}
    if not sizes:
        return {}
    return {_IN_MEMORY: sizes["RssAnon:"], "resident pages of files, MB": sizes["RssFile:"]}


def _bytes_below(folder: Path, pattern: str) -> int:
    return sum(path.stat().st_size for path in folder.rglob(pattern) if path.is_file())


def _watched(command: list[str]) -> dict[str, float]:
    """Run a process that prints its figures; return them with the peak of its memory that is no page of a file."""
    peak: dict[str, float] = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        while True:
            if now := _resident(process.pid):
                peak[_PEAK_IN_MEMORY] = max(now[_IN_MEMORY], peak.get(_PEAK_IN_MEMORY, 0.0))
            try:
                printed, _ = process.communicate(timeout=0.1)
                break
            except subprocess.TimeoutExpired:
                continue
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    figures: dict[str, float] = json.loads(printed)
    return {**figures, **peak}


def measure(folder: Path, size: int, questions: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield (name of the process, its figures) of one size."""
    place = folder / str(size)
    for step in ("make", "ingest", "ask"):
        if step == "make" and (place / "dataset" / "qrels.parquet").is_file():
            continue
        command = [sys.executable, __file__, str(place), "--step", step, "--sizes", str(size)]
        figures = _watched([*command, "--questions", str(questions)])
        if step == "ingest":
            figures["data set, bytes per document"] = _bytes_below(place / "dataset", "*") / size
            figures["cache, bytes per document"] = _bytes_below(place / "cache", "*") / size
        yield step, figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--sizes", nargs="+", type=int, default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--questions", type=int, default=500)
    parser.add_argument("--step", choices=("make", "ingest", "ask"), help="internal: the work of one process")
    arguments = parser.parse_args()
    if arguments.step:
        place = arguments.folder
        if arguments.step == "make":
            started = time.process_time()
            write_corpus(place / "dataset", arguments.sizes[0], arguments.questions)
            figures = {"make, s CPU": time.process_time() - started, "peak RSS, MB": _peak_mb()}
        else:
            figures = {"ingest": ingest, "ask": ask}[arguments.step](place)
        print(json.dumps({name: round(value, 4) for name, value in figures.items()}))
        return
    with tempfile.TemporaryDirectory() as made:
        folder = arguments.folder or Path(made)
        table: dict[int, dict[str, float]] = {}
        for size in arguments.sizes:
            for step, figures in measure(folder, size, arguments.questions):
                print(json.dumps({"documents": size, "step": step, **figures}), flush=True)
                table.setdefault(size, {}).update({f"{step}: {name}": value for name, value in figures.items()})
    names = list(dict.fromkeys(name for figures in table.values() for name in figures))
    print("\n| figure | " + " | ".join(f"{size:,}" for size in table) + " |")
    print("|---|" + "--:|" * len(table))
    for name in names:
        print(f"| {name} | " + " | ".join(f"{of[name]:,.3f}" if name in of else "–" for of in table.values()) + " |")


if __name__ == "__main__":
    main()
