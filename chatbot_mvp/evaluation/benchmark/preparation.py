"""Create a run, or reopen one if its data, code and configuration are unchanged."""

from __future__ import annotations

import hashlib
import json
import logging
import time
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, count
from pathlib import Path
from typing import Any

from chatbot_mvp import __version__
from chatbot_mvp.datasets import Dataset, Query
from chatbot_mvp.datasets.sampling import BLIND, Sample
from chatbot_mvp.errors import RunError
from chatbot_mvp.evaluation.benchmark.corpus import RunCorpus
from chatbot_mvp.evaluation.benchmark.generation import PROMPTS
from chatbot_mvp.metrics.registry import METRICS
from chatbot_mvp.retrieval.pipeline import fingerprint
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.settings.model import LEAST_CONTEXT_CHARS, Settings
from chatbot_mvp.storage.clock import utc_now

_log = logging.getLogger(__name__)

Readable = Callable[[Settings], int | None]
"""Returns the characters of context that the settings' generator can read; None if unknown."""

_NO_LIMIT = 10_000_000
"""Characters of a context whose length nothing limits."""


@dataclass(frozen=True)
class PreparedRun:
    """A run whose folder exists on disk and whose data set is loaded and checked."""

    folder: RunFolder
    manifest: RunManifest
    corpus: RunCorpus
    settings: Settings
    load_seconds: float
    retry_failed: bool = False
    """True to execute failed queries again."""
    follows_choice: bool = False
    """True if its provider is the one that was chosen when it was prepared: it ends when another one is chosen."""

    @property
    def dataset(self) -> Dataset:
        return self.corpus.dataset

    @property
    def queries(self) -> tuple[Query, ...]:
        return self.dataset.queries[: self.manifest.queries]

    @property
    def language(self) -> str:
        """Return the language of corpus, prompts and answers."""
        return self.corpus.language(self.settings)

    @cached_property
    def query_ids(self) -> list[str]:
        return [query.query_id for query in self.queries]


def prepare_run(
    results_dir: Path, reference: str, load: Callable[[], RunCorpus], settings: Settings, preset: str = ""
) -> PreparedRun:
    """Load and check the data set, then create the run's folder. An error leaves no files behind.

    Args:
        reference: identifies the data set, so that a resume can load it again.
        preset: as in ``RunManifest``.

    Raises:
        DatasetError, StorageError, InvalidSetting
    """
    started = time.monotonic()
    run_fingerprint(settings)  # fails before the data set is loaded if the strategy is unknown
    corpus, cut = _cut(load(), settings)
    made = manifest_of("", reference, corpus, settings, preset)
    missing = cut.gold_lost if cut.corpus_slice == BLIND else 0
    folder, manifest = new_folder(results_dir, replace(made, corpus_slice=cut.corpus_slice, gold_missing=missing))
    corpus.keep(folder)
    return PreparedRun(folder, manifest, corpus, settings, time.monotonic() - started)


def manifest_of(run_id: str, reference: str, corpus: RunCorpus, settings: Settings, preset: str = "") -> RunManifest:
    """Return the manifest of a run that starts now; arguments as in ``prepare_run``."""
    dataset = corpus.dataset
    return RunManifest(
        run_id=run_id,
        dataset=dataset.name,
        dataset_ref=reference,
        strategy=settings.retrieval_strategy,
        settings_masked=settings.model_dump(mode="json", exclude={"data_dir"}),
        queries=len(dataset.queries),
        documents=len(dataset.documents),
        started_at=utc_now(),
        kind=corpus.kind,
        evaluation=corpus.facts(),
        preset=preset,
        **_decisive(dataset, settings),
    )


def _decisive(dataset: Dataset, settings: Settings) -> dict[str, Any]:
    """Return the fields of a manifest that decide the figures, so that a resume needs the same."""
    return {
        "dataset_sha256": dataset.sha256,
        "code_version": __version__,
        "prompts": PROMPTS.key if settings.generation_enabled else "",
        "generator": settings.generator,
        "judge": settings.judge,
        "fingerprint": run_fingerprint(settings),
        "generator_fingerprint": generator_fingerprint(settings),
        "judge_fingerprint": judge_fingerprint(settings),
    }


