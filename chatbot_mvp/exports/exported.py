"""What every export takes and gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from chatbot_mvp.datasets import Dataset
from chatbot_mvp.errors import ExportNotWritten
from chatbot_mvp.runs.records import RunManifest
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.rows import QueryRow


@dataclass(frozen=True)
class FinishedRun:
    """A run as the exports see it."""

    manifest: RunManifest
    result: RunResult
    """Ids only."""
    dataset: Dataset
    """Where texts and graded judgements come from."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Name -> content of what the run has written already (result, CSV)."""

    @property
    def run_id(self) -> str:
        return self.manifest.run_id


@dataclass(frozen=True)
class Exported:
    """The files of one export."""

    files: Mapping[str, bytes]
    """Relative path -> content."""
    notes: Mapping[str, int] = field(default_factory=dict)
    """What a user should know, as counts: ``left_out`` queries without an answer."""


Export = Callable[[FinishedRun], Exported]


def write_files(exported: Exported, folder: Path) -> list[Path]:
    """Write the files below a folder, which is made if need be; their paths.

    Raises:
        ExportNotWritten: a folder or file cannot be written.
    """
    paths = []
    for name, content in exported.files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        except OSError as error:
            raise ExportNotWritten(path=str(path), reason=error.strerror or str(error)) from error
        paths.append(path)
    return paths


def context_ids(row: QueryRow) -> tuple[str, ...]:
    """The documents that a row's answer could use: those that reached the context, without a reranker all retrieved."""
    return row.retrieved if row.generation_doc_ids is None else row.generation_doc_ids
