"""Time a change of a knowledge base's documents, from the file to the answer: the table of goals of living documents.

    python -m benchmarks changes [--sizes 10,100,1000,10000] [--chars 5000] [--strategy BRIDGE_HYBRID] [--model]
                             [--languages 2]

Everything goes through the application: files are given to it, read, kept on disk, chunked and indexed. "words s" ends
with the first answer that the words of the new version give, "vectors s" with the first one that uses all of its
vectors. The processor's seconds until then are beside them, because other processes make a change wait. Each change is
made to the documents that the change before it left. "memory MB" is the highest so far. A size has a process of its
own. "goal" is what 1,000 documents of 5,000 characters may take on two idle cores.

The documents are synthetic, as those of ``books``. Their vectors are random, with states of tokens, and cost nothing;
``--model`` computes them by the local model, which is the larger part of what a change costs.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.books import synthetic
from benchmarks.process import children_s, load, peak_mb
from benchmarks.random_vectors import RandomTokens
from benchmarks.script import command, data_folder, head, parser, row
from chatbot_mvp.app import App
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.registry import Embedders
from chatbot_mvp.knowledge_base.changes import Move, Remove
from chatbot_mvp.knowledge_base.gathering import given_contents
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import load_settings

GOALS = {"one changed": "words 1 s, vectors 5 s", "a tenth changed": "vectors 30 s"}
QUESTION = "¿introduccoin?"  # misspelt, so that the vocabulary is needed as well


class RandomEmbedders(Embedders):
    """The registry with vectors that cost nothing."""

    def _create(self, name: str) -> Embedder:
        return RandomTokens()


def files_of(numbers: range | list[int], chars: int, seed: int, languages: int) -> list[tuple[str, bytes]]:
    """Return documents in Spanish; with two ``languages`` every third one is in English."""
    return [
        (
            f"manual_{number:05}.md",
            synthetic(chars, seed + number, "en" if languages == 2 and number % 3 == 1 else "es").encode(),
        )
        for number in numbers
    ]


def changes(app: App, kb_id: str, count: int, chars: int, languages: int) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield what is done to ``count`` documents, and the call that does it."""
    middle = f"manual_{count // 2:05}.md"
    longer = chars + chars // 7  # so that whatever stands behind a changed document moves
    tenth = files_of(range(0, count, 10), longer, 3 * count, languages)
    changed, added = files_of([count // 2], longer, count, languages), files_of([count], chars, count, languages)
    yield "one changed", lambda: app.kb_filing.add(kb_id, given_contents(changed))
    yield "one added", lambda: app.kb_filing.add(kb_id, given_contents(added))
    yield "one moved to the front", lambda: app.kb_changes.change(kb_id, [Move(middle, "a.md")])
    yield "one removed", lambda: app.kb_changes.change(kb_id, [Remove("a.md")])
    yield "a tenth changed", lambda: app.kb_filing.add(kb_id, given_contents(tenth))


def timed(app: App, count: int, change: str, make: Callable[[], object]) -> dict[str, Any]:
    began, used = time.perf_counter(), time.process_time() + children_s()
    make()
    [record] = app.kbs.records()
    pipeline = app.kbs.growing(record.kb_id)
    pipeline.latest.retrieve([QUESTION])
    words_s, words_used = time.perf_counter() - began, time.process_time() + children_s() - used
    pipeline.complete().retrieve([QUESTION])
    vectors_s, vectors_used = time.perf_counter() - began, time.process_time() + children_s() - used
    return {
        "documents": count,
        "change": change,
        "words s": round(words_s, 2),
        "of the processor": round(words_used, 2),
        "vectors s": round(vectors_s, 2),
        "of the processor ": round(vectors_used, 2),
        "goal": GOALS.get(change, "") if count == 1_000 else "",
        "memory MB": round(peak_mb()),
        "load": load(),
    }


def measure(count: int, chars: int, languages: int, strategy: str, with_model: bool) -> Iterator[dict[str, Any]]:
    with data_folder(None) as data:
        limit = max(5_000_000, 2 * count * chars)
        live = LiveSettings(load_settings(data_dir=data, retrieval_strategy=strategy, kb_max_chars=limit))
        app = App(live, Providers(live), (Embedders if with_model else RandomEmbedders)(live))
        files = files_of(range(count), chars, 0, languages)
        yield timed(app, count, "built at once", lambda: app.kb_filing.create("Manual", given_contents(files)))
        [record] = app.kbs.records()
        for change, make in changes(app, record.kb_id, count, chars, languages):
            yield timed(app, count, change, make)


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--sizes", default="10,100,1000", help="numbers of documents")
    options.add_argument("--chars", type=int, default=5_000, help="characters of each document")
    options.add_argument(
        "--languages", type=int, choices=(1, 2), default=1, help="2: every third document is in English"
    )
    options.add_argument("--strategy", default="BRIDGE_HYBRID")
    options.add_argument("--model", action="store_true", help="vectors of the local model")
    options.add_argument("--one", action="store_true", help="measure the first size here, print lines of JSON")
    given = options.parse_args()
    sizes = given.sizes.split(",")
    if given.one:
        for figures in measure(int(sizes[0]), given.chars, given.languages, given.strategy, given.model):
            print(json.dumps(figures), flush=True)
        return
    for number, size in enumerate(sizes):
        same = [
            "--chars",
            given.chars,
            "--languages",
            given.languages,
            "--strategy",
            given.strategy,
            *(["--model"] if given.model else []),
        ]
        again = command("changes", "--one", "--sizes", size, *same)
        with subprocess.Popen(again, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for place, line in enumerate(process.stdout):
                figures = json.loads(line)
                if number == place == 0:
                    print(head(list(figures), 2))
                print(row(list(figures.values())), flush=True)
        if process.returncode:
            raise SystemExit(process.returncode)
