"""Measure the answers of the provider ``demo``, which quotes passages without a language model.

    python benchmarks/demo_answers.py FOLDER... [--strategy BRIDGE]

A folder is a data set (corpus, queries, qrels) or holds knowledge bases: ``NAME.md`` with ``NAME.questions.jsonl`` or
``NAME.jsonl``, or with the folder's only ``.jsonl``. Every figure is printed for the even rows, the odd rows and all
rows, because the constants of ``chatbot_mvp/llm/extractive`` were set on even rows:

- answer_contains: share of the extractive questions whose answer contains the reference (data sets);
- in_paragraph: share of the answerable questions with at least one quote from the expected paragraph, and
  quotes_inside: mean share of an answer's quotes that are from it (knowledge bases);
- chars, quotes and ms: mean length of an answer, mean number of quoted passages, mean time.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

from chatbot_mvp.app import build_app
from chatbot_mvp.datasets import load_dataset
from chatbot_mvp.documents.chunking import chunk_document, passage_chunk
from chatbot_mvp.evaluation.benchmark.generation import tidy_answer
from chatbot_mvp.evaluation.kb.questions import load_questions, places_of
from chatbot_mvp.llm.base import ChatRequest, Completion, Grounding
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.metrics.answers.accuracy import answer_contains
from chatbot_mvp.metrics.answers.text import AnswerCase
from chatbot_mvp.retrieval.pipeline import Pipeline, growing_pipeline
from chatbot_mvp.retrieval.stages.kb_cosines import sentence_closeness
from chatbot_mvp.settings.model import load_settings
from chatbot_mvp.text import detect_language
from chatbot_mvp.types import Chunk, Document, last


@dataclass(frozen=True)
class Row:
    """The figures of one answer."""

    index: int
    """Row of the question in its file, from 0."""
    figures: dict[str, float | None] = field(default_factory=dict)


def pipeline_over(chunks: Sequence[Chunk], language: str, strategy: str) -> Pipeline:
    settings = load_settings().with_changes(retrieval_strategy=strategy)
    app = build_app(settings)
    return last(growing_pipeline(chunks, language, settings, lambda: app.embedders.of(settings)))


def answered(grounding: Grounding) -> tuple[Completion, dict[str, float | None]]:
    started = time.perf_counter()
    completion = DemoModel().complete(ChatRequest((), grounding=grounding))
    seconds = time.perf_counter() - started
    quotes = len({(quote.number, quote.start) for quote in completion.quotes or ()})
    return completion, {"chars": len(tidy_answer(completion.text)), "quotes": quotes, "ms": 1_000 * seconds}


def dataset_rows(folder: Path, strategy: str) -> Iterator[Row]:
    dataset = load_dataset(folder)
    chunks = [passage_chunk(document) for document in dataset.documents]
    pipeline = pipeline_over(chunks, dataset.language, strategy)
    traces = pipeline.retrieve([query.text for query in dataset.queries])
    for index, (query, trace) in enumerate(zip(dataset.queries, traces, strict=True)):
        passages = tuple(hit.chunk for hit in trace.chunks_final)
        completion, figures = answered(Grounding(query.text, passages, dataset.language))
        case = AnswerCase(tidy_answer(completion.text), query.answer, query.answer_type, dataset.language)
        yield Row(index, {"answer_contains": answer_contains(case), **figures})


def kb_rows(text_file: Path, question_file: Path, strategy: str) -> Iterator[Row]:
    text = text_file.read_text(encoding="utf-8")
    language = detect_language(text)
    pipeline = pipeline_over(chunk_document(Document("kb", text_file.stem, text)), language, strategy)
    questions = load_questions(question_file)
    traces = pipeline.retrieve([question.question for question in questions])
    for index, (question, trace) in enumerate(zip(questions, traces, strict=True)):
        if question.kind not in (None, "answerable"):
            continue
        passages = tuple(hit.chunk for hit in trace.chunks_final)
        closeness = sentence_closeness(trace, pipeline.index)
        completion, figures = answered(Grounding(question.question, passages, language, closeness))
        places = places_of(text, question.paragraph)
        inside = []
        for quote in completion.quotes or ():
            offset = passages[quote.number - 1].start
            inside.append(any(offset + quote.start < end and offset + quote.end > begin for begin, end in places))
        yield Row(index, {"in_paragraph": any(inside), "quotes_inside": mean(inside) if inside else 0.0, **figures})


def kb_files(folder: Path) -> Iterator[tuple[Path, Path]]:
    """Yield (text, questions) of each knowledge base in a folder."""
    for text in sorted(folder.glob("*.md")):
        named = [path for end in (".questions.jsonl", ".jsonl") if (path := text.with_suffix(end)).exists()]
        found = named or sorted(folder.glob("*.jsonl"))
        if found:
            yield text, found[0]


def summary(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    halves = {"even": [row for row in rows if row.index % 2 == 0], "odd": [row for row in rows if row.index % 2]}
    return {name: means(half) for name, half in {**halves, "all": list(rows)}.items()}


def means(rows: Sequence[Row]) -> dict[str, float]:
    names = rows[0].figures if rows else {}
    values = {name: [value for row in rows if (value := row.figures[name]) is not None] for name in names}
    return {name: round(mean(found), 3) for name, found in values.items() if found}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--strategy", default="BRIDGE")
    given = parser.parse_args()
    for folder in given.folders:
        if any(folder.glob("corpus.*")):
            print(folder.name, json.dumps(summary(list(dataset_rows(folder, given.strategy)))), flush=True)
            continue
        for text, questions in kb_files(folder):
            print(text.stem, json.dumps(summary(list(kb_rows(text, questions, given.strategy)))), flush=True)


if __name__ == "__main__":
    main()
