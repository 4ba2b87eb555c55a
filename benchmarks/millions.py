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
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from chatbot_mvp.datasets import load_dataset
from chatbot_mvp.metrics.ranking.recall import recall_at
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.types import Progress, last

Numbers = NDArray[np.int64]

_IN_MEMORY = "resident in memory only, MB"
_PEAK_IN_MEMORY = "peak in memory only, MB"
"""Sampled ten times a second."""

WORDS = 40
"""Number of words of a text before mentions are put in."""
_ROWS = 20_000
_SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
_FUNCTION_WORDS = (
    "the the the the of of of in in and and a a is was to for by on as with at from an that his it which he her are "
    "were its be has had this who their also or but not been she they after when into where while"
).split()
_SHARES = (0.385, 0.8)
"""Cumulative shares of function words and common words in a text; the others are names."""
_COMMON, _NAMES = (0.45, 60.0, 1 << 22), (0.25, 60.0, 1 << 30)
"""Zipf-Mandelbrot laws: exponent - 1, shift, highest rank. The vocabulary grows as in running text."""


def _random(seed: int, *keys: int | Numbers) -> NDArray[np.uint64]:
    """Return 64 random bits for each combination of keys (splitmix64), so that any row can be made alone."""
    with np.errstate(over="ignore"):
        mixed: NDArray[np.uint64] = np.array(seed, np.uint64)
        for key in keys:
            mixed = (mixed ^ np.asarray(key, np.int64).astype(np.uint64)) + np.uint64(0x9E3779B97F4A7C15)
            mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            mixed = mixed ^ (mixed >> np.uint64(31))
    return mixed


def _uniform(bits: NDArray[np.uint64]) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
    return shares


def _zipf(bits: NDArray[np.uint64], law: tuple[float, float, int]) -> Numbers:
    exponent, shift, highest = law
    ranks: Numbers = np.minimum(shift * (_uniform(bits) ** (-1 / exponent) - 1), highest).astype(np.int64)
    return ranks


@lru_cache(maxsize=400_000)
def _spelled(number: int) -> str:
    base, syllables = len(_SYLLABLES), []
    number += base  # two syllables at least
    while number >= 0:
        syllables.append(_SYLLABLES[number % base])
        number = number // base - 1
    return "".join(syllables)


