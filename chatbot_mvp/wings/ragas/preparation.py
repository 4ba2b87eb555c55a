"""Create the run of an evaluation, or reopen one if it would still score in the same way."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from chatbot_mvp import __version__
from chatbot_mvp.embedding.base import Embedder
from chatbot_mvp.embedding.registry import Embedders
from chatbot_mvp.errors import NeedsLanguageModel, RunError, UnknownChoice
from chatbot_mvp.evaluation.benchmark.preparation import new_folder
from chatbot_mvp.llm.base import ChatModel
from chatbot_mvp.llm.chosen import ModelSource
from chatbot_mvp.llm.registry import requests_at_once
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.settings.fields import ADDRESS_SETTINGS
from chatbot_mvp.settings.model import MODEL_SETTINGS, Settings
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import write_atomically
from chatbot_mvp.wings.ragas.config import RagasConfig, config_from
from chatbot_mvp.wings.ragas.judging import (
    JUDGED,
    RAGAS_METRICS,
    UNJUDGED,
    JudgeOptions,
    Prompts,
    language_of,
    load_prompts,
    missing_columns,
    prompts_of,
)
from chatbot_mvp.wings.ragas.kind import RAGAS
from chatbot_mvp.wings.ragas.rows import InputRow, content_key, identity, read_rows, to_json_lines

STRATEGY = "RAGAS"
INPUT = "input.jsonl"
_NOT_OF_THE_SCORE = ("project", "dataset", "output", "concurrency", "prompts", "judge", "embedder")
"""Configuration keys left out of the fingerprint. For the last three it covers the resolved values instead."""


@dataclass(frozen=True)
class Evaluation:
    """An evaluation whose folder exists on disk."""

    folder: RunFolder
    manifest: RunManifest
    rows: tuple[InputRow, ...]
    config: RagasConfig
    settings: Settings
    """Settings in which the provider and its model are those of the judge."""
    metrics: tuple[str, ...]
    """Metrics in scoring order. All rows are scored by one metric before the next, to reuse a server's prompt cache."""
    prompts: Prompts
    load_seconds: float
    retry_failed: bool = False
    follows_choice: bool = False
    """True if the judge's provider is the one that was chosen when it was prepared: it ends when another is chosen."""

    @cached_property
    def by_id(self) -> dict[str, InputRow]:
        return {row.row_id: row for row in self.rows}

    def options(self, repeat: int) -> JudgeOptions:
        """Return the judge options for repetition ``repeat``, from 0."""
        judge = self.config.judge
        return JudgeOptions(
            attempts=judge.attempts,
            strictness=self.config.strictness,
            max_tokens=judge.max_tokens,
            temperature=judge.temperature,
            repeat=repeat,
        )


@dataclass(frozen=True)
class Judges:
    """The models that an evaluation uses."""

    judge: ChatModel | None
    """None if no metric needs a judge."""
    calls: int
    """Maximum number of concurrent requests, at least 1."""
    embedder: Embedder | None
    """None if no metric needs an embedder."""


@dataclass(frozen=True)
class Handed:
    """Models that a caller of the Python API made, in place of those of the settings."""

    judge: ChatModel | None = None
    embedder: Embedder | None = None

    @property
    def names(self) -> dict[str, str]:
        """ "judge" and "embedder" -> name, of those that there are."""
        found = {
            "judge": self.judge.name if self.judge else "",
            "embedder": self.embedder.model_id if self.embedder else "",
        }
        return {role: name for role, name in found.items() if name}


NOTHING_HANDED = Handed()


