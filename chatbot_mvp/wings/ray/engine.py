"""The engine of EVAL_ENGINE=ray: as many workers as the cluster has CPUs, each a process with the whole run."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from chatbot_mvp.embedding.base import InputType
from chatbot_mvp.embedding.cache import PART_CHARS, VectorCache, parts
from chatbot_mvp.evaluation.benchmark.chunk_texts import missing_chunk_texts, texts_to_embed
from chatbot_mvp.evaluation.benchmark.engine import BuildWorker, RunEngine, cut
from chatbot_mvp.evaluation.benchmark.searching import Searched
from chatbot_mvp.evaluation.benchmark.worker import OnReply, RunModels, RunWorker, Task
from chatbot_mvp.llm.base import ignore_reply
from chatbot_mvp.retrieval.indexes.corpus import vector_cache_path
from chatbot_mvp.retrieval.indexes.questions import QuestionCounts
from chatbot_mvp.retrieval.strategies import asks_while_searching, get_strategy
from chatbot_mvp.runs.parts import ShardParts
from chatbot_mvp.runs.task_loop import THREADS_PER_CALL, Done
from chatbot_mvp.types import Progress, ProgressCallback
from chatbot_mvp.wings.ray.connection import connected, require_ray
from chatbot_mvp.wings.ray.limits import forget_worker, start_limits
from chatbot_mvp.wings.ray.pool import Pool
from chatbot_mvp.wings.ray.remote import RemoteWorker, Returned

T = TypeVar("T")

_COMPUTE = "compute"
"""Concurrency group of the methods that compute, one at a time in each worker."""
_AHEAD = 2
"""Shards that each worker has: one under way and one waiting."""
_MOST_QUERIES = 128
"""Queries in a shard: a second of search. More of them are not faster, and a death would lose more."""
_SHARDS_PER_WORKER = 8


class RayEngine:
    """Gives the shards of a run to the workers of a cluster."""

    def __init__(self, worker: RunWorker, pool: Pool, one_at_a_time: bool) -> None:
        """
        Args:
            worker: builds the indexes in this process.
            one_at_a_time: True to have one shard of queries under way, so that the budget is checked between them.
        """
        self._worker = worker
        self._pool = pool
        self._one_at_a_time = one_at_a_time
        self._parts = ShardParts(worker.run.folder, worker.run.manifest)
        self._on_reply: OnReply = ignore_reply

    @property
    def models(self) -> RunModels:
        return self._worker.models

    def prepare(self, query_ids: Sequence[str], progress: ProgressCallback, on_reply: OnReply) -> QuestionCounts | None:
        self._on_reply = on_reply
        run = self._worker.run
        strategy = get_strategy(run.settings.retrieval_strategy)
        chunks = run.corpus.chunks()
        for phase, prompts in missing_chunk_texts(chunks, run.language, run.settings).items():
            self._write_texts(phase, prompts, progress)
        if strategy.needs_vectors:
            self._embed(texts_to_embed(chunks, run.language, run.settings), "passage", "embed_corpus", progress)
        # Every index is now built in one place, and the workers load it.
        questions = self._worker.open(progress, on_reply)
        self._worker.close()
        if strategy.needs_vectors:
            text_of = {query.query_id: query.text for query in run.queries}
            self._embed([text_of[query_id] for query_id in query_ids], "query", "embed_queries", progress)
        return questions

    def shards(self, query_ids: Sequence[str]) -> list[Sequence[str]]:
        settings, least = self._worker.run.settings, self._worker.run.corpus.batch
        if self._one_at_a_time or asks_while_searching(settings):
            return cut(query_ids, least)
        # Large shards cost less time for each query. A worker has several, so that all end at about the same time.
        return cut(query_ids, max(least, min(_MOST_QUERIES, len(query_ids) // (_SHARDS_PER_WORKER * self._pool.size))))

    def search(self, shards: Sequence[Sequence[str]]) -> Iterator[Searched]:
        at_once = 1 if self._one_at_a_time else _AHEAD * self._pool.size
        for returned in self._pool.map("search", zip(shards), at_once, _COMPUTE):
            yield self._value(returned, self._on_reply)

    def do(self, task: Task, on_reply: OnReply) -> Done:
        returned: Returned[Done] = self._pool.call("do", task)
        return self._value(returned, on_reply)

    def recorded(self, phase: str, query_ids: Sequence[str]) -> None:
        self._parts.forget([self._parts.path(phase, query_ids)])

    def _write_texts(self, phase: str, prompts: Sequence[str], progress: ProgressCallback) -> None:
        shards = [(phase, shard) for shard in cut(prompts, self._worker.run.settings.retrieval_context_batch_size)]
        at_once = 1 if self._one_at_a_time else self._pool.size
        done, started = 0, time.monotonic()
        progress(Progress(phase, 0, len(prompts)))
        for returned in self._pool.map("write_texts", shards, at_once, _COMPUTE):
            done += self._value(returned, self._on_reply)
            progress(Progress(phase, done, len(prompts), time.monotonic() - started))

    def _embed(self, texts: Sequence[str], input_type: InputType, phase: str, progress: ProgressCallback) -> None:
        embedder = self._worker.embedder()
        cache = VectorCache(vector_cache_path(self._worker.run.settings.cache_dir))
        missing = cache.missing(embedder, texts, input_type)
        groups = [(group, input_type) for group in parts(missing, len, PART_CHARS, embedder.batch_size)]
        total = len(set(texts))
        before = done = total - len(missing)
        progress(Progress(phase, done, total, 0.0, before))
        for returned in self._pool.map("embed", groups, _AHEAD * self._pool.size, _COMPUTE):
            done += self._value(returned, ignore_reply)
            progress(Progress(phase, done, total, 0.0, before))

    def _value(self, returned: Returned[T], on_reply: OnReply) -> T:
        for completion in returned.replies:
            on_reply(completion)
        if returned.error is not None:
            raise returned.error
        assert returned.value is not None
        return returned.value


@contextmanager
def ray_engine(worker: RunWorker, build: BuildWorker, budget_usd: float | None) -> Iterator[RayEngine]:
    """Connect to the cluster and start the workers of a run; end them with the block.

    Args:
        worker: the run's worker in this process.
        build: builds the same worker in another process.
        budget_usd: the run's budget; None for no limit.

    Raises:
        MissingPackage, RayError (ray_unreachable, ray_version_mismatch)
    """
    run, settings = worker.run, worker.run.settings
    with connected(settings) as ray:
        size = max(1, int(ray.cluster_resources().get("CPU", 1)))
        lanes = [settings.nim_max_concurrent_requests] * 2
        if settings.generation_enabled:
            models = worker.models
            lanes = [models.generator_calls, models.judge_calls]
        waiting = THREADS_PER_CALL * sum(lanes)
        cap, rate = settings.nim_max_concurrent_requests, settings.nim_max_requests_per_second
        limits = start_limits(ray, run.manifest.run_id, cap, rate, waiting)
        # Each worker has one CPU, so a local model reads one text at a time in it.
        of_worker = settings.with_changes(embedding_threads=1)
        actor = ray.remote(num_cpus=1, concurrency_groups={_COMPUTE: 1})(RemoteWorker)
        spawning = actor.options(max_concurrency=max(2, -(-waiting // size)))

        def spawn(name: str) -> Any:
            return spawning.remote(build, of_worker, run.manifest.run_id, limits, name)

        pool = Pool(ray, run.manifest.run_id, size, spawn, lambda name: forget_worker(limits, name))
        try:
            yield RayEngine(worker, pool, one_at_a_time=budget_usd is not None)
        finally:
            pool.close()
            ray.kill(limits)


ENGINE = RunEngine("ray", ray_engine, require_ray)
