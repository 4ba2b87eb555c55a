"""Samples of the data sets on which ``presets.py`` compares the systems: every system has the same sample."""

from __future__ import annotations

import hashlib
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.script import SAMPLES
from chatbot_mvp.datasets import load_dataset
from chatbot_mvp.evaluation.kb.questions import KbQuestion, load_questions, places_of

MULTI_HOP = ("hotpotqa", "2wiki", "musique")
COLLECTIONS = ("ibmcloud", "fiqa")
_SEED = 20


@dataclass(frozen=True)
class Sizes:
    """How large a sample is at most; 0: everything."""

    queries: int
    """Queries or questions of each data set."""
    documents: int
    """Passages of a data set: those that its queries need, then random others."""
    characters: int
    """Characters from the start of a knowledge base."""


@dataclass(frozen=True)
class Sample:
    """The sample of one data set on disk."""

    name: str
    queries: int
    size: int
    """Number of passages, or of characters of a knowledge base."""
    folder: Path | None = None
    """Of passages: a data set folder."""
    document: Path | None = None
    """Of a knowledge base: its text, as its questions."""
    questions: Path | None = None

    @property
    def key(self) -> str:
        """Identifies the contents."""
        files = sorted(self.folder.rglob("*.*")) if self.folder else [self.document, self.questions]
        digest = hashlib.sha256()
        for path in files:
            if path is not None and path.is_file():
                digest.update(path.read_bytes())
        return digest.hexdigest()[:12]


def make_samples(folder: Path, into: Path, sizes: Sizes) -> list[Sample]:
    """Write the samples of the data sets that are in ``folder``, and of the sample handbook of this project."""
    found = [_passages(name, folder / name, into, sizes) for name in MULTI_HOP if (folder / name).is_dir()]
    conversations = folder / "mtrag_en"
    found += [
        _collection(name, conversations, into, sizes)
        for name in COLLECTIONS
        if (conversations / f"{name}.passages.jsonl").is_file()
    ]
    manuals = folder / "manuales_es"
    kbs = {
        "xquad_es": (folder / "xquad_es" / "kb.md", folder / "xquad_es" / "questions.jsonl"),
        **{path.stem: (path, path.with_suffix(".questions.jsonl")) for path in sorted(manuals.glob("*.md"))},
        "sample handbook": (next((SAMPLES / "kb").glob("*.md")), SAMPLES / "kb" / "preguntas.jsonl"),
    }
    found += [_kb(name, *files, into, sizes) for name, files in kbs.items() if files[0].is_file()]
    return found


def _passages(name: str, source: Path, into: Path, sizes: Sizes) -> Sample:
    whole = load_dataset(source)
    queries = {query.query_id: query.text for query in whole.queries}
    documents = {document.doc_id: (document.title, document.text) for document in whole.documents}
    qrels = {query_id: [doc for doc, grade in found.items() if grade > 0] for query_id, found in whole.qrels.items()}
    return _written(name, queries, documents, qrels, into, sizes)


def _collection(name: str, source: Path, into: Path, sizes: Sizes) -> Sample:
    """The turns that a collection answers, wholly or in part, each by its last question alone."""
    documents = {row["doc_id"]: (row["title"], row["text"]) for row in _rows(source / f"{name}.passages.jsonl")}
    turns = [row for row in _rows(source / f"{name}.conversations.jsonl") if row["kind"] in ("answerable", "partial")]
    queries = {row["id"]: row["question"] for row in turns}
    qrels = {row["id"]: [doc for doc in row["relevant"] if doc in documents] for row in turns}
    return _written(f"mtrag {name}", queries, documents, qrels, into, sizes)


def _written(
    name: str,
    queries: Mapping[str, str],
    documents: Mapping[str, tuple[str, str]],
    qrels: Mapping[str, Sequence[str]],
    into: Path,
    sizes: Sizes,
) -> Sample:
    rng = random.Random(_SEED)
    judged = [query for query in queries if qrels.get(query)]
    asked = sorted(rng.sample(judged, min(sizes.queries or len(judged), len(judged))))
    kept = list(dict.fromkeys(doc for query in asked for doc in qrels[query]))
    others = sorted(documents.keys() - set(kept))
    more = max(0, (sizes.documents or len(documents)) - len(kept))
    kept += rng.sample(others, min(more, len(others)))
    rng.shuffle(kept)
    folder = into / name.replace(" ", "_")
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    _write(
        folder / "corpus.jsonl",
        ({"_id": doc, "title": documents[doc][0], "text": documents[doc][1]} for doc in kept),
    )
    _write(folder / "queries.jsonl", ({"_id": query, "text": queries[query]} for query in asked))
    rows = [f"{query}\t{doc}\t1\n" for query in asked for doc in qrels[query]]
    (folder / "qrels" / "test.tsv").write_text("".join(["query-id\tcorpus-id\tscore\n", *rows]), "utf-8")
    return Sample(name, len(asked), len(kept), folder=folder)


def _kb(name: str, document: Path, questions: Path, into: Path, sizes: Sizes) -> Sample:
    text = document.read_text("utf-8")
    if sizes.characters and len(text) > sizes.characters:
        text = text[: text.rfind("\n\n", 0, sizes.characters)]
    asked = _chosen(load_questions(questions), text, sizes.queries)
    stem = name.replace(" ", "_")
    into.mkdir(parents=True, exist_ok=True)
    kept, file = into / f"{stem}.md", into / f"{stem}.questions.jsonl"
    kept.write_text(text, "utf-8")
    file.write_text("".join(f"{question.as_line()}\n" for question in asked), "utf-8")
    return Sample(name, len(asked), len(text), document=kept, questions=file)


def _chosen(questions: Iterable[KbQuestion], text: str, most: int) -> list[KbQuestion]:
    """Choose questions whose paragraph is in the text, and of those without one; kinds keep about their shares."""
    rng = random.Random(_SEED)
    by_kind: dict[str, list[KbQuestion]] = defaultdict(list)
    for question in questions:
        if question.kind != "answerable" or places_of(text, question.paragraph):
            by_kind[question.kind or ""].append(question)
    total = sum(map(len, by_kind.values()))
    if not most or most >= total:
        return [question for kind in by_kind.values() for question in kind]
    shares = {"answerable": 0.6, "near": 0.2, "far": 0.2}
    return [
        question
        for kind, found in by_kind.items()
        for question in rng.sample(found, min(len(found), max(1, round(most * shares.get(kind, 0.2)))))
    ]


def _rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


def _write(path: Path, rows: Iterable[Mapping[str, object]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
