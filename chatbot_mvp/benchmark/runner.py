"""Carries out a benchmark run: load, index, retrieve, aggregate, export. Whatever is recorded is not done again."""

from __future__ import annotations

import logging
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatbot_mvp import __version__
from chatbot_mvp.benchmark.causes import cause_of, outcome_of_row
from chatbot_mvp.benchmark.datasets import Dataset, Query
from chatbot_mvp.benchmark.datasets.sampling import sample
from chatbot_mvp.benchmark.figures import context_metrics, run_figures
from chatbot_mvp.benchmark.records import QueryRecord, RunFolder, RunManifest, utc_now, write_json
from chatbot_mvp.errors import RunAlreadyFinished, RunMismatch, RunOutOfQuota, RunStopped
from chatbot_mvp.kb.chunking import passage_chunk
from chatbot_mvp.metrics.ranking import RANKING_METRICS, applicable_metrics
from chatbot_mvp.retrieval.pipeline import Pipeline, fingerprint, retrieval_config
from chatbot_mvp.retrieval.trace import Hit, RetrievalTrace
from chatbot_mvp.settings import Settings
from chatbot_mvp.types import Chunk, Progress, ProgressCallback

_log = logging.getLogger(__name__)

PHASE_RETRIEVE = "retrieve"
_BATCH = 32  # queries between two fsyncs: what a crash can cost

PipelineFactory = Callable[[Sequence[Chunk], str, Settings, ProgressCallback], Pipeline]
Exporter = Callable[[RunFolder, Mapping[str, Any], Dataset], None]
"""Writes one finished run in one form."""


@dataclass(frozen=True)
class PreparedRun:
    """A run that exists on disk and whose data set is loaded and checked."""

    folder: RunFolder
    manifest: RunManifest
    dataset: Dataset
    settings: Settings
    load_seconds: float

    @property
    def queries(self) -> tuple[Query, ...]:
        return self.dataset.queries[: self.manifest.queries]


def prepare_run(results_dir: Path, reference: str, load: Callable[[], Dataset], settings: Settings) -> PreparedRun:
    """Load and check the data set, then make the run's folder. An error leaves nothing behind.

    Args:
        reference: how the data set can be found again at a resume.

    Raises:
        DatasetError, StorageError, InvalidSetting
    """
    started = time.monotonic()
    config = retrieval_config(settings)
    identity = fingerprint(config)
    dataset = _cut(load(), settings)
    manifest = RunManifest(
        run_id=_new_run_id(results_dir, dataset.name, settings.retrieval_strategy),
        dataset=dataset.name,
        dataset_ref=reference,
        dataset_sha256=dataset.sha256,
        strategy=settings.retrieval_strategy,
        settings_masked=settings.model_dump(mode="json", exclude={"data_dir"}),
        fingerprint=identity,
        code_version=__version__,
        queries=len(dataset.queries),
        documents=len(dataset.documents),
        started_at=utc_now(),
    )
    folder = RunFolder(results_dir, manifest.run_id)
    folder.create(manifest)
    return PreparedRun(folder, manifest, dataset, settings, time.monotonic() - started)


def reopen_run(folder: RunFolder, load: Callable[[str], Dataset], settings: Settings) -> PreparedRun:
    """An unfinished run, with the settings that it was started with.

    Args:
        load: loads a data set by the manifest's ``dataset_ref``.
        settings: says where things are; what the run measures comes from its manifest.

    Raises:
        RunAlreadyFinished: there is nothing left to do.
        RunMismatch: data set, code or pipeline are not what the manifest says.
    """
    started = time.monotonic()
    manifest = folder.manifest()
    if folder.result_path.is_file():
        raise RunAlreadyFinished(run_id=manifest.run_id)
    settings = settings.with_recorded(manifest.settings_masked)
    dataset = _cut(load(manifest.dataset_ref), settings)
    now = {
        "dataset_sha256": dataset.sha256,
        "code_version": __version__,
        "fingerprint": fingerprint(retrieval_config(settings)),
    }
    for name, value in now.items():
        if (then := getattr(manifest, name)) != value:
            raise RunMismatch(run_id=manifest.run_id, difference=f"{name} was {then!r} and is now {value!r}")
    return PreparedRun(folder, manifest, dataset, settings, time.monotonic() - started)


def _cut(dataset: Dataset, settings: Settings) -> Dataset:
    cut = sample(dataset, settings)
    if cut.gold_lost:
        _log.warning("%s", cut.warning)
    return cut.dataset