class Corpus:
    """A synthetic corpus whose documents can be made one by one. Equal arguments give equal corpora.

    Titles are names of one to three words. A text has function words, common words and names, each by Zipf's law, and
    mentions two other documents on average, some of them often. 12 % of the titles have a qualifier in parentheses.
    """

    def __init__(self, seed: int, size: int, questions: int) -> None:
        self.seed, self.size = seed, size
        rows = _random(seed, 1, np.arange(4 * questions)) % np.uint64(size)
        distinct = list(dict.fromkeys(rows.tolist()))[: 2 * questions]
        self.gold = list(zip(distinct[0::2], distinct[1::2], strict=False))
        self._planted = {first: (number, second) for number, (first, second) in enumerate(self.gold)}
        self._second = {second: number for number, (_, second) in enumerate(self.gold)}

    def titles(self, rows: Numbers) -> list[str]:
        seed, size = self.seed, self.size
        length = np.searchsorted((0.1, 0.75), _uniform(_random(seed, 2, rows)))
        given = _zipf(_random(seed, 3, rows), _NAMES)
        middle = _zipf(_random(seed, 4, rows), _NAMES)
        family = (_uniform(_random(seed, 5, rows)) * (20_000 + size / 5)).astype(np.int64)
        kind = _zipf(_random(seed, 6, rows), _COMMON)
        qualified = _uniform(_random(seed, 7, rows)) < 0.12
        titles = []
        for row, words, one, two, three, of, is_qualified in zip(
            rows.tolist(), length.tolist(), given.tolist(), middle.tolist(), family.tolist(), kind.tolist(),
            qualified.tolist(), strict=True,
        ):  # fmt: skip
            parts = [(1 << 31) + row] if words == 0 else [one, three] if words == 1 else [one, two, three]
            title = " ".join(f"{_spelled(part)}n".capitalize() for part in parts)
            titles.append(f"{title} ({_spelled(of)})" if is_qualified else title)
        return titles

    def clue(self, number: int, hop: int) -> str:
        """Return the two common words that a planted question and one of its documents share."""
        ranks = (_random(self.seed, 8, number, hop, np.arange(2)) % np.uint64(4_000)).tolist()
        return " ".join(_spelled(200 + rank) for rank in ranks)

    def question(self, number: int) -> str:
        title = self.titles(np.array([self.gold[number][0]]))[0].partition(" (")[0]
        return f"Which {self.clue(number, 1)} was of the {self.clue(number, 0)} that {title} has?"

    def documents(self, begin: int, end: int) -> tuple[list[str], list[str], list[str]]:
        """Return ids, titles and texts of some rows."""
        rows = np.arange(begin, end)
        titles = self.titles(rows)
        column = np.arange(WORDS)
        kinds = np.searchsorted(_SHARES, _uniform(_random(self.seed, 9, rows[:, None], column)))
        bits = _random(self.seed, 10, rows[:, None], column)
        ranks = np.where(
            kinds == 0,
            (bits % np.uint64(len(_FUNCTION_WORDS))).astype(np.int64),
            np.where(kinds == 1, _zipf(bits, _COMMON), _zipf(bits, _NAMES)),
        )
        count = np.searchsorted((0.2, 0.45, 0.65, 0.8, 0.92), _uniform(_random(self.seed, 11, rows)))
        popular = _uniform(_random(self.seed, 12, rows[:, None], np.arange(6))) ** 4 * self.size
        # The step is coprime to the size, so that popular documents are spread over the corpus.
        others = (popular.astype(np.int64) * _coprime(self.size) + 17) % self.size
        named = {row: title.partition(" (")[0] for row, title in zip(rows.tolist(), titles, strict=True)}
        away = np.setdiff1d(np.concatenate((others.reshape(-1), [s for _, s in self.gold])), rows)
        named.update(zip(away.tolist(), (t.partition(" (")[0] for t in self.titles(away)), strict=True))
        places = (_random(self.seed, 13, rows[:, None], np.arange(6)) % np.uint64(WORDS)).tolist()
        texts = []
        for row, title, kind, rank, many, other, place in zip(
            rows.tolist(), titles, kinds.tolist(), ranks.tolist(), count.tolist(), others.tolist(), places, strict=True
        ):
            words = [
                _FUNCTION_WORDS[r] if k == 0 else _spelled(r) if k == 1 else f"{_spelled(r)}n".capitalize()
                for k, r in zip(kind, rank, strict=True)
            ]
            for target, at in zip(other[:many], place, strict=False):
                words[at] = named[target]
            if row in self._planted:
                number, second = self._planted[row]
                words[5:8] = [self.clue(number, 0), "of", named[second]]
            if row in self._second:
                words[12:13] = [self.clue(self._second[row], 1)]
            text = f"{title.partition(' (')[0]} is a {' '.join(words[:14])}. The {' '.join(words[14:])}."
            texts.append(text)
        return [f"d{row:08x}" for row in rows.tolist()], titles, texts


def _coprime(size: int) -> int:
    return next(step for step in range(7_919, 8_919) if np.gcd(step, size) == 1)


def write_corpus(folder: Path, size: int, questions: int, seed: int = 0) -> None:
    """Write a data set in schema v2.0, with as many row groups as it takes; memory does not grow with the size."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    corpus = Corpus(seed, size, questions)
    folder.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(
        folder / "corpus.parquet", pa.schema([(name, pa.string()) for name in ("doc_id", "title", "text")])
    ) as writer:
        for begin in range(0, size, _ROWS):
            columns = corpus.documents(begin, min(size, begin + _ROWS))
            writer.write_table(pa.table(dict(zip(("doc_id", "title", "text"), columns, strict=True))))
    ids = [f"q{number}" for number in range(len(corpus.gold))]
    asked = {"query_id": ids, "text": [corpus.question(number) for number in range(len(ids))]}
    pq.write_table(pa.table(asked), folder / "queries.parquet")
    judged = {
        "query_id": [query_id for query_id in ids for _ in range(2)],
        "doc_id": [f"d{row:08x}" for pair in corpus.gold for row in pair],
        "score": [1] * (2 * len(ids)),
    }
    pq.write_table(pa.table(judged), folder / "qrels.parquet")


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