def judge_settings(settings: Settings, config: RagasConfig) -> Settings:
    """Return ``settings`` with the configuration's judge as the provider.

    Raises:
        InvalidSetting
    """
    judge = config.judge
    provider = judge.provider or settings.judge_provider or settings.chosen_provider
    base = settings.with_changes(judge_provider=provider)
    changes: dict[str, Any] = {"provider": provider}
    if judge.model:
        changes["local_model_path" if provider == "local" else MODEL_SETTINGS.get(provider, "judge_model_name")] = (
            judge.model
        )
    elif base.judge_model_name and provider == (settings.judge_provider or settings.chosen_provider) in MODEL_SETTINGS:
        changes[MODEL_SETTINGS[provider]] = base.judge_model_name
    if judge.options:
        changes["huggingface_options"] = json.dumps(judge.options, sort_keys=True)
    if judge.base_url and provider in ADDRESS_SETTINGS:
        changes[ADDRESS_SETTINGS[provider]] = judge.base_url
    if config.concurrency:
        changes["nim_max_concurrent_requests"] = config.concurrency
    if config.embedder:
        changes["embedding_model_name"] = config.embedder
    return base.with_changes(**changes)


def chosen_metrics(config: RagasConfig, rows: Sequence[InputRow], has_judge: bool) -> tuple[str, ...]:
    """Return the configured metrics, or the default ones for which at least one row has the columns.

    The default is the six judged metrics or, without a judge, the metrics that need none.
    """
    if config.metrics:
        return config.metrics
    usual = JUDGED if has_judge else UNJUDGED
    return tuple(
        name for name in usual if any(not missing_columns(RAGAS_METRICS[name], item.row) for item in rows)
    )  # fmt: skip


def prepare_evaluation(
    results_dir: Path,
    name: str,
    rows: Sequence[InputRow],
    config: RagasConfig,
    settings: Settings,
    handed: Handed = NOTHING_HANDED,
) -> Evaluation:
    """Create the run's folder with a copy of the rows. An error leaves no files behind.

    Args:
        settings: the result of ``judge_settings``.
        handed: models that the caller made; they are used in place of those of the settings.

    Raises:
        UnknownChoice: there are no prompts in the language, or no metric for the columns.
        NeedsLanguageModel: a chosen metric needs a judge, but none is configured.
        PromptsError (prompts_unreadable)
    """
    started = time.monotonic()
    has_judge = can_judge(settings, handed)
    metrics = chosen_metrics(config, rows, has_judge)
    if not metrics:
        columns = ", ".join(sorted({column for row in rows for column in row.given}))
        raise UnknownChoice(kind="metric for the columns", found=columns, legal=", ".join(RAGAS_METRICS))
    judged = [metric for metric in metrics if RAGAS_METRICS[metric].needs_judge]
    if judged and not has_judge:
        raise NeedsLanguageModel(feature=judged[0], provider=settings.chosen_provider)
    prompts = _prompts(config, rows, metrics)
    judge = (handed.judge.name if handed.judge else settings.language_model) if judged else ""
    evaluation: dict[str, Any] = {
        "config": {**config.model_dump(mode="json"), "metrics": list(metrics), "language": prompts.language},
        "rows_sha256": content_key(rows),
    }
    if judged and prompts.unreviewed:
        evaluation["prompts_unreviewed"] = list(prompts.unreviewed)
    if handed.names:
        evaluation["handed"] = handed.names
    manifest = RunManifest(
        run_id="",
        dataset=name,
        dataset_ref=INPUT,
        dataset_sha256=identity(rows),
        strategy=STRATEGY,
        settings_masked=settings.model_dump(mode="json", exclude={"data_dir"}),
        fingerprint=_fingerprint(evaluation["config"], prompts, judge, settings, handed),
        code_version=__version__,
        queries=len(rows),
        documents=0,
        started_at=utc_now(),
        judge=judge,
        prompts=prompts.key,
        kind=RAGAS,
        evaluation=evaluation,
    )
    folder, manifest = new_folder(results_dir, manifest)
    write_atomically(folder.path / INPUT, to_json_lines(row.given for row in rows))
    return Evaluation(folder, manifest, tuple(rows), config, settings, metrics, prompts, time.monotonic() - started)


