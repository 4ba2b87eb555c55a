"""Time a large knowledge base: seconds per phase, peak memory, and seconds of a question.

python -m benchmarks books [--text FOLDER] [--chars 120000,500000,1000000,2000000,5000000] [--files 40]
                           [--strategy LEXICAL,BRIDGE,BRIDGE_HYBRID] [--questions 80]

The text consists of the .txt, .md and .html files of FOLDER, repeated with other words until it has the requested
length; without FOLDER it is synthetic, with headings, cross references and word frequencies after Zipf's law. A fake
embedder returns random unit vectors and token states, so that the costs of the vectors are real except for the model's
own. Each row of the table is measured in a process of its own.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache, partial
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.process import load, peak_mb
from benchmarks.random_vectors import RandomTokens
from benchmarks.script import command, data_folder, head, parser, row
from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.knowledge_base import store
from chatbot_mvp.retrieval.indexes import corpus
from chatbot_mvp.retrieval.indexes.lexical import LexicalIndex
from chatbot_mvp.retrieval.indexes.vector_store import VectorStoreChoice
from chatbot_mvp.retrieval.kb import vocabulary
from chatbot_mvp.retrieval.late.passages import PassageTokens
from chatbot_mvp.retrieval.pipeline import growing_pipeline
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.text import STOP_WORDS
from chatbot_mvp.types import last

SIZES = "120000,500000,1000000,2000000,5000000"
PHASES = ("read", "keep", "chunk", "paragraphs", "matcher", "links", "vocabulary", "lexical", "vectors")
WORDS = 60_000
_SYLLABLES = [c + v + e for c in "bcdfglmnprstv" for v in "aeiou" for e in ("", "", "r", "n", "s", "l")]


def synthetic(chars: int, seed: int, language: str = "es") -> str:
    """Return a manual of about ``chars`` characters in Markdown, in "es" or "en"."""
    words, zipf = _words(0 if language == "es" else 1)
    small = sorted(STOP_WORDS[language])
    rng = random.Random(seed)

    def some(count: int) -> list[str]:
        return rng.choices(words, cum_weights=zipf, k=count)

    def sentence() -> str:
        chosen = [word for pair in zip(some(9), rng.choices(small, k=9), strict=True) for word in pair]
        return " ".join(chosen[: rng.randint(6, 18)]).capitalize() + "."

    parts, size, headings = [f"# Manual {seed}"], 0, ["Introducción"]
    while size < chars:
        if not parts or rng.random() < 0.25:
            heading = rng.choice(headings) if rng.random() < 0.1 else " ".join(some(rng.randint(1, 4))).capitalize()
            headings.append(heading)
            parts.append(f"{'#' * rng.choice((2, 3, 3))} {heading}")
        text = " ".join(sentence() for _ in range(rng.randint(1, 5)))
        if rng.random() < 0.1:
            text += f" Véase {rng.choice(headings)}."
        parts.append(text)
        size += len(text) + 2
    return "\n\n".join(parts)[:chars]


@cache
def _words(seed: int) -> tuple[list[str], list[float]]:
    """Return all words of a language, and the sums of their frequencies up to each."""
    rng = random.Random(seed)
    words = ["".join(rng.choices(_SYLLABLES, k=rng.choice((2, 2, 3, 3, 4)))) for _ in range(WORDS)]
    return words, list(accumulate(1 / (rank + 20) for rank in range(WORDS)))


def _rewritten(copy: int, word: re.Match[str]) -> str:
    return word.group()[:-2][::-1] + "aeiou"[copy % 5] + "lrnstdmc"[copy // 5 % 8]


def repeated(folder: Path, chars: int) -> str:
    """Return the files' text, then copies of it in which other words replace those of five or more letters."""
    texts = []
    for path in sorted(path for path in folder.rglob("*") if path.suffix in (".txt", ".md", ".html")):
        texts.append(parse_upload(path.name, path.read_bytes(), 10**8, 1_000).text)
    text = "\n\n".join(texts)
    parts, size = [text], len(text)
    while size < chars:
        parts.append(re.sub(r"[^\W\d_]{5,}", partial(_rewritten, len(parts)), text))
        size += len(parts[-1])
    return "\n\n".join(parts)[:chars]