def reopen_run(
    folder: RunFolder, load: Callable[[RunManifest], RunCorpus], settings: Settings, *, retry_failed: bool = False
) -> PreparedRun:
    """Reopen an unfinished run, or one with failed queries, with the settings that the run was started with.

    Args:
        load: loads what the run searches, as its manifest names it.
        settings: used for paths and keys. Everything that affects scores comes from the manifest.
        retry_failed: execute failed queries again, even in a finished run.

    Raises:
        RunError (run_already_finished): there is nothing left to do.
        RunError (nothing_to_retry): no query has failed.
        RunError (run_mismatch): data set, code, prompts or pipeline differ from the manifest.
    """
    started = time.monotonic()
    manifest = folder.manifest()
    if retry_failed and not folder.failed_queries():
        raise RunError("nothing_to_retry", run_id=manifest.run_id)
    if folder.finished and not retry_failed:
        raise RunError("run_already_finished", run_id=manifest.run_id)
    settings = settings.with_recorded(manifest.settings_masked)
    corpus, _ = _cut(load(manifest), settings)
    for name, value in _decisive(corpus.dataset, settings).items():
        if (then := getattr(manifest, name)) != value:
            raise RunError(
                "run_mismatch", run_id=manifest.run_id, difference=f"{name} was {then!r} and is now {value!r}"
            )
    return PreparedRun(folder, manifest, corpus, settings, time.monotonic() - started, retry_failed)


def run_fingerprint(settings: Settings) -> str:
    """Return the fingerprint of the retrieval that a run over passages measures: the chat's, with the run's language.

    The generator and the judge have fingerprints of their own.
    """
    return fingerprint(settings, settings.retrieval_bm25_language)


def generator_fingerprint(settings: Settings) -> str:
    """Return 12 hex digits that identify model, prompts and options of a run's answers; "" without answers."""
    if not settings.generator:
        return ""
    return _digest(f"{PROMPTS.key} {settings.generator} {settings.llm_temperature} {settings.llm_max_tokens}")


def judge_fingerprint(settings: Settings) -> str:
    """Return 12 hex digits that identify model, prompts and metrics of a run's judge; "" without a judge."""
    if not settings.judge:
        return ""
    # The instructions of added metrics are not among the prompts.
    added = [METRICS[name].instructions for name in settings.judge_metric_names]
    texts = [json.dumps(dict(text), sort_keys=True) for text in added if text]
    return _digest(" ".join([PROMPTS.key, settings.judge, settings.judge_metrics, *texts]))


def _digest(identity: str) -> str:
    return hashlib.sha256(identity.encode()).hexdigest()[:12]


def run_settings(settings: Settings, readable_chars: Readable) -> Settings:
    """Derive a run's settings: its context, limited by GENERATION_MAX_CONTEXT_CHARS and the model's input.

    GENERATION_CONTEXT "chat" gives the chat's context. As in RAG_P, everything that a reranker keeps reaches it:
    KB_TOP_K is raised to RERANKER_TOP_N. "retrieved" gives RAG_P's context: the first RETRIEVAL_K documents, or the
    RERANKER_TOP_N that a reranker keeps, whatever their scores, in as many characters as the model reads.

    Args:
        readable_chars: returns the characters of context that the settings' generator can read; None if unknown.
    """
    if settings.generation_context == "retrieved":
        return settings.with_changes(
            kb_top_k=settings.reranker_top_n if settings.reranker_enabled else settings.retrieval_k,
            kb_min_score=0.0,
            kb_max_context_chars=_chars_of_whole_documents(settings, readable_chars),
        )
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


def _chars_of_whole_documents(settings: Settings, readable_chars: Readable) -> int:
    """Return the characters of the context of GENERATION_CONTEXT "retrieved"."""
    if settings.generation_max_context_chars:
        return settings.generation_max_context_chars
    readable = readable_chars(settings) if settings.generation_enabled else None
    return _NO_LIMIT if readable is None else max(LEAST_CONTEXT_CHARS, readable)


def _cut(whole: RunCorpus, settings: Settings) -> tuple[RunCorpus, Sample]:
    corpus, cut = whole.sampled(settings)
    if cut.gold_lost:
        _log.warning("%s", cut.warning)
    return corpus, cut


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
    # In ASCII, as entries of an exported zip are, and shortened, because a folder's name may have 255 bytes.
    plain = unicodedata.normalize("NFKD", dataset).encode("ascii", "ignore").decode()
    safe = "".join(char if char.isalnum() or char in "-_" else "-" for char in plain)[:80]
    stem = f"{utc_now()[:19].replace('-', '').replace(':', '').replace('T', '_')}_{safe}_{strategy}"
    return chain([stem], (f"{stem}-{number}" for number in count(2)))