def execute(
    run: PreparedRun,
    build: PipelineFactory,
    progress: ProgressCallback,
    exporters: Sequence[Exporter],
    finish: Callable[[Mapping[str, Any]], None],
) -> dict[str, Any]:
    """Do what is missing of a run and write its result.

    Args:
        progress: told of every step; may raise RunStopped, then what was recorded stays for a resume.
        finish: told of the whole result just before the run counts as finished; after a crash in between, told again.

    Returns:
        The result as it stands in ``<run_id>.json``.

    Raises:
        RunBusy: somebody else works on this run.
    """
    try:
        with run.folder.held():
            return _execute(run, build, progress, exporters, finish)
    except RunStopped as stop:
        # Whoever asked for the stop need not know the run's id.
        raise RunStopped(run_id=run.folder.run_id) from stop


def _execute(
    run: PreparedRun,
    build: PipelineFactory,
    progress: ProgressCallback,
    exporters: Sequence[Exporter],
    finish: Callable[[Mapping[str, Any]], None],
) -> dict[str, Any]:
    clock = _PhaseClock({"load": run.load_seconds})
    run.folder.event("run_start", resumed=bool(run.folder.records(PHASE_RETRIEVE)[0]))
    with clock("index"):
        chunks = [passage_chunk(document) for document in run.dataset.documents]
        pipeline = build(chunks, run.dataset.language, run.settings, clock.watching(_with_events(run.folder, progress)))
    with clock(PHASE_RETRIEVE):
        _retrieve(run, pipeline, progress)
    with clock("aggregate"):
        progress(Progress("aggregate", 0, 1))
        result = _result(run)
    with clock("export"):
        progress(Progress("export", 0, 1))
        for export in exporters:
            export(run.folder, result, run.dataset)
    result["seconds"] = clock.seconds
    result["peak_rss_mb"] = peak_rss_mb()
    result["finished_at"] = utc_now()
    run.folder.event("run_complete", metrics=result["metrics"])
    finish(result)
    # Last: its presence is what says that the run is finished.
    write_json(run.folder.result_path, result)
    return result


def _with_events(folder: RunFolder, progress: ProgressCallback) -> ProgressCallback:
    """``progress``, and an event for each batch of texts embedded."""

    def report(state: Progress) -> None:
        if state.phase == "embed_corpus" and state.done > state.done_before:
            folder.event("embedding_batch", done=state.done, total=state.total)
        progress(state)

    return report


def _retrieve(run: PreparedRun, pipeline: Pipeline, progress: ProgressCallback) -> None:
    recorded, _ = run.folder.records(PHASE_RETRIEVE)
    missing = [query for query in run.queries if query.query_id not in recorded]
    total, before = len(run.queries), len(run.queries) - len(missing)
    started = time.monotonic()
    progress(Progress(PHASE_RETRIEVE, before, total, 0.0, before))
    for begin in range(0, len(missing), _BATCH):
        batch = missing[begin : begin + _BATCH]
        traces = pipeline.retrieve([query.text for query in batch])
        refused = [reason for trace in traces if (reason := _out_of_quota(trace))]
        records = [
            _record(run, query, trace) for query, trace in zip(batch, traces, strict=True) if not _out_of_quota(trace)
        ]
        run.folder.append_records(records)
        run.folder.events("query_result", [{"query_id": record.query_id, "phase": record.phase} for record in records])
        done = before + begin + len(records)
        if refused:
            raise RunOutOfQuota(run_id=run.manifest.run_id, done=done, total=total, reason=refused[0])
        progress(Progress(PHASE_RETRIEVE, done, total, time.monotonic() - started, before))


def _out_of_quota(trace: RetrievalTrace) -> str:
    """Why the provider has no quota left for this query; "" if that is not so."""
    for record in trace.records:
        if record.notes.get("quota_exhausted"):
            return str(record.notes["error"])
    return ""


