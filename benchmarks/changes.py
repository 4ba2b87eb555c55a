"""Time a change of a knowledge base's documents: seconds until the words of the new version are searched, and memory.

python -m benchmarks changes [--sizes 10,100,1000] [--chars 5000] [--strategy LEXICAL]

The documents are synthetic, as those of ``books``. The seconds begin with the parsed texts, which are joined, chunked
and indexed. The processor's seconds are beside them, because other processes make it wait. "first question" is the
first one afterwards, with a misspelt word. Each size is measured in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.books import synthetic
from benchmarks.process import load, peak_mb
from benchmarks.random_vectors import RandomVectors
from benchmarks.script import command, data_folder, head, parser, row
from chatbot_mvp.documents.chunked_files import chunk_files
from chatbot_mvp.documents.kb_files import join_sources
from chatbot_mvp.documents.parsing import ParsedText, parse_upload
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.settings.model import Settings, load_settings
from chatbot_mvp.types import Document

_NO_LIMIT = 10**9

Files = list[tuple[str, ParsedText]]


def file_of(number: int, chars: int, seed: int) -> tuple[str, ParsedText]:
    text = synthetic(chars, seed).encode()
    return f"manual_{number}.md", parse_upload("manual.md", text, _NO_LIMIT, 1_000)


def changes(files: Files, chars: int) -> Iterator[tuple[str, Files]]:
    """Yield what is done to the documents, and the documents behind it."""
    middle, count = len(files) // 2, len(files)
    one = {number: file_of(number, chars, count + number) for number in (middle, count)}
    yield "one changed", [*files[:middle], one[middle], *files[middle + 1 :]]
    yield "one added", [*files, one[count]]
    yield "one removed", [*files[:middle], *files[middle + 1 :]]
    yield "one moved to the front", [files[middle], *files[:middle], *files[middle + 1 :]]
    tenth = {number: file_of(number, chars, 2 * count + number) for number in range(0, count, 10)}
    yield "a tenth changed", [tenth.get(number, file) for number, file in enumerate(files)]


def timed(change: str, files: Files, settings: Settings, earlier: Pipeline | None) -> tuple[dict[str, Any], Pipeline]:
    began, used = time.perf_counter(), time.process_time()
    text, kept = join_sources(files, _NO_LIMIT)
    known = earlier.index.kb.source if earlier is not None and earlier.index.kb is not None else None
    chunks = chunk_files(Document("kb", "Manual", text), kept, known=known)
    pipeline = next(growing_pipeline(chunks, "es", settings, RandomVectors, kb_id="kb", earlier=earlier))
    seconds, processor = time.perf_counter() - began, time.process_time() - used
    began = time.perf_counter()
    pipeline.retrieve(["¿introduccoin?"])
    figures = {
        "documents": len(files),
        "change": change,
        "words s": round(seconds, 2),
        "processor s": round(processor, 2),
        "first question ms": round(1_000 * (time.perf_counter() - began)),
        "MB": round(peak_mb()),
        "load": load(),
    }
    return figures, pipeline


def measure(count: int, chars: int, strategy: str) -> Iterator[dict[str, Any]]:
    files = [file_of(number, chars, number) for number in range(count)]
    with data_folder(None) as data:
        settings = load_settings(data_dir=data, retrieval_strategy=strategy)
        figures, first = timed("built at once", files, settings, None)
        yield figures
        for change, following in changes(files, chars):
            yield timed(change, following, settings, first)[0]


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--sizes", default="10,100,1000", help="numbers of documents")
    options.add_argument("--chars", type=int, default=5_000, help="characters of each document")
    options.add_argument("--strategy", default="LEXICAL")
    options.add_argument("--one", action="store_true", help="measure the first size here, print lines of JSON")
    given = options.parse_args()
    sizes = given.sizes.split(",")
    if given.one:
        for figures in measure(int(sizes[0]), given.chars, given.strategy):
            print(json.dumps(figures), flush=True)
        return
    for number, size in enumerate(sizes):
        again = command("changes", "--one", "--sizes", size, "--chars", given.chars, "--strategy", given.strategy)
        lines = subprocess.run(again, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
        for place, figures in enumerate(map(json.loads, lines)):
            if number == place == 0:
                print(head(list(figures), 2))
            print(row(list(figures.values())), flush=True)
