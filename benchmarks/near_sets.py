"""Knowledge bases with questions that they answer, near ones and far ones, of several kinds, for ``near``."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from benchmarks.everyday import FOLDER, HALVES, questions_of
from benchmarks.script import SAMPLES
from chatbot_mvp.documents.chunking import chunk_document
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.evaluation.kb.questions import KbQuestion, load_questions, places_of
from chatbot_mvp.metrics.decisions import NEAREST
from chatbot_mvp.retrieval.pipeline import growing_pipeline
from chatbot_mvp.retrieval.trace import RetrievalTrace
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Document, last

MTRAG = {"answerable": "answerable", "partial": "answerable", "unanswerable": "near"}
"""Kind of a turn of MTRAG-UN -> kind of a question. Underspecified turns are left out."""


@dataclass(frozen=True)
class Kb:
    """Documents in one language, and questions about them."""

    documents: Sequence[Document]
    language: str
    questions: Sequence[KbQuestion]


@dataclass(frozen=True)
class Asked:
    """A question and what the default strategy found for it."""

    question: KbQuestion
    trace: RetrievalTrace
    useful: bool | None
    """Whether the paragraph that answers is among the first three passages; None if it is not known."""

    @property
    def evidence(self) -> float:
        return (self.trace.evidence or 0.0) if self.trace.chunks_final else 0.0


def collections(shared: Path) -> dict[str, Callable[[], list[Kb]]]:
    """Return name -> the knowledge bases of a kind.

    Args:
        shared: folder with ``xquad_es``, ``manuales_es`` and ``mtrag_en``.
    """
    handbook = SAMPLES / "kb"
    return {
        "xquad": lambda: [_of_file(shared / "xquad_es" / "kb.md", shared / "xquad_es" / "questions.jsonl")],
        **{name: partial(_manual, shared / "manuales_es", name) for name in ("aptitude", "debian_reference")},
        "handbook": lambda: [_of_file(handbook / "politica_empresa.md", handbook / "preguntas.jsonl")],
        "everyday": lambda: [_everyday(name) for half in HALVES.values() for name in half],
        "mtrag ibmcloud": lambda: [_mtrag(shared / "mtrag_en", "ibmcloud")],
        "mtrag fiqa": lambda: [_mtrag(shared / "mtrag_en", "fiqa")],
    }


def ask(kb: Kb, settings: Settings, embedder: Embedder) -> Iterator[Asked]:
    """Ask every question of a knowledge base."""
    chunks = [chunk for document in kb.documents for chunk in chunk_document(document)]
    pipeline = last(growing_pipeline(chunks, kb.language, settings, lambda: embedder))
    text = kb.documents[0].text
    for question, trace in zip(kb.questions, pipeline.retrieve([one.question for one in kb.questions]), strict=True):
        places = places_of(text, question.paragraph) if question.kind == "answerable" else ()
        shown = [
            2 * (min(end, hit.chunk.end) - max(start, hit.chunk.start)) >= end - start
            for hit in trace.chunks_final[:NEAREST]
            for start, end in places
        ]
        yield Asked(question, trace, any(shown) if places else None)


def undecided(kbs: Sequence[Kb], settings: Settings, embedder: Embedder) -> list[Asked]:
    """Ask some knowledge bases; return the answerable and the near questions for which anything was found."""
    asked = (one for kb in kbs for one in ask(kb, settings, embedder))
    return [one for one in asked if one.question.kind in ("answerable", "near") and one.trace.chunks_final]


def _of_file(text: Path, questions: Path) -> Kb:
    return Kb([Document("kb", "kb", text.read_text("utf-8"))], "es", load_questions(questions))


def _manual(folder: Path, name: str) -> list[Kb]:
    return [_of_file(folder / f"{name}.md", folder / f"{name}.questions.jsonl")]


def _everyday(name: str) -> Kb:
    """Questions without an accepted answer are near ones. A follow-up is asked behind the question before."""
    text = (FOLDER / f"{name}.md").read_text("utf-8")
    asked = [
        KbQuestion(one.id, f"{one.before} {one.question}".strip(), "answerable" if one.accept else "near")
        for one in questions_of(name)
    ]
    return Kb([Document("kb", "kb", text)], "en" if name.endswith("_en") else "es", asked)


def _mtrag(folder: Path, name: str) -> Kb:
    """The last question of each turn alone."""

    def rows(kind: str) -> Iterator[dict[str, str]]:
        for line in (folder / f"{name}.{kind}.jsonl").read_text("utf-8").splitlines():
            yield json.loads(line)

    documents = [Document(row["doc_id"], row["title"] or row["doc_id"], row["text"]) for row in rows("passages")]
    asked = [
        KbQuestion(row["id"], row["question"], MTRAG[row["kind"]])
        for row in rows("conversations")
        if row["kind"] in MTRAG
    ]
    return Kb(documents, "en", asked)
