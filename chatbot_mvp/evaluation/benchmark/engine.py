"""EVAL_ENGINE: where the work of a run is carried out. Each engine is one row; the local one is a worker here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Protocol

from chatbot_mvp.errors import UnknownChoice
from chatbot_mvp.evaluation.benchmark.searching import Searched
from chatbot_mvp.evaluation.benchmark.worker import OnReply, RunModels, RunWorker, Task
from chatbot_mvp.plugins.registry import Registry
from chatbot_mvp.retrieval.indexes.questions import QuestionCounts
from chatbot_mvp.runs.task_loop import Done
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import ProgressCallback

BuildWorker = Callable[[Settings, str], RunWorker]
"""Settings and a run's id -> its worker. A function of a module, because each process imports it by its name."""


class Engine(Protocol):
    """Carries out the work of one run. Only ``do`` is called from several threads."""

    @property
    def models(self) -> RunModels:
        """The generator and the judge of the run, and how many requests each may have under way."""

    def prepare(self, query_ids: Sequence[str], progress: ProgressCallback, on_reply: OnReply) -> QuestionCounts | None:
        """Build the indexes and embed the queries; return the counts of the questions written for the documents.

        Args:
            on_reply: called with every reply of a language model, here and in ``search``.
        """

    def shards(self, query_ids: Sequence[str]) -> list[Sequence[str]]:
        """Cut queries into the shards of ``search``. What came of a shard is recorded at once."""

    def search(self, shards: Sequence[Sequence[str]]) -> Iterator[Searched]:
        """Yield what came of each shard of queries, in any order. Raises as ``RunWorker.search``."""

    def do(self, task: Task, on_reply: OnReply) -> Done:
        """Write or judge an answer. Raises as ``RunWorker.do``."""

    def recorded(self, phase: str, query_ids: Sequence[str]) -> None:
        """Note that the records of a shard are on disk."""


def cut(query_ids: Sequence[str], size: int) -> list[Sequence[str]]:
    """Cut queries into shards of ``size``, the last one maybe smaller."""
    return [query_ids[begin : begin + size] for begin in range(0, len(query_ids), size)]


class LocalEngine:
    """One worker in this process."""

    def __init__(self, worker: RunWorker) -> None:
        self._worker = worker

    @property
    def models(self) -> RunModels:
        return self._worker.models

    def prepare(self, query_ids: Sequence[str], progress: ProgressCallback, on_reply: OnReply) -> QuestionCounts | None:
        questions = self._worker.open(progress, on_reply)
        if self._worker.run.corpus.batch > 1:
            self._worker.embed_queries(query_ids, progress)
        return questions

    def shards(self, query_ids: Sequence[str]) -> list[Sequence[str]]:
        return cut(query_ids, self._worker.run.corpus.batch)

    def search(self, shards: Sequence[Sequence[str]]) -> Iterator[Searched]:
        return map(self._worker.search, shards)

    def do(self, task: Task, on_reply: OnReply) -> Done:
        return self._worker.do(task, on_reply)

    def recorded(self, phase: str, query_ids: Sequence[str]) -> None:
        pass


@dataclass(frozen=True, slots=True)
class RunEngine:
    """A value of EVAL_ENGINE."""

    name: str
    start: Callable[[RunWorker, BuildWorker, float | None], AbstractContextManager[Engine]]
    """Starts the engine of one run and ends it with the block.

    Args: the run's worker in this process; what builds the same worker in another process; the run's budget in US
    dollars, None for no limit. Raises ConfigurationError if the engine cannot be used.
    """
    require: Callable[[Settings], None] = lambda settings: None
    """Checks, before a run is created, what can be checked at once. Raises ConfigurationError."""
    elsewhere: bool = True
    """Whether its workers are other processes, which do not see that another provider is chosen."""


LOCAL = RunEngine("local", lambda worker, build, budget_usd: nullcontext(LocalEngine(worker)), elsewhere=False)


RUN_ENGINES: Mapping[str, RunEngine] = Registry("run_engine", RunEngine, (LOCAL,))
"""Name -> engine."""


def run_engine(settings: Settings) -> RunEngine:
    """Return the engine of EVAL_ENGINE.

    Raises:
        UnknownChoice: what adds it cannot be loaded.
    """
    if (found := RUN_ENGINES.get(settings.eval_engine)) is None:
        raise UnknownChoice(kind="EVAL_ENGINE", found=settings.eval_engine, legal=", ".join(RUN_ENGINES))
    return found
