"""Create a run, or reopen one if its data, code and configuration are unchanged."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count
from pathlib import Path

from chatbot_mvp import __version__
from chatbot_mvp.datasets import Dataset, Query
from chatbot_mvp.datasets.sampling import sample
from chatbot_mvp.documents.chunking import passage_chunk
from chatbot_mvp.errors import NothingToRetry, RunAlreadyFinished, RunMismatch
from chatbot_mvp.evaluation.benchmark.generation import PROMPTS
from chatbot_mvp.retrieval.pipeline import fingerprint, retrieval_config
from chatbot_mvp.runs.records import RunFolder, RunManifest
from chatbot_mvp.settings.model import LEAST_CONTEXT_CHARS, Settings
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.types import Chunk

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class PreparedRun:
    """A run whose folder exists on disk and whose data set is loaded and checked."""

    folder: RunFolder
    manifest: RunManifest
    dataset: Dataset
    settings: Settings
    load_seconds: float
    retry_failed: bool = False
    """True to execute failed queries again."""

    @property
    def queries(self) -> tuple[Query, ...]:
        return self.dataset.queries[: self.manifest.queries]

    @property
    def language(self) -> str:
        """Return the language of corpus, prompts and answers."""
        return language_of(self.dataset, self.settings)

    @cached_property
    def query_ids(self) -> list[str]:
        return [query.query_id for query in self.queries]

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {document.doc_id: row for row, document in enumerate(self.dataset.documents)}

    def passages(self, doc_ids: list[str]) -> list[Chunk]:
        """Return the passages of a context by their document ids, which records store. Each passage is one chunk."""
        return [passage_chunk(self.dataset.documents[self._rows[doc_id]]) for doc_id in doc_ids]


def prepare_run(results_dir: Path, reference: str, load: Callable[[], Dataset], settings: Settings) -> PreparedRun:
    """Load and check the data set, then create the run's folder. An error leaves no files behind.

    Args:
        reference: identifies the data set, so that a resume can load it again.

    Raises:
        DatasetError, StorageError, InvalidSetting
    """
    started = time.monotonic()
    identity = run_fingerprint(settings)
    dataset = _cut(load(), settings)
    manifest = RunManifest(
        run_id="",
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
        generator=settings.generator,
        judge=settings.judge,
        prompts=PROMPTS.key if settings.generation_enabled else "",
    )
    folder, manifest = new_folder(results_dir, manifest)
    return PreparedRun(folder, manifest, dataset, settings, time.monotonic() - started)


def reopen_run(
    folder: RunFolder, load: Callable[[str], Dataset], settings: Settings, *, retry_failed: bool = False
) -> PreparedRun:
    """Reopen an unfinished run, or one with failed queries, with the settings that the run was started with.

    Args:
        load: loads a data set by the manifest's ``dataset_ref``.
        settings: used for paths and keys. Everything that affects scores comes from the manifest.
        retry_failed: execute failed queries again, even in a finished run.

    Raises:
        RunAlreadyFinished: there is nothing left to do.
        NothingToRetry: no query has failed.
        RunMismatch: data set, code, prompts or pipeline differ from the manifest.
    """
    started = time.monotonic()
    manifest = folder.manifest()
    if retry_failed and not folder.failed_queries():
        raise NothingToRetry(run_id=manifest.run_id)
    if folder.finished and not retry_failed:
        raise RunAlreadyFinished(run_id=manifest.run_id)
    settings = settings.with_recorded(manifest.settings_masked)
    dataset = _cut(load(manifest.dataset_ref), settings)
    now = {
        "dataset_sha256": dataset.sha256,
        "code_version": __version__,
        "prompts": PROMPTS.key if settings.generation_enabled else "",
        "fingerprint": run_fingerprint(settings),
    }
    for name, value in now.items():
        if (then := getattr(manifest, name)) != value:
            raise RunMismatch(run_id=manifest.run_id, difference=f"{name} was {then!r} and is now {value!r}")
    return PreparedRun(folder, manifest, dataset, settings, time.monotonic() - started, retry_failed)


def run_fingerprint(settings: Settings) -> str:
    """Return 12 hex digits that identify what a run measures, apart from its data.

    Without answers this is the fingerprint of the retrieval pipeline, as in the chat. With answers it also covers
    prompts, models, options and judge.
    """
    pipeline = fingerprint(retrieval_config(settings))
    if settings.retrieval_bm25_language:
        pipeline = hashlib.sha256(f"{pipeline} {settings.retrieval_bm25_language}".encode()).hexdigest()[:12]
    if not settings.generation_enabled:
        return pipeline
    options = (settings.llm_temperature, settings.llm_max_tokens, settings.judge_metrics if settings.judge else "")
    identity = f"{pipeline} {PROMPTS.key} {settings.generator} {options} {settings.judge}"
    return hashlib.sha256(identity.encode()).hexdigest()[:12]


def language_of(dataset: Dataset, settings: Settings) -> str:
    """Return RETRIEVAL_BM25_LANGUAGE, or the language detected in the corpus."""
    return settings.retrieval_bm25_language or dataset.language


def run_settings(settings: Settings, readable_chars: Callable[[Settings], int | None]) -> Settings:
    """Derive a run's settings: the chat's context, limited by GENERATION_MAX_CONTEXT_CHARS and the model's input.

    As in RAG_P, everything that a reranker keeps reaches the context: KB_TOP_K is raised to RERANKER_TOP_N.

    Args:
        readable_chars: returns the characters of context that the settings' generator can read; None if unknown.
    """
    changes: dict[str, int] = {}
    if settings.reranker_enabled and settings.reranker_top_n > settings.kb_top_k:
        changes["kb_top_k"] = settings.reranker_top_n
    if settings.generation_enabled:
        if settings.generation_max_context_chars:
            changes["kb_max_context_chars"] = settings.generation_max_context_chars
        elif (readable := readable_chars(settings)) is not None:
            for name in ("kb_max_context_chars", "kb_large_context_chars"):
                changes[name] = max(LEAST_CONTEXT_CHARS, min(getattr(settings, name), readable))
    return settings.with_changes(**changes) if changes else settings


def _cut(dataset: Dataset, settings: Settings) -> Dataset:
    cut = sample(dataset, settings)
    if cut.gold_lost:
        _log.warning("%s", cut.warning)
    return cut.dataset


def new_folder(results_dir: Path, manifest: RunManifest) -> tuple[RunFolder, RunManifest]:
    """Create the folder of a new run. Return it and the manifest with the run's id.

    Two processes may start runs in the same second: the one that creates the folder gets the id.
    """
    for run_id in run_ids(manifest.dataset, manifest.strategy):
        folder, named = RunFolder(results_dir, run_id), replace(manifest, run_id=run_id)
        try:
            folder.create(named)
        except FileExistsError:
            continue
        return folder, named
    raise AssertionError("there is always a next number")


def run_ids(dataset: str, strategy: str) -> Iterator[str]:
    """Yield candidate ids for a run that starts now; use the first free one. Ids sort by time."""
    safe = "".join(char if char.isalnum() or char in "-_" else "-" for char in dataset)
    stem = f"{utc_now()[:19].replace('-', '').replace(':', '').replace('T', '_')}_{safe}_{strategy}"
    return chain([stem], (f"{stem}-{number}" for number in count(2)))
