"""A knowledge base and its questions as a data set: the documents are its chunks, the judgements are paragraphs.

A chunk is relevant to a question if it covers at least half of the expected paragraph, by offsets. One relevant chunk
is enough, so that only hit@k and MRR are scored, over the passages that the chat would answer from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from chatbot_mvp.chat.followup import Search
from chatbot_mvp.chat.relevance import MIN_TOPIC
from chatbot_mvp.datasets import Dataset, Query
from chatbot_mvp.datasets.sampling import Sample
from chatbot_mvp.errors import DatasetError
from chatbot_mvp.evaluation.benchmark.corpus import RunCorpus, Scored
from chatbot_mvp.evaluation.kb.questions import KbQuestion, auroc, load_questions, places_of, unique_ids
from chatbot_mvp.evaluation.kb.strict_mode import chat_answer, outcome_of, said_in
from chatbot_mvp.knowledge_base.filters import DocumentFilter
from chatbot_mvp.knowledge_base.knowledge_bases import KnowledgeBases
from chatbot_mvp.knowledge_base.record import KbRecord
from chatbot_mvp.llm.base import ChatModel, Completion
from chatbot_mvp.metrics.decisions import ANSWERABLE, UNANSWERABLE, Decision
from chatbot_mvp.metrics.registry import metrics_of, ranking_metrics
from chatbot_mvp.metrics.spec import MetricSpec
from chatbot_mvp.retrieval.factory import PipelineFactory
from chatbot_mvp.retrieval.kb.passages import join_pieces
from chatbot_mvp.retrieval.pipeline import Pipeline
from chatbot_mvp.runs.kinds import KB
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.payloads import Retrieved, Span, retrieved_of
from chatbot_mvp.runs.records import QueryRecord, RunFolder
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.storage.files import write_atomically
from chatbot_mvp.types import Chunk, Document, ProgressCallback, last

QUESTIONS = "questions.jsonl"
"""File in the folder of a KB run: the questions as they were when it started, since a set may be edited later."""

_FAMILIES = ("hit", "mrr")
_DEEPEST = 3  # cutoff that is scored even if KB_TOP_K is smaller


@dataclass(frozen=True)
class KbCorpus(RunCorpus):
    """The chunks of a knowledge base, and questions about it."""

    kbs: KnowledgeBases
    record: KbRecord
    questions: Mapping[str, KbQuestion]
    places: Mapping[str, tuple[Span, ...]]
    """Question id -> where its expected paragraph occurs; empty if none is expected or it does not occur."""
    origin: Mapping[str, Any]
    """``set_id`` and ``set_name`` of the question set, how many of its answerable questions rules made
    (``automatic``), and the ids of all that rules or a model made (``proposed``)."""
    chunk_chars: int
    """RETRIEVAL_CHUNK_CHARS of its chunks."""
    keeps_pipelines: bool = True
    """Whether pipelines come from those of the chat and stay there. False if many configurations are measured, whose
    pipelines would push those of the chat out of memory."""

    kind: ClassVar[str] = KB
    judged_only: ClassVar[bool] = False  # questions without an answer are measured by their decision
    keeps_context: ClassVar[bool] = True

    def sampled(self, settings: Settings) -> tuple[RunCorpus, Sample]:
        chars = settings.retrieval_chunk_chars
        if chars == self.chunk_chars:
            return super().sampled(settings)
        # The documents and judgements are chunks, so that other chunks make another corpus of the same questions.
        asked, version = tuple(self.questions.values()), self.record.version
        other = kb_corpus(self.kbs, self.record.kb_id, asked, self.origin, chars, version)
        return replace(other, keeps_pipelines=self.keeps_pipelines).sampled(settings)

    @property
    def batch(self) -> int:
        # In a run, each question has a time of its own, as in the chat.
        return 1 if self.keeps_pipelines else super().batch

    def language(self, settings: Settings) -> str:
        return self.record.language

    def lock_path(self, settings: Settings) -> Path:
        """A lock of the KB runs, so that a few questions do not wait for a long benchmark."""
        return settings.kb_run_lock_path

    def chunks(self) -> list[Chunk]:
        return searched_chunks(self.kbs, self.record.kb_id, self.chunk_chars, self.record.version)

    def passages(self, doc_ids: Iterable[str]) -> list[Chunk]:
        return [self._chunks[doc_id] for doc_id in doc_ids]

    def pipeline(
        self,
        factory: PipelineFactory,
        settings: Settings,
        progress: ProgressCallback,
        on_reply: Callable[[Completion], None],
    ) -> Pipeline:
        """Return the pipeline that the chat answers with, under the settings of the run."""
        if not self.keeps_pipelines:
            kb_id, language = self.record.kb_id, self.record.language
            chunks = self.kbs.chunks(kb_id, self.chunk_chars, self.record.version)
            grown = last(factory.grow(chunks, language, settings, progress, kb_id=kb_id, on_reply=on_reply))
            documents = DocumentFilter.from_text(settings.kb_filter)
            return self.kbs.limited(kb_id, grown, documents, self.record.version)
        version = self.record.version
        return self.kbs.pipeline_under(self.record.kb_id, settings, progress, on_reply, factory, version)

    def notes(
        self, query: Query, found: Search, pipeline: Pipeline, settings: Settings, model: Callable[[], ChatModel]
    ) -> Mapping[str, Any]:
        """Return what the chat says, and where the passages and the expected paragraph are in the text."""
        said: dict[str, Any] = {}
        if self.keeps_pipelines:  # a tune compares rankings alone
            # With a history, the chat may ask its model to rewrite the question, which no ranking here does.
            search = None if query.history else found
            answer = chat_answer(pipeline, query.text, model(), settings, query.history, search)
            said["said"] = asdict(said_in(answer))
        chunks = [hit.chunk for hit in found.trace.chunks_final]
        return {
            **said,
            "passages": [[chunk.chunk_id, chunk.section, chunk.start, chunk.end] for chunk in chunks],
            "places": [list(place) for place in self.places[query.query_id]],
        }

    def scored(self, query: Query, retrieved: Retrieved | None, settings: Settings) -> Scored:
        relevant = self.dataset.qrels.get(query.query_id, {})
        specs = _specs(settings)
        threshold = settings.kb_min_evidence
        if retrieved is None:
            labelled = query.question_type in UNANSWERABLE or bool(relevant)
            decisions = _decisions(
                Decision(query.question_type, 0.0, threshold, outcome="missed" if labelled else None)
            )
            return Scored((), tuple(relevant)[:1], dict.fromkeys([*specs, *decisions]))
        ranking = retrieved.generation_doc_ids or ()
        # One of the relevant chunks is enough: the one that this ranking has highest stands for the paragraph.
        best = next((doc_id for doc_id in (*ranking, *retrieved.doc_ids, *relevant) if doc_id in relevant), None)
        gold = {} if best is None else {best: 1}
        evidence = (retrieved.evidence or 0.0) if ranking else 0.0
        metrics = {name: spec.score(ranking, gold) for name, spec in specs.items()}
        on_topic = retrieved.topic is None or retrieved.topic >= MIN_TOPIC
        rank = ranking.index(best) + 1 if best in ranking else None
        expects = query.question_type == ANSWERABLE and bool(relevant)
        said = retrieved.answer
        outcome = outcome_of(said, query.question_type or None, retrieved.places) if said else None
        metrics |= _decisions(Decision(query.question_type, evidence, threshold, on_topic, expects, rank, outcome))
        return Scored(ranking, tuple(gold), metrics, evidence)

    def completed(self, result: RunResult, retrieved: Mapping[str, QueryRecord], settings: Settings) -> RunResult:
        evidence: dict[str, list[float]] = {kind: [] for kind in (ANSWERABLE, *UNANSWERABLE)}
        for row in result.per_query:
            if row.question_type in evidence and row.evidence is not None:
                evidence[row.question_type].append(row.evidence)
        taken = [sum(retrieved_of(record).seconds.values()) for record in retrieved.values() if record.status == "ok"]
        return replace(
            result,
            chat_model=settings.language_model if self.keeps_pipelines else "",
            auroc={kind: auroc(evidence[ANSWERABLE], evidence[kind]) for kind in UNANSWERABLE},
            question_seconds={f"p{q}": float(np.percentile(taken, q)) for q in (50, 95)} if taken else {},
        )

    def facts(self) -> dict[str, Any]:
        record = self.record
        return {
            "kb_id": record.kb_id,
            "kb_sha256": record.sha256,
            "kb_version": record.number,
            "kb_version_id": record.version,
            **self.origin,
        }

    def keep(self, folder: RunFolder) -> None:
        lines = "".join(f"{question.as_line()}\n" for question in self.questions.values())
        write_atomically(folder.path / QUESTIONS, lines.encode("utf-8", "replace"))

    @cached_property
    def _chunks(self) -> dict[str, Chunk]:
        return {chunk.chunk_id: chunk for chunk in self.chunks()}


def kb_corpus(
    kbs: KnowledgeBases,
    kb_id: str,
    questions: Sequence[KbQuestion],
    origin: Mapping[str, Any],
    chunk_chars: int,
    version: str = "",
) -> KbCorpus:
    """Make the data set of a knowledge base and questions about it.

    Args:
        chunk_chars: RETRIEVAL_CHUNK_CHARS of the chunks.
        version: number or id of the version; "" for the current one.

    Raises:
        KbNotFound, KbUnreadable, KbChangeError (kb_version_not_found)
    """
    record = kbs.store.record(kb_id, version)
    text = kbs.document(kb_id, record.version).text
    chunks = searched_chunks(kbs, kb_id, chunk_chars, record.version)
    ids = unique_ids([question.question_id for question in questions])
    asked = {name: replace(question, question_id=name) for name, question in zip(ids, questions, strict=True)}
    documents = {chunk.chunk_id: Document(chunk.chunk_id, chunk.section, chunk.text, kb_id) for chunk in chunks}
    places: dict[str, tuple[Span, ...]] = {}
    qrels: dict[str, dict[str, int]] = {}
    for name, question in asked.items():
        expects = question.kind in (None, ANSWERABLE)
        places[name] = places_of(text, question.paragraph) if expects else ()
        if places[name]:
            relevant = _covering(chunks, places[name])
            if not relevant:
                # No chunk covers half of so long a paragraph. As a document of its own it is never found.
                start, end = places[name][0]
                relevant = [f"{kb_id}:{start}-{end}"]
                documents[relevant[0]] = Document(relevant[0], question.heading or "", text[start:end], kb_id)
            qrels[name] = dict.fromkeys(relevant, 1)
    queries = tuple(
        Query(
            name,
            question.question,
            next(iter(question.answers), ""),
            question_type=question.kind or "",
            history=question.history,
        )
        for name, question in asked.items()
    )
    sha256 = _identity(record, asked.values())
    dataset = Dataset(f"{kb_id}/{origin['set_name']}", tuple(documents.values()), queries, qrels, sha256)
    return KbCorpus(dataset, kbs, record, asked, places, origin, chunk_chars)


def expected_of(folder: RunFolder, manifest: RunManifest, result: RunResult) -> dict[str, str]:
    """Return query id -> the passage that a question of a KB run expects; "" if its version has it not.

    Empty for another kind of run, and if its questions cannot be read.
    """
    if manifest.kind != KB:
        return {}
    try:
        asked = {one.question_id: one.paragraph or "" for one in load_questions(folder.path / QUESTIONS)}
    except DatasetError:
        return {}
    return {row.query_id: asked.get(row.query_id, "") if row.gold else "" for row in result.per_query}


def searched_chunks(kbs: KnowledgeBases, kb_id: str, chars: int, version: str = "") -> list[Chunk]:
    """Return the chunks that a search can find: the pieces of a long paragraph are one chunk there.

    Args:
        chars: RETRIEVAL_CHUNK_CHARS of the search.
        version: number or id of the version that is searched; "" for the current one.
    """
    return join_pieces(kbs.contents(kb_id, chars, version).chunks)


def _covering(chunks: Sequence[Chunk], places: Sequence[Span]) -> list[str]:
    """Return the ids of the chunks that cover at least half of one of the places."""
    return [
        chunk.chunk_id
        for chunk in chunks
        if any(2 * (min(end, chunk.end) - max(start, chunk.start)) >= end - start for start, end in places)
    ]


def _identity(record: KbRecord, questions: Iterable[KbQuestion]) -> str:
    """Return the SHA-256 of what decides the figures: the text, and each question without its heading and document."""
    digest = hashlib.sha256(record.sha256.encode())
    for question in questions:
        digest.update(replace(question.asked, heading=None).as_line().encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def _specs(settings: Settings) -> dict[str, MetricSpec]:
    found = ranking_metrics(max(_DEEPEST, settings.kb_top_k))
    return {name: spec for name, spec in found.items() if spec.family in _FAMILIES}


def _decisions(case: Decision) -> dict[str, float | None]:
    """Return the decision metrics that apply to the kind of question."""
    scores = {name: spec.score(case) for name, spec in metrics_of("decision").items()}
    return {name: score for name, score in scores.items() if score is not None}
