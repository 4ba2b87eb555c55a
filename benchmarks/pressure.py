"""Run against a provider that refuses and breaks requests: every query must succeed, near the possible throughput.

    python -m benchmarks pressure [--queries 600] [--calls 8] [--latency 0.1] [--limit 0] [--json]

The provider is a separate process on loopback: 20 % of all requests get 429, 5 % get 500, 2 % a broken connection, each
after the latency; with ``--limit`` it accepts that many requests per second instead. The figure is the share of the
time in which each concurrent request was at the provider, or, with a limit, the throughput relative to it, of the
phases generate and judge. The exit code is 1 if a query failed or the share is below 80 %.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.script import data_folder, parser, print_figures
from chatbot_mvp.datasets import Dataset, Query
from chatbot_mvp.embedding.registry import Embedders
from chatbot_mvp.evaluation.benchmark.answering import Answering
from chatbot_mvp.evaluation.benchmark.corpus import RunCorpus
from chatbot_mvp.evaluation.benchmark.engine import LocalEngine
from chatbot_mvp.evaluation.benchmark.preparation import PreparedRun, prepare_run
from chatbot_mvp.evaluation.benchmark.worker import RunModels, RunWorker
from chatbot_mvp.llm.creation import create_chat_model
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.llm.registry import requests_at_once
from chatbot_mvp.retrieval.factory import PipelineFactory
from chatbot_mvp.runs.journal import Journal
from chatbot_mvp.runs.payloads import RETRIEVE
from chatbot_mvp.runs.records import QueryRecord
from chatbot_mvp.runs.spending import Spending
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import Settings, load_settings
from chatbot_mvp.types import Document, ignore_progress
from tests.evaluation.benchmark.judge_stub import Faults, serve

REQUESTS_PER_TRY = 4  # NIM_MAX_RETRIES and the first
TRIES = 3
DOCUMENTS = 20


@dataclass(frozen=True)
class Pressed:
    """What came of one run."""

    queries: int
    failed: int
    """Of generate and judge together."""
    requests: int
    """That the provider counted."""
    refused: float
    """Share of 429s, 0-1."""
    most_attempts: int
    """For one prompt."""
    most_at_once: int
    seconds: float
    answers_per_second: float
    share: float
    """Of what was possible, 0-1: of the limit, or of all time of ``calls`` requests. A busy machine, on which the
    provider takes longer than its latency, changes the second little."""

    @property
    def fine(self) -> bool:
        return not self.failed and self.share >= 0.8 and self.most_attempts <= REQUESTS_PER_TRY * TRIES


def press(folder: Path, queries: int, calls: int, latency: float, faults: Faults, limit: float = 0.0) -> Pressed:
    """Answer and judge ``queries`` questions.

    Args:
        calls: requests at the same time.
        latency: of the provider, in seconds.
        limit: requests per second that the provider takes; 0: any.
    """
    with provider(latency, faults, limit) as (base_url, ask):
        (folder / "empty.env").touch()
        settings = load_settings(
            folder / "empty.env",
            data_dir=folder,
            provider="openai",
            openai_base_url=base_url,
            openai_api_key="stub-key-of-nobody",
            openai_model_name="stub",
            llm_cache_enabled=False,
            nim_max_concurrent_requests=calls,
            generation_enabled=True,
        )
        run = _retrieved(folder, queries, settings)
        model = create_chat_model(settings)
        places = requests_at_once(settings)
        models = RunModels(model, places, model, places, share_calls=True)
        live = LiveSettings(settings)
        engine = LocalEngine(RunWorker(run, PipelineFactory(Embedders(live), Providers(live)), lambda _: models))
        journal = Journal(run.folder)
        started = time.monotonic()
        Answering(run, journal, engine, Spending(run.folder), ignore_progress).work()
        seconds = time.monotonic() - started
        told = ask()
    answers = told["statuses"]["200"]
    requests = sum(told["statuses"].values())
    return Pressed(
        queries=queries,
        failed=journal.failed("generate") + journal.failed("judge"),
        requests=requests,
        refused=told["statuses"].get("429", 0) / requests,
        most_attempts=told["most_attempts"],
        most_at_once=told["most_at_once"],
        seconds=round(seconds, 2),
        answers_per_second=round(answers / seconds, 1),
        share=round(answers / seconds / limit if limit else told["working_s"] / (calls * seconds), 3),
    )


def _found(doc_id: str) -> dict[str, Any]:
    """What a run records of a query that found one document."""
    ranking = {"doc_ids": [doc_id], "scores": [1.0], "evidence": 1.0, "topic": None, "seconds": {}}
    return {**ranking, "generation_doc_ids": [doc_id]}


def _retrieved(folder: Path, queries: int, settings: Settings) -> PreparedRun:
    """A run whose rankings are there."""
    documents = tuple(
        Document(f"d{n}", f"Barca {n}", f"La barca {n} salió del puerto número {n} con viento de poniente.")
        for n in range(DOCUMENTS)
    )
    asked = tuple(
        Query(f"q{n}", f"¿De qué puerto salió la barca de la consulta {n}?", f"puerto {n}") for n in range(queries)
    )
    dataset = Dataset("presion", documents, asked, {query.query_id: {"d0": 1} for query in asked}, "0")
    run = prepare_run(folder / "results", "presion", lambda: RunCorpus(dataset), settings)
    records = [
        QueryRecord(run.folder.run_id, f"q{n}", RETRIEVE, "ok", _found(f"d{n % DOCUMENTS}")) for n in range(queries)
    ]
    run.folder.append_records(records)
    return run


@contextmanager
def provider(latency: float, faults: Faults, limit: float) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Start a stub in a process of its own; yield its address, and a function that asks for its counts."""
    context = get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=serve, args=(there, latency, faults, limit), daemon=True)
    process.start()
    try:

        def ask() -> dict[str, Any]:
            here.send("tell")
            told: dict[str, Any] = here.recv()
            return told

        if not here.poll(60):
            raise RuntimeError("the provider does not start")
        yield here.recv(), ask
    finally:
        process.kill()
        process.join(5)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--queries", type=int, default=600)
    options.add_argument("--calls", type=int, default=8)
    options.add_argument("--latency", type=float, default=0.1)
    options.add_argument("--limit", type=float, default=0.0)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--json", action="store_true")
    arguments = options.parse_args()
    faults = Faults(seed=arguments.seed) if arguments.limit else Faults(0.20, 0.05, 0.02, seed=arguments.seed)
    with data_folder(None) as folder:
        pressed = press(folder, arguments.queries, arguments.calls, arguments.latency, faults, arguments.limit)
    print_figures(asdict(pressed), arguments.json)
    return int(not pressed.fine)
