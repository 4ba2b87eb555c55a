"""Input, output and description of an export format."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from chatbot_mvp.datasets import Dataset
from chatbot_mvp.errors import RunError
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.runs.rows import QueryRow
from chatbot_mvp.storage.files import write_atomically


@dataclass(frozen=True)
class FinishedRun:
    """A finished run, the input of an export."""

    manifest: RunManifest
    result: RunResult
    """Content of ``<run_id>.json``, which refers to documents by id."""
    dataset: Dataset
    """Source of the texts and graded judgements."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Name -> content of the files that the run has already written (result, CSV)."""
    scores: Callable[[], Mapping[str, Mapping[str, float]]] = dict
    """Reads query id -> document id -> score of the retrieval from the records; empty if the run has no records."""

    @property
    def run_id(self) -> str:
        return self.manifest.run_id


@dataclass(frozen=True)
class Exported:
    """The files of one export."""

    files: Mapping[str, bytes]
    """Relative path -> content."""
    notes: Mapping[str, int] = field(default_factory=dict)
    """Counts to report to the user: ``left_out`` is the number of queries without an answer, ``reordered`` of queries
    that evaluators rank in another order."""


@dataclass(frozen=True)
class ExportFormat:
    """A format in which a finished benchmark run can be written."""

    name: str
    """Value for ``benchmark export --format``."""
    export: Callable[[FinishedRun], Exported]
    """Creates the files, or raises NothingToExport. Their names begin with the run's id, because the zip puts all files
    into one folder."""
    summary: str
    """Short description for the help text of the command."""
    needs_answers: bool = False
    """True if there is nothing to write for a run without generated answers."""
    not_in_zip: str = ""
    """Reason why the zip does not contain this format; "" if the zip contains it."""


def write_files(exported: Exported, folder: Path) -> list[Path]:
    """Write the files below a folder, which is created if needed, and return their paths.

    Raises:
        RunError (export_not_written): a folder or file cannot be written.
    """
    paths = []
    for name, content in exported.files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
        except OSError as error:
            raise RunError("export_not_written", path=str(path), reason=error.strerror or str(error)) from error
        paths.append(path)
    return paths


def context_ids(row: QueryRow) -> tuple[str, ...]:
    """Return the ids of the documents in a row's context; without a reranker these are all retrieved documents."""
    return row.retrieved if row.generation_doc_ids is None else row.generation_doc_ids