def reopen_evaluation(
    folder: RunFolder, settings: Settings, *, retry_failed: bool = False, handed: Handed = NOTHING_HANDED
) -> Evaluation:
    """Reopen an unfinished evaluation, or one with failed rows, with the configuration that it was started with.

    Args:
        settings: used for paths and the judge's API key. The judge itself comes from the manifest.
        handed: the models that the run was started with, if it was started with models of the caller.

    Raises:
        RunError (run_already_finished, nothing_to_retry)
        RunError (run_mismatch): prompts, rows, version or the models handed are not those of the start.
        DatasetError (dataset_file_unreadable): the copy of the rows is damaged.
    """
    started = time.monotonic()
    manifest = folder.manifest()
    if retry_failed and not folder.failed_queries():
        raise RunError("nothing_to_retry", run_id=manifest.run_id)
    if folder.result_path.is_file() and not retry_failed:
        raise RunError("run_already_finished", run_id=manifest.run_id)
    settings = settings.with_recorded(manifest.settings_masked)
    config = config_from(manifest.evaluation["config"], "manifest.json")
    rows = read_rows(folder.path / INPUT)
    prompts = _prompts(config, rows, config.metrics)
    now = {
        "rows_sha256": content_key(rows),
        "code_version": __version__,
        "prompts": prompts.key,
        "handed": handed.names,
        "fingerprint": _fingerprint(manifest.evaluation["config"], prompts, manifest.judge, settings, handed),
    }
    before = {"handed": {}, **manifest.evaluation}
    for name, value in now.items():
        then = before[name] if name in ("rows_sha256", "handed") else getattr(manifest, name)
        if then != value:
            raise RunError(
                "run_mismatch", run_id=manifest.run_id, difference=f"{name} was {then!r} and is now {value!r}"
            )
    seconds = time.monotonic() - started
    return Evaluation(folder, manifest, tuple(rows), config, settings, config.metrics, prompts, seconds, retry_failed)


def judges_of(
    evaluation: Evaluation,
    providers: ModelSource,
    embedders: Embedders,
    handed: Handed = NOTHING_HANDED,
) -> Judges:
    """Return the judge and the embedder that the metrics of an evaluation need.

    Raises:
        ProviderNotConfigured, MissingPackage, InvalidSetting
    """
    settings = evaluation.settings
    specs = [RAGAS_METRICS[name] for name in evaluation.metrics]
    judge = embedder = None
    if any(spec.needs_judge for spec in specs):
        judge = handed.judge or providers.model(settings)
    if any(spec.needs_embedder for spec in specs):
        embedder = handed.embedder or embedders.of(settings)
    calls = settings.nim_max_concurrent_requests if handed.judge else requests_at_once(settings)
    return Judges(judge, calls if judge else 2, embedder)


def can_judge(settings: Settings, handed: Handed = NOTHING_HANDED) -> bool:
    """Return whether there is a judge."""
    return handed.judge is not None or settings.chosen_provider != "demo"


def prompt_language(config: RagasConfig, rows: Sequence[InputRow]) -> str:
    """Return the code of the language of an evaluation's prompts."""
    return language_of(row.row for row in rows) if config.language == "auto" else config.language


def _prompts(config: RagasConfig, rows: Sequence[InputRow], metrics: Sequence[str]) -> Prompts:
    return load_prompts(prompt_language(config, rows), config.prompts, prompts_of(metrics))


def _fingerprint(config: Any, prompts: Prompts, judge: str, settings: Settings, handed: Handed) -> str:
    """Return a hash of everything that affects how rows are scored, but not of the rows themselves."""
    counted = {name: value for name, value in config.items() if name not in _NOT_OF_THE_SCORE}
    counted["judge"] = {name: config["judge"][name] for name in ("temperature", "max_tokens", "attempts")}
    if options := config["judge"].get("options"):
        counted["judge"]["options"] = options
    embedder = handed.embedder.model_id if handed.embedder else settings.embedding_model_name
    counted |= {"by": judge, "prompts": prompts.key, "embedder": embedder}
    return hashlib.sha256(json.dumps(counted, sort_keys=True).encode()).hexdigest()[:12]
