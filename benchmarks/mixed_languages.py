"""Measure what a second language costs a knowledge base: alone, in one base analysed in one language, and as it is now.

python benchmarks/mixed_languages.py DATASETS [--strategy LEXICAL,BRIDGE_HYBRID] [--order es-en,en-es] [--data FOLDER]

DATASETS has ``xquad_es/kb.md`` and ``questions.jsonl`` (Spanish), and ``mtrag_en/ibmcloud.*.jsonl`` (English), of which
each question is asked as if it were the first. The sample handbook of the project (Spanish) is measured likewise.
Each row is one set of questions over one knowledge base: hit@1 (the first chunk has half of the paragraph that
answers), mean evidence of answerable questions, share of each kind with evidence from 0.5 on, and words counted as
missing that are function words of either language, for each question.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chatbot_mvp.app import App, build_app
from chatbot_mvp.documents.parsing import parse_upload
from chatbot_mvp.retrieval.indexes import corpus
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import PROJECT_ROOT, Settings, load_settings
from chatbot_mvp.text import STOP_WORDS, Analyzer, fold

ENOUGH = 0.5


@dataclass(frozen=True)
class Asked:
    question: str
    kind: str
    paragraphs: tuple[str, ...]


@dataclass(frozen=True)
class Source:
    name: str
    text: str
    questions: tuple[Asked, ...]


def spanish(kb: Path, questions: Path) -> Source:
    rows = [json.loads(line) for line in questions.read_text("utf-8").splitlines()]
    asked = [Asked(row["question"], row["kind"], tuple(filter(None, [row.get("paragraph")]))) for row in rows]
    return Source(kb.name, kb.read_text("utf-8"), tuple(asked))


def english(folder: Path) -> Source:
    passages = [json.loads(line) for line in (folder / "ibmcloud.passages.jsonl").read_text("utf-8").splitlines()]
    texts = {row["doc_id"]: " ".join(row["text"].replace("<br>", " ").split()) for row in passages}
    turns = [json.loads(line) for line in (folder / "ibmcloud.conversations.jsonl").read_text("utf-8").splitlines()]
    asked = [
        Asked(
            turn["question"],
            "near" if turn["kind"] == "unanswerable" else "answerable",
            tuple(texts[doc] for doc in turn["relevant"] if doc in texts),
        )
        for turn in turns
        if turn["kind"] != "underspecified"
    ]
    body = "\n\n".join(f"## {text[:60]}\n\n{text}" for text in texts.values())
    return Source("cloud.md", body, tuple(asked))


def measure(app: App, sources: Sequence[Source]) -> dict[str, dict[str, float]]:
    """Return name of a source -> figures of its questions, over one knowledge base of all sources."""
    limit = app.settings.kb_max_chars
    parsed = [(each.name, parse_upload(each.name, each.text.encode(), limit, 50)) for each in sources]
    pipeline = app.kbs.pipeline(app.kbs.store.keep(parsed, limit).kb_id)
    return {
        each.name: _figures(pipeline.retrieve([asked.question for asked in each.questions]), each) for each in sources
    }


def _figures(traces: Sequence[RetrievalTrace], source: Source) -> dict[str, float]:
    stops = frozenset().union(*STOP_WORDS.values())
    evidence: dict[str, list[float]] = {}
    hits, missing = [], 0
    for trace, asked in zip(traces, source.questions, strict=True):
        evidence.setdefault(asked.kind, []).append(trace.evidence or 0.0)
        notes = {name: value for record in trace.records for name, value in record.notes.items()}
        missing += sum(fold(term) in stops for term in notes.get("missing", ()))
        if asked.kind == "answerable" and asked.paragraphs:
            text = trace.chunks_final[0].chunk.text if trace.chunks_final else ""
            hits.append(any(_covers(text, paragraph) for paragraph in asked.paragraphs))
    known = evidence["answerable"]
    found = {"hit@1": float(np.mean(hits)), "evidence": float(np.mean(known))}
    for kind, values in evidence.items():
        found[f"accepted {kind}"] = float(np.mean([value >= ENOUGH for value in values]))
        if kind != "answerable":
            found[f"auroc {kind}"] = float(np.mean([[a > b for b in values] for a in known]))
    return {**{name: round(value, 3) for name, value in found.items()}, "function words missing": missing}


def _covers(text: str, paragraph: str) -> bool:
    """Return whether a chunk has at least half of the words of a paragraph, in runs of eight."""
    words, flat = paragraph.split(), " ".join(text.split())
    runs = [" ".join(words[at : at + 8]) for at in range(0, max(1, len(words) - 7), 8)]
    return sum(run in flat for run in runs) >= len(runs) / 2


@contextmanager
def one_language() -> Iterator[None]:
    """Analyse every knowledge base in its main language alone, as earlier versions did."""
    module: Any = corpus
    now = module.analyzer_of
    module.analyzer_of = lambda chunks, main: Analyzer(main)
    try:
        yield
    finally:
        module.analyzer_of = now


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("--strategy", default="LEXICAL,BRIDGE_HYBRID")
    parser.add_argument("--order", default="es-en,en-es")
    parser.add_argument("--data", type=Path, help="folder whose cache of vectors is used again")
    given = parser.parse_args()
    samples = PROJECT_ROOT / "data" / "samples" / "kb"
    handbook = spanish(next(samples.glob("*.md")), samples / "preguntas.jsonl")
    xquad = spanish(given.datasets / "xquad_es" / "kb.md", given.datasets / "xquad_es" / "questions.jsonl")
    cloud = english(given.datasets / "mtrag_en")
    with tempfile.TemporaryDirectory() as folder:
        for strategy in given.strategy.split(","):
            settings = load_settings(data_dir=given.data or Path(folder), retrieval_strategy=strategy, provider="demo")

            def say(
                how: str, sources: Sequence[Source], settings: Settings = settings, strategy: str = strategy
            ) -> None:
                for name, figures in measure(build_app(settings), sources).items():
                    print(json.dumps({"strategy": strategy, "base": how, "questions": name, **figures}), flush=True)

            for one in (handbook, xquad, cloud):
                say("alone", [one])
            for order in given.order.split(","):
                for one in (handbook, xquad):
                    both = [one, cloud] if order == "es-en" else [cloud, one]
                    with one_language():
                        say(f"{order}, one language", both)
                    say(f"{order}, by paragraph", both)


if __name__ == "__main__":
    main()