def _record(run: PreparedRun, query: Query, trace: RetrievalTrace) -> QueryRecord:
    best_of_document: dict[str, Hit] = {}
    for hit in trace.retrieved:
        best_of_document.setdefault(hit.chunk.doc_id, hit)
    hits = list(best_of_document.values())[: run.settings.retrieval_k]
    payload = {
        "doc_ids": [hit.chunk.doc_id for hit in hits],
        "scores": [round(hit.score, 6) for hit in hits],
        "evidence": trace.evidence,
        "seconds": {record.stage: round(record.seconds, 6) for record in trace.records},
    }
    if trace.hits_before_rerank is not None:
        [notes] = [record.notes for record in trace.records if record.stage == "rerank"]
        payload["reranked"] = notes["reranked"]
        payload["rerank_error"] = notes.get("error")
        payload["pre_rerank_candidate_ids"] = list(trace.pre_rerank_candidate_ids)
        payload["generation_doc_ids"] = list(dict.fromkeys(hit.chunk.doc_id for hit in trace.hits))
    return QueryRecord(run.manifest.run_id, query.query_id, PHASE_RETRIEVE, "ok", payload)


def _result(run: PreparedRun) -> dict[str, Any]:
    """Everything here is computed from the records and the data set alone."""
    records, damaged = run.folder.records(PHASE_RETRIEVE)
    names = applicable_metrics(run.settings.retrieval_k)
    # Without a reranker the context of a question is what the chat would take.
    cut = run.settings.reranker_top_n if run.settings.reranker_enabled else run.settings.kb_top_k
    per_query = []
    for query in run.queries:
        payload = records[query.query_id].payload
        ranking, context = payload["doc_ids"], payload.get("generation_doc_ids")
        qrels = run.dataset.qrels.get(query.query_id, {})
        row: dict[str, Any] = {
            "query_id": query.query_id,
            "question": query.text,
            "answer": query.answer,
            "answer_type": query.answer_type,
            "question_type": query.question_type,
            "level": query.level,
            "metrics": {name: RANKING_METRICS[name](ranking, qrels) for name in names}
            | context_metrics(context, qrels),
            "retrieved": ranking,
            "gold": [doc_id for doc_id, score in qrels.items() if score > 0],
        }
        if context is not None:
            row |= {"generation_doc_ids": context, "reranked": payload["reranked"]}
        # A passage is one chunk, so that the ids of candidates are those of documents.
        known = {**row, "candidates": payload.get("pre_rerank_candidate_ids", ())}
        row["cause"] = cause_of(outcome_of_row(known, cut, run.dataset.language)).value
        per_query.append(row)
    manifest = run.manifest
    return {
        "run_id": manifest.run_id,
        "dataset": manifest.dataset,
        "dataset_sha256": manifest.dataset_sha256,
        "strategy": manifest.strategy,
        "fingerprint": manifest.fingerprint,
        "queries": manifest.queries,
        "documents": manifest.documents,
        "started_at": manifest.started_at,
        **run_figures(per_query),
        "damaged_records": damaged,
        "rerank_failures": sum(bool(records[query.query_id].payload.get("rerank_error")) for query in run.queries),
        "per_query": per_query,
    }


class _PhaseClock:
    """Seconds per phase of this attempt."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds = {phase: round(value, 3) for phase, value in seconds.items()}
        self._phase = ""
        self._since = 0.0

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        self._phase, self._since = phase, time.monotonic()
        yield
        self._book()

    def watching(self, progress: ProgressCallback) -> ProgressCallback:
        """``progress``; the time from the first word of another phase on is booked to that one."""

        def report(state: Progress) -> None:
            if state.phase != self._phase:
                self._book()
                self._phase = state.phase
            progress(state)

        return report

    def _book(self) -> None:
        now = time.monotonic()
        self.seconds[self._phase] = round(self.seconds.get(self._phase, 0.0) + now - self._since, 3)
        self._since = now


def peak_rss_mb() -> float | None:
    """Highest resident memory of this process so far, in MB (10^6 bytes); None where the system does not tell."""
    with suppress(OSError):  # Linux; what follows would count the process that started this one too
        status = Path("/proc/self/status").read_text("ascii", "replace")
        if found := re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE):
            return round(int(found[1]) * 1024 / 1e6, 1)
    try:
        import resource
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak * (1 if sys.platform == "darwin" else 1024) / 1e6, 1)


def _new_run_id(results_dir: Path, dataset: str, strategy: str) -> str:
    """Sorts by time; distinct even for two runs in one second."""
    safe = "".join(char if char.isalnum() or char in "-_" else "-" for char in dataset)
    stem = f"{utc_now()[:19].replace('-', '').replace(':', '').replace('T', '_')}_{safe}_{strategy}"
    run_id, number = stem, 2
    while (results_dir / run_id).exists():
        run_id, number = f"{stem}-{number}", number + 1
    return run_id
