"""Create any number of finished runs with random figures, to measure lists and pages.

The runner itself carries out a few of them over random retrieval records and answers, so that their files have the real
form. The others are copies with different ids, dates, strategies and means. **Their figures mean nothing.**
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import synthetic

from chatbot_mvp import __version__
from chatbot_mvp.datasets import Dataset, load_dataset
from chatbot_mvp.embedding.base import Embedder, InputType, Vectors
from chatbot_mvp.embedding.registry import Embedders
from chatbot_mvp.evaluation.benchmark.answering import GENERATE, RunModels
from chatbot_mvp.evaluation.benchmark.corpus import RunCorpus
from chatbot_mvp.evaluation.benchmark.preparation import PreparedRun, run_fingerprint
from chatbot_mvp.evaluation.benchmark.retrieving import PHASE as RETRIEVE
from chatbot_mvp.evaluation.benchmark.runner import RunParts, execute
from chatbot_mvp.exports.tables import write_detail_csv, write_summary_csv
from chatbot_mvp.llm.demo import DemoModel
from chatbot_mvp.llm.providers import Providers
from chatbot_mvp.retrieval.factory import PipelineFactory
from chatbot_mvp.runs.index import append_submission
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.records import QueryRecord, RunFolder
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.settings.model import Settings, load_settings
from chatbot_mvp.types import ignore_progress

STRATEGIES = ("LEXICAL", "BRIDGE", "HYBRID", "BRIDGE_HYBRID")
NAME = "made_up"
_FIRST = datetime(2026, 1, 1, 9, tzinfo=UTC)
_DEPTH, _CONTEXT = 20, 5


class _ByLot:
    """Vectors without a meaning, at once."""

    model_id = "by-lot"
    dimensions = 8
    batch_size = None

    def embed(self, texts: Sequence[str], input_type: InputType) -> Vectors:
        vectors = np.random.default_rng(len(texts)).normal(size=(len(texts), self.dimensions)).astype(np.float32)
        unit: Vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


def make_runs(
    data_dir: Path, runs: int, queries: int, unfinished: int = 0, documents: int = 4_000, answers: bool = True
) -> list[str]:
    """Fill a data folder; ids of the finished runs, the oldest first. A folder that was filled before is kept.

    Args:
        unfinished: runs besides, of which every record but the last is there.
    """
    settings = load_settings(data_dir=data_dir, generation_enabled=answers)
    kept = data_dir / "made_runs.json"
    if kept.is_file():
        return list(json.loads(kept.read_text("utf-8")))
    folder = settings.datasets_dir / NAME
    synthetic.make(7, documents, queries).write(folder)
    dataset = replace(load_dataset(folder), name=NAME)
    ids = [f"{_at(number):%Y%m%d_%H%M%S}_{NAME}_{_strategy(number)}" for number in range(runs + unfinished)]
    originals = min(len(STRATEGIES), runs)
    for number in range(originals):
        run = _begun(settings, dataset, ids[number], number)
        run.folder.append_records(_records(run, number))
        execute(run, _parts(settings), ignore_progress)
    for number in range(originals, runs):
        _copy(settings, ids[number % originals], ids[number], number)
    for number in range(runs, runs + unfinished):
        run = _begun(settings, dataset, ids[number], number)
        run.folder.append_records(_records(run, number)[:-1])
    kept.write_text(json.dumps(ids[:runs]), "utf-8")
    return ids[:runs]


def _at(number: int) -> datetime:
    return _FIRST + timedelta(hours=7 * number)


def _strategy(number: int) -> str:
    return STRATEGIES[number % len(STRATEGIES)]


def _begun(settings: Settings, dataset: Dataset, run_id: str, number: int) -> PreparedRun:
    own = settings.with_changes(mteb_dataset_name=NAME, retrieval_strategy=_strategy(number))
    manifest = RunManifest(
        run_id=run_id,
        dataset=NAME,
        dataset_ref=NAME,
        dataset_sha256=dataset.sha256,
        strategy=_strategy(number),
        settings_masked=own.model_dump(mode="json", exclude={"data_dir"}),
        fingerprint=run_fingerprint(own),
        code_version=__version__,
        queries=len(dataset.queries),
        documents=len(dataset.documents),
        started_at=_at(number).isoformat(timespec="milliseconds"),
        generator=own.generator,
        judge=own.judge,
    )
    folder = RunFolder(settings.results_dir, run_id)
    folder.create(manifest)
    return PreparedRun(folder, manifest, RunCorpus(dataset), own, 0.0)


def _records(run: PreparedRun, seed: int) -> list[QueryRecord]:
    """A ranking by lot, with the gold documents among its first ones, and an answer for each query."""
    lot = random.Random(seed)
    doc_ids = [document.doc_id for document in run.dataset.documents]
    records = []
    for query in run.queries:
        ranking = lot.sample(doc_ids, _DEPTH)
        for gold in run.dataset.qrels[query.query_id]:
            if gold not in ranking and lot.random() < 0.9:
                ranking[min(_DEPTH - 1, int(lot.expovariate(0.4)))] = gold
        payload: dict[str, Any] = {
            "doc_ids": ranking,
            "scores": [round(1 / rank, 6) for rank in range(1, _DEPTH + 1)],
            "evidence": None,
            "seconds": {"lexical": 0.001},
        }
        if run.settings.generation_enabled:
            payload["generation_doc_ids"] = ranking[:_CONTEXT]
            right = lot.random() < 0.6
            given = {
                "response": query.answer if right else "something else",
                "abstained": False,
                "model": "demo",
                "finish_reason": "stop",
                "seconds": 0.5,
                "usage": {"calls": 1, "cached": 0, "prompt_tokens": 0, "completion_tokens": 0},
            }
            records.append(QueryRecord(run.manifest.run_id, query.query_id, GENERATE, "ok", given))
        records.append(QueryRecord(run.manifest.run_id, query.query_id, RETRIEVE, "ok", payload))
    return sorted(records, key=lambda record: record.phase, reverse=True)


class _MadeParts(RunParts):
    def models(self, settings: Settings) -> RunModels:
        return RunModels(DemoModel(), 1, None)


class _ByLotEmbedders(Embedders):
    def _create(self, name: str) -> Embedder:
        return _ByLot()


def _parts(settings: Settings) -> RunParts:
    live = LiveSettings(settings)
    embedders, providers = _ByLotEmbedders(live), Providers(live)
    exporters = (write_summary_csv, write_detail_csv)
    return _MadeParts(PipelineFactory(embedders, providers), embedders, providers, exporters, settings.submissions_path)


def _copy(settings: Settings, original: str, run_id: str, number: int) -> None:
    """The same run under another id, a little better or worse."""
    source, folder = RunFolder(settings.results_dir, original), RunFolder(settings.results_dir, run_id)
    lot = random.Random(number)
    started = _at(number).isoformat(timespec="milliseconds")
    factor = 1 + lot.uniform(-0.06, 0.06)
    result = source.result()
    result = replace(
        result,
        run_id=run_id,
        started_at=started,
        finished_at=started,
        metrics={name: value and min(1.0, value * factor) for name, value in result.metrics.items()},
        intervals={
            name: ends and (min(1.0, ends[0] * factor), min(1.0, ends[1] * factor))
            for name, ends in result.intervals.items()
        },
    )
    folder.create(RunManifest(**{**asdict(source.manifest()), "run_id": run_id, "started_at": started}))
    for name in ("records.jsonl", "events.jsonl"):
        content = (source.path / name).read_bytes()
        (folder.path / name).write_bytes(content.replace(original.encode(), run_id.encode()))
    for path in source.path.glob(f"{original}*.csv"):
        shutil.copyfile(path, folder.path / path.name.replace(original, run_id))
    append_submission(settings.submissions_path, result)
    folder.finish(result)
