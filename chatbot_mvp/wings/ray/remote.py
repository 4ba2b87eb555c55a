"""A worker of a run in a process of its own, as a Ray actor."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from chatbot_mvp.embedding.base import InputType
from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.evaluation.benchmark.engine import BuildWorker
from chatbot_mvp.evaluation.benchmark.searching import Searched
from chatbot_mvp.evaluation.benchmark.worker import Task
from chatbot_mvp.llm.base import Completion
from chatbot_mvp.remote.limiter import make_limiters_by
from chatbot_mvp.runs.parts import ShardPart, ShardParts
from chatbot_mvp.runs.payloads import RETRIEVAL, RETRIEVE
from chatbot_mvp.runs.task_loop import Done
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import ignore_progress
from chatbot_mvp.wings.ray.limits import SharedLimiter

T = TypeVar("T")


@dataclass(frozen=True)
class Returned(Generic[T]):
    """What a worker returns: a value or an error of the project, and every reply of a model."""

    value: T | None
    error: ChatbotError | None
    replies: list[Completion]


class RemoteWorker:
    """Carries out the work of a ``RunWorker`` and writes each shard as a part before it returns the shard.

    ``do`` runs in several threads of the process, the other methods one at a time.
    """

    def __init__(self, build: BuildWorker, settings: Settings, run_id: str, limits: Any, name: str) -> None:
        """
        Args:
            limits: handle of the actor with the limiters of the run.
            name: of this worker, unique in the run.
        """
        self._lock = threading.Lock()
        self._replies: list[Completion] = []
        self._opened = False
        make_limiters_by(lambda *address: SharedLimiter(limits, name, *address))
        self._error: ChatbotError | None = None
        try:
            self._worker = build(settings, run_id)
            self._parts = ShardParts(self._worker.run.folder, self._worker.run.manifest)
            if settings.generation_enabled:
                # Made now: while a client is being made, requests with a slot would pile up and then leave at once.
                _ = self._worker.models
        except ChatbotError as error:
            self._error = error

    def ready(self) -> ChatbotError | None:
        """Return None when the data set is loaded, or why it cannot be."""
        return self._error

    def embed(self, texts: Sequence[str], input_type: InputType) -> Returned[int]:
        """Put the vectors of some texts into the cache; return the number of texts."""
        with self._lock:
            try:
                self._worker.embed(texts, input_type)
            except ChatbotError as error:
                return Returned(None, error, [])
            return Returned(len(texts), None, [])

    def write_texts(self, phase: str, prompts: Sequence[str]) -> Returned[int]:
        """Write contexts or questions of documents into the cache; return the number of prompts."""
        replies: list[Completion] = []
        with self._lock:
            try:
                self._worker.write_texts(phase, prompts, replies.append)
            except ChatbotError as error:
                return Returned(None, error, replies)
            return Returned(len(prompts), None, replies)

    def search(self, query_ids: Sequence[str]) -> Returned[Searched]:
        """Search some queries. The first call opens the indexes."""
        with self._lock:
            path = self._parts.path(RETRIEVE, query_ids)
            if (part := self._parts.read(path)) is not None:
                return Returned(Searched(part.records), None, part.replies)
            replies: list[Completion] = []
            self._replies = replies
            try:
                if not self._opened:
                    # The replies of later shards go to the list that is in use then.
                    self._worker.open(ignore_progress, lambda completion: self._replies.append(completion))
                    self._opened = True
                found = self._worker.search(query_ids)
            except ChatbotError as error:
                return Returned(None, error, replies)
            if not found.refused and all(record.status == "ok" for record in found.records):
                self._parts.write(path, ShardPart(found.records, RETRIEVAL, replies))
            return Returned(found, None, replies)

    def do(self, task: Task) -> Returned[Done]:
        """Write or judge an answer."""
        path = self._parts.path(task.phase, [task.query_id])
        if (part := self._parts.read(path)) is not None:
            return Returned(Done(part.records[0]), None, part.replies)
        replies: list[Completion] = []
        try:
            done = self._worker.do(task, replies.append)
        except ChatbotError as error:
            return Returned(None, error, replies)
        if done.record.status == "ok":
            self._parts.write(path, ShardPart([done.record], task.phase, replies))
        return Returned(done, None, replies)