def files_of(folder: Path | None, chars: int, count: int) -> list[tuple[str, bytes]]:
    if folder is None:
        return [(f"manual_{n}.md", synthetic(chars // count, n).encode()) for n in range(count)]
    text = repeated(folder, chars)
    size = -(-len(text) // count)
    return [(f"part_{n}.md", text[n * size : (n + 1) * size].encode()) for n in range(count)]


def questions_of(files: Sequence[tuple[str, bytes]], count: int) -> list[str]:
    """Return questions of successive words of the text: a fifth very short, a third with a typing error."""
    rng = random.Random(7)
    found: list[str] = []
    while len(found) < count:
        words = re.findall(r"\w{2,}", rng.choice(files)[1].decode())
        begin = rng.randrange(len(words))
        chosen = words[begin : begin + (rng.randint(1, 3) if len(found) % 5 == 0 else rng.randint(5, 14))]
        if len(found) % 3 == 0:
            chosen = [word[:2] + word[3:4] + word[2:3] + word[4:] if len(word) > 5 else word for word in chosen]
        found.append(f"¿{' '.join(chosen)}?")
    return found


class Clock:
    """Adds up the seconds of named phases. A phase inside another one counts for itself only."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._open: list[float] = []

    def timed(self, phase: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            self._open.append(0.0)
            started = time.perf_counter()
            try:
                return function(*args, **named)
            finally:
                spent = time.perf_counter() - started
                self.seconds[phase] += spent - self._open.pop()
                if self._open:
                    self._open[-1] += spent

        return call


def measure(folder: Path | None, chars: int, files: int, strategy: str, questions: int) -> dict[str, Any]:
    """Make one knowledge base and ask it questions."""
    uploads = files_of(folder, chars, files)
    asked = questions_of(uploads, questions)
    clock = Clock()
    places: tuple[tuple[Any, str, str], ...] = (
        (vocabulary, "join_pieces", "paragraphs"),
        (vocabulary, "passages_of", "paragraphs"),
        (vocabulary, "PassageMatcher", "matcher"),
        (vocabulary, "SectionLinks", "links"),
        (corpus, "build_bm25_index", "vocabulary"),
        (LexicalIndex, "build", "lexical"),
        (VectorCache, "embed", "vectors"),
        (PassageTokens, "compute", "vectors"),
        (VectorStoreChoice, "make", "vectors"),
    )
    for owner, name, phase in places:
        setattr(owner, name, clock.timed(phase, getattr(owner, name)))
    before = peak_mb()
    with data_folder(None) as data:
        settings = load_settings(data_dir=data, retrieval_strategy=strategy, kb_max_chars=10**7)
        kbs = store.KbStore(settings.kb_dir)
        read = clock.timed("read", parse_upload)
        parsed = [(name, read(name, content, settings.kb_max_chars, 1_000)) for name, content in uploads]
        del uploads
        record = clock.timed("keep", kbs.keep)(parsed, settings.kb_max_chars)
        del parsed
        chunks = clock.timed("chunk", chunk_document)(kbs.document(record.kb_id))
        pipelines = growing_pipeline(chunks, "es", settings, RandomTokens, kb_id=record.kb_id)
        pipeline = clock.timed("other", last)(pipelines)
        after = peak_mb()
        pipeline.retrieve(["¿?"])
        seconds = []
        for question in asked:
            started = time.perf_counter()
            pipeline.retrieve([question])
            seconds.append(time.perf_counter() - started)
    return {
        "chars": record.chars,
        "strategy": strategy,
        "passages": len(pipeline.index.kb.matcher.passages) if pipeline.index.kb else 0,
        **{phase: round(clock.seconds[phase], 2) for phase in PHASES},
        "total": round(sum(clock.seconds.values()), 1),
        "MB before": round(before),
        "MB built": round(after),
        "MB peak": round(peak_mb()),
        "p50 ms": round(1_000 * float(np.percentile(seconds, 50)), 1),
        "p95 ms": round(1_000 * float(np.percentile(seconds, 95)), 1),
        "load": load(),
    }


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--text", type=Path, help="folder with .txt, .md and .html files")
    options.add_argument("--chars", default=SIZES)
    options.add_argument("--files", type=int, default=40)
    options.add_argument("--strategy", default="LEXICAL,BRIDGE,BRIDGE_HYBRID")
    options.add_argument("--questions", type=int, default=80)
    options.add_argument("--one", action="store_true", help="measure the first size and strategy here, print JSON")
    given = options.parse_args()
    pairs = [(chars, strategy) for chars in given.chars.split(",") for strategy in given.strategy.split(",")]
    if given.one:
        chars, strategy = pairs[0]
        print(json.dumps(measure(given.text, int(chars), given.files, strategy, given.questions)))
        return
    for number, (chars, strategy) in enumerate(pairs):
        again = command("books", "--one", "--chars", chars, "--strategy", strategy, "--files", given.files)
        again += ["--questions", str(given.questions), *(["--text", str(given.text)] if given.text else [])]
        found = json.loads(subprocess.run(again, check=True, stdout=subprocess.PIPE, text=True).stdout)
        if number == 0:
            print(head(list(found), 2))
        print(row(list(found.values())), flush=True)
