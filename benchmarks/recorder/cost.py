"""Cost: processor time as a ratio to fixed work done in the same minute, and memory, each in a process of its own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout, suppress
from io import StringIO
from pathlib import Path

from benchmarks.process import peak_mb, plain_environment
from benchmarks.recorder.facts import Fact, Place
from benchmarks.script import ROOT, SAMPLES

QUESTIONS = 10


def facts(place: Place) -> Iterator[Fact]:
    steps = [name for name in STEPS if not place.sample or name in _SAMPLED]
    for name in steps:
        shared = name == "run of 298 questions"
        if shared and place.shared is None:
            continue
        folder = place.work / name
        command = [sys.executable, "-m", "benchmarks.recorder.cost", name, str(folder), str(place.shared or "")]
        environment = plain_environment(PYTHONPATH=str(ROOT), PYTHONHASHSEED="0")
        done = subprocess.run(command, cwd=place.work, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr[-2_000:]}")
        for part, (ratio, memory) in json.loads(done.stdout.splitlines()[-1]).items():
            yield Fact(f"cost/{part}/time", ratio, "time", shared)
            yield Fact(f"cost/{part}/memory in MB", memory, "memory", shared)


def _reference() -> float:
    """Do the fixed work, of texts and numbers, and return its processor seconds."""
    import numpy as np

    started = time.process_time()
    text = " ".join(str(number * 7919 % 10_007) for number in range(30_000))
    counts: dict[str, int] = {}
    for word in re.findall(r"\d+", text) * 3:
        counts[word[::-1]] = counts.get(word[::-1], 0) + len(word)
    square = np.arange(250_000, dtype=np.float64).reshape(500, 500) % 97
    for _ in range(20):
        square = np.sqrt(square * 1.5 + 1.0) % 97
    json.loads(json.dumps(sorted(counts.items())))
    return time.process_time() - started


def _spent() -> float:
    times = os.times()
    return times.user + times.system


Parts = Iterator[tuple[str, int]]
"""What was done since the last one, and how many times."""


def _start(folder: Path, shared: str) -> Parts:
    import chatbot_mvp.app  # noqa: F401

    yield "start", 1


def _help(folder: Path, shared: str) -> Parts:
    from chatbot_mvp.cli.main import main

    sys.argv = ["chatbot-mvp", "--help"]
    with suppress(SystemExit), redirect_stdout(StringIO()):
        main()
    yield "help", 1


def _answer(folder: Path, shared: str) -> Parts:
    from benchmarks.recorder.sources import open_app, rows_of
    from benchmarks.recorder.vectors import keep_models

    keep_models()
    app = open_app(folder)
    path = next((SAMPLES / "kb").glob("*.md"))
    asked = [row["question"] for row in rows_of(SAMPLES / "kb" / "preguntas.jsonl")]
    kb_id = app.kbs.add(path.name, path.read_bytes()).kb_id
    app.kbs.pipeline(kb_id)
    app.answering.ask(kb_id, asked[0])
    yield "first answer", 1
    for question in asked[1 : 1 + QUESTIONS]:
        app.answering.ask(kb_id, question)
    yield "question", QUESTIONS


def _documents(folder: Path, shared: str) -> Parts:
    from benchmarks.recorder.sources import open_app, rows_of
    from chatbot_mvp.knowledge_base.gathering import given_contents

    app = open_app(folder, retrieval_strategy="BRIDGE")
    texts = [row["text"] for row in rows_of(SAMPLES / "valle_multihop" / "corpus.jsonl")]
    files = [
        (f"{number:04d}.md", f"# {number}\n\n{texts[number % 80]}\n\nActa {number}: {texts[number * 7 % 80]}".encode())
        for number in range(1_000)
    ]
    kb_id = app.kb_filing.create("mil", given_contents(files)).record.kb_id
    app.kbs.pipeline(kb_id)
    yield "1,000 documents", 1


def _run(folder: Path, shared: str) -> Parts:
    from benchmarks.recorder.sources import open_app

    app = open_app(folder, retrieval_strategy="BRIDGE", generation_enabled=False)
    app.runs.run_now(mteb_dataset_name=str(Path(shared) / "hotpotqa"), eval_max_queries=0)
    yield "run of 298 questions", 1


STEPS: dict[str, Callable[[Path, str], Parts]] = {
    "start": _start,
    "help": _help,
    "first answer": _answer,
    "1,000 documents": _documents,
    "run of 298 questions": _run,
}
_SAMPLED = ("start", "help")


def main(name: str, folder: str, shared: str) -> None:
    reference = min(_reference() for _ in range(3))
    found: dict[str, tuple[float, float]] = {}
    before = _spent()
    for part, times in STEPS[name](Path(folder), shared):
        spent = _spent() - before
        reference = min(reference, *(_reference() for _ in range(2)))
        found[part] = (spent / times, peak_mb(os.getpid()))
        before = _spent()
    print(json.dumps({part: (round(spent / reference, 2), round(memory)) for part, (spent, memory) in found.items()}))


if __name__ == "__main__":
    main(*sys.argv[1:])
