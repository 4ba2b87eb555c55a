"""Runs that were stopped or whose process died: how far they have come."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from chatbot_mvp.errors import ChatbotError
from chatbot_mvp.runs.kinds import run_kind
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.records import RunFolder
from chatbot_mvp.storage.file_cache import FileCache


@dataclass(frozen=True)
class UnfinishedRun:
    """A run that can be resumed."""

    run_id: str
    kind: str
    """As in ``RunManifest``."""
    dataset: str
    strategy: str
    recorded: int
    """Number of queries that are complete and are not executed again."""
    queries: int
    started_at: str


def unfinished_run(folder: RunFolder, counts: FileCache[int]) -> UnfinishedRun | None:
    """Return a run that can be resumed; None if its manifest cannot be read.

    Args:
        counts: caches the number of complete queries by the file of records.
    """
    try:
        manifest = folder.manifest()
        recorded = counts.get(folder.path / "records.jsonl", partial(_recorded, folder, manifest))
    except (ChatbotError, KeyError, TypeError, ValueError):  # a manifest without what its kind of run needs
        return None
    return UnfinishedRun(
        manifest.run_id,
        manifest.kind,
        manifest.dataset,
        manifest.strategy,
        recorded,
        manifest.queries,
        manifest.started_at,
    )


def _recorded(folder: RunFolder, manifest: RunManifest) -> int:
    """Return the number of queries that are complete and are not executed again."""
    phases, _ = folder.all_records()
    return min(len(phases.get(phase, {})) for phase in run_kind(manifest.kind).phases(manifest))
