"""Write what the strategies rank, and compare it with what they ranked before a change of the code.

    python -m benchmarks rankings FOLDER --out FILE [--compare OLDER_FILE] [--whole DATA_FOLDER]

FOLDER has the data sets that ``presets`` takes, and ``squad_es``. Without ``--whole`` corpora are sampled, and vectors
mean nothing and are equal on every machine. With it corpora are whole and the local model embeds them: give the code
before and after two data folders, and copy ``cache/vectors.sqlite`` from the first to the second.
Counted are questions whose first 50 ids differ, and others with scores that differ by more than 1e-6.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.presets_samples import Sizes, make_samples
from benchmarks.random_vectors import RandomTokens
from benchmarks.script import parser
from chatbot_mvp.datasets import load_dataset
from chatbot_mvp.documents.chunking import chunk_document, passage_chunk
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.registry import create_embedder
from chatbot_mvp.evaluation.kb.questions import load_questions
from chatbot_mvp.retrieval.pipeline import growing_pipeline
from chatbot_mvp.settings.model import LOCAL_EMBEDDER, load_settings
from chatbot_mvp.types import Chunk, Document, last

STRATEGIES = ("LEXICAL", "HYBRID", "BRIDGE", "BRIDGE_HYBRID", "KB_CHAT")
SAMPLED = Sizes(queries=100, documents=5_000, characters=0)
WHOLE = Sizes(queries=300, documents=0, characters=0)


def corpora(folder: Path, into: Path, sizes: Sizes) -> Iterator[tuple[str, str, list[Chunk], list[str]]]:
    """Yield (name, language, chunks, questions) of each data set."""
    for sample in make_samples(folder, into, sizes):
        if sample.folder is not None:
            found = load_dataset(sample.folder)
            chunks = [passage_chunk(document) for document in found.documents]
            yield sample.name, "en", chunks, [query.text for query in found.queries]
        elif sample.document is not None and sample.questions is not None:
            chunks = chunk_document(Document("kb", "kb", sample.document.read_text("utf-8")))
            yield sample.name, "es", chunks, [question.question for question in load_questions(sample.questions)]
    rows = [json.loads(line) for line in (folder / "squad_es" / "questions.jsonl").read_text("utf-8").splitlines()]
    some = rows[:: len(rows) // 300 if sizes.documents else 1]
    text = "\n\n".join(dict.fromkeys(f"# {row['article']}\n\n{row['context']}" for row in some))
    asked = [row["question"] for row in some[:: len(some) // sizes.queries]]
    yield "squad_es", "es", chunk_document(Document("kb", "kb", text)), asked


def ranked(
    language: str, chunks: list[Chunk], questions: list[str], strategy: str, folder: Path, model: Embedder
) -> dict[str, Any]:
    """Ask each question alone; return its first ids and scores, and the median milliseconds."""
    settings = load_settings(data_dir=folder, retrieval_strategy=strategy, retrieval_k=50, provider="demo")
    pipeline = last(growing_pipeline(chunks, language, settings, lambda: model))
    traces = {question: pipeline.retrieve([question])[0] for question in questions}
    seconds = [sum(record.seconds for record in trace.records) for trace in traces.values()]
    hits = {asked: [[hit.chunk.chunk_id, hit.score] for hit in trace.hits[:50]] for asked, trace in traces.items()}
    return {"ms": round(1_000 * statistics.median(seconds), 3), "hits": hits}


def difference(one: dict[str, Any], other: dict[str, Any]) -> str:
    """Say how many questions differ in ids, and how many others in scores."""
    pairs = [(hits, other["hits"][question]) for question, hits in one["hits"].items()]
    equal = [list(zip(a, b, strict=True)) for a, b in pairs if [row[0] for row in a] == [row[0] for row in b]]
    apart = [any(abs(x[1] - y[1]) > 1e-6 * max(1, abs(y[1])) for x, y in hits) for hits in equal]
    return f"; {len(pairs) - len(equal)} differ in ids, {sum(apart)} in scores"


def main() -> None:
    options = parser(__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--compare", type=Path)
    options.add_argument("--whole", type=Path, metavar="DATA_FOLDER")
    given = options.parse_args()
    before = json.loads(given.compare.read_text("utf-8")) if given.compare else {}
    written = {}
    model = create_embedder(LOCAL_EMBEDDER, load_settings(data_dir=given.whole)) if given.whole else RandomTokens()
    with tempfile.TemporaryDirectory() as work:
        sizes = WHOLE if given.whole else SAMPLED
        for name, language, chunks, questions in corpora(given.folder, Path(work) / "samples", sizes):
            for key, strategy in ((f"{name} {strategy}", strategy) for strategy in STRATEGIES):
                written[key] = ranked(language, chunks, questions, strategy, given.whole or Path(work) / name, model)
                said = difference(written[key], before[key]) if before else ""
                print(f"{key}: {len(questions)} questions, {written[key]['ms']} ms{said}", flush=True)
            given.out.write_text(json.dumps(written), "utf-8")
