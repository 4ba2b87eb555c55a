"""Time the indexing of a knowledge base of 120,000 characters, and a question over it.

python benchmarks/kb_scale.py ../shared/datasets/xquad_es [STRATEGY]

The text is the data set's, followed by copies of its paragraphs in which every word of five or more letters is
rewritten, so that nothing is repeated. Index seconds cover chunking and indexing, without vectors and caches.
"""

from __future__ import annotations

import json
import re
import sys
import tempfile
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.cache import VectorCache
from chatbot_mvp.embedding.registry import create_embedder
from chatbot_mvp.evaluation.kb.questions import load_questions
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.types import Document, last

CHARS = 120_000


def _rewritten(ending: str, word: re.Match[str]) -> str:
    return word.group()[:-2][::-1].capitalize() + ending


def distinct_text(text: str, chars: int) -> str:
    """``text`` and rewritten copies of it up to ``chars`` characters."""
    parts, copy = [text], 0
    while sum(map(len, parts)) < chars:
        copy += 1
        ending = "aeiou"[copy % 5] + "lrnst"[copy % 5]
        parts.append(re.sub(r"[^\W\d_]{5,}", partial(_rewritten, ending), text))
    return "\n\n".join(parts)[:chars]


def main() -> int:
    if len(sys.argv) < 2:
        print(__doc__)
        return 2
    folder = Path(sys.argv[1])
    strategy = sys.argv[2] if len(sys.argv) > 2 else "LEXICAL"
    text = distinct_text(next(folder.glob("*.md")).read_text("utf-8"), CHARS)
    questions = [question.question for question in load_questions(folder / "questions.jsonl")]
    times = []

    def make() -> Embedder:
        return create_embedder(load_settings().embedding_model_name, load_settings())

    for _ in range(3):
        with tempfile.TemporaryDirectory() as data:
            settings = load_settings(data_dir=Path(data), retrieval_strategy="LEXICAL")
            started = time.perf_counter()
            chunks = chunk_document(Document("kb", "kb", text))
            last(growing_pipeline(chunks, "es", settings, make))
            times.append(time.perf_counter() - started)
    settings = load_settings(retrieval_strategy=strategy)
    pipeline = last(growing_pipeline(chunks, "es", settings, make))
    seconds = []
    with tempfile.TemporaryDirectory() as data:
        # Every question must be new: cached embeddings of an earlier run would make it look faster than it is.
        side = pipeline.index.dense
        fresh = replace(side, cache=VectorCache(Path(data) / "vectors.sqlite")) if side else None
        pipeline = Pipeline(replace(pipeline.index, dense=fresh), pipeline.config)
        pipeline.retrieve(["¿?"])
        for question in questions:
            started = time.perf_counter()
            pipeline.retrieve([question])
            seconds.append(time.perf_counter() - started)
    found = {
        "strategy": strategy,
        "chars": len(text),
        "chunks": len(chunks),
        "index_seconds_first": round(times[0], 4),
        "index_seconds_best": round(min(times), 4),
        "seconds_per_question_p50": round(float(np.percentile(seconds, 50)), 5),
        "seconds_per_question_p95": round(float(np.percentile(seconds, 95)), 5),
    }
    print(json.dumps(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
