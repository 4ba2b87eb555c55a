"""Runs that are over, or were broken off: listed, read, compared, exported, imported."""

from __future__ import annotations

import threading
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chatbot_mvp.benchmark.answering import GENERATE
from chatbot_mvp.benchmark.comparison import Comparison, compare_runs, load_runs
from chatbot_mvp.benchmark.datasets import load_dataset
from chatbot_mvp.benchmark.datasets.catalogue import Catalogue
from chatbot_mvp.benchmark.datasets.sampling import sample
from chatbot_mvp.benchmark.importing import ImportedRun, import_trec, keep_bundle
from chatbot_mvp.benchmark.records import RAGAS, RunFolder, RunManifest, run_folders
from chatbot_mvp.benchmark.retrieving import PHASE as RETRIEVE
from chatbot_mvp.benchmark.runner import RunParts
from chatbot_mvp.benchmark.submissions import read_submissions
from chatbot_mvp.benchmark.trec import read_trec
from chatbot_mvp.errors import ChatbotError, DatasetChanged, NothingToImport, UnknownChoice
from chatbot_mvp.exports.exported import Exported, FinishedRun
from chatbot_mvp.exports.formats import FORMATS
from chatbot_mvp.exports.unbundle import read_bundle
from chatbot_mvp.ragas.results import phases_of
from chatbot_mvp.settings import Settings
from chatbot_mvp.types import Document, ProgressCallback, ignore_progress


@dataclass(frozen=True)
class UnfinishedRun:
    """A run that can be resumed."""

    run_id: str
    dataset: str
    strategy: str
    recorded: int
    """Queries that need not be done again."""
    queries: int
    started_at: str


class PastRuns:
    """Safe to share between sessions; holds nothing of one user."""

    def __init__(
        self,
        settings: Callable[[], Settings],
        catalogue: Callable[[], Catalogue],
        active: Callable[[], set[str]],
        parts: Callable[[], RunParts],
    ) -> None:
        """
        Args:
            settings: as they are now.
            catalogue: where the data sets of runs are.
            active: ids of the runs that are queued or at work in the background.
            parts: what an imported ranking is scored with.
        """
        self._current = settings
        self._catalogue = catalogue
        self._active = active
        self._parts = parts
        self._browsed: tuple[tuple[str, str], dict[str, Document]] | None = None
        self._lock = threading.Lock()

    @property
    def _settings(self) -> Settings:
        return self._current()

    def runs(self) -> tuple[list[dict[str, Any]], int]:
        """(finished runs as in submissions.jsonl, the newest first; number of damaged lines in it)."""
        return read_submissions(self._settings.submissions_path)

    def run(self, run_id: str) -> dict[str, Any]:
        """A finished run with its queries.

        Raises:
            RunNotFound, RunUnreadable
        """
        return RunFolder(self._settings.results_dir, run_id).result()

    def compare(self, run_ids: Sequence[str], metrics: Sequence[str] = ()) -> Comparison:
        """The first finished run against each of the others; ``metrics`` by default the registry's few.

        Raises:
            RunNotFound, RunUnreadable, NotComparable
            UnknownChoice: a metric that the runs do not have.
        """
        return compare_runs(load_runs(self._settings.results_dir, run_ids), metrics)

    def export(self, run_id: str, form: str) -> Exported:
        """A finished run in another form, by its name in ``FORMATS``.

        Raises:
            UnknownChoice, RunNotFound, RunUnreadable
            DatasetError, DatasetChanged: its data set, where the texts are, is not there any more as it was.
        """
        if form not in FORMATS:
            raise UnknownChoice(kind="export format", found=form, legal=", ".join(FORMATS))
        return FORMATS[form].export(self.finished(run_id))

    def import_run(
        self, path: Path, dataset: str = "", name: str = "", progress: ProgressCallback = ignore_progress
    ) -> ImportedRun:
        """Take in a run that was made elsewhere: a zip of the export "zip", or a TREC run file over ``dataset``.

        Args:
            name: of a TREC run, in the place of a strategy; "" for the tag in the file.

        Raises:
            NothingToImport: neither of the two.
            BundleDamaged, BundleUnsafe, RunExists, TrecLineWrong, TrecIdUnknown, ImportNotWritten: nothing is imported.
            DatasetError, StorageError
        """
        settings = self._settings
        if not path.is_file():
            raise NothingToImport(path=str(path), reason="there is no such file")
        if zipfile.is_zipfile(path) or path.suffix == ".zip":
            if dataset or name:
                raise NothingToImport(path=str(path), reason="a bundle has its own data set and name")
            bundle = read_bundle(path)
            return keep_bundle(bundle.manifest, bundle.result, bundle.files, settings, self._parts().finish)
        if not dataset:
            raise NothingToImport(path=str(path), reason="it is no zip, and no data set was given")
        trec = read_trec(path)
        found = self._catalogue().find(dataset)
        whole = load_dataset(self._catalogue().folder(found, progress))
        return import_trec(trec, name, found.reference, whole, settings, self._parts(), progress)

    def files(self, run_id: str) -> list[Path]:
        """The files that a finished run offers for download."""
        folder = self._settings.results_dir / run_id
        forms = (f"{run_id}*.csv", f"{run_id}.json", f"{run_id}_scores.jsonl")
        return sorted(path for form in forms for path in folder.glob(form))

    def unfinished(self) -> list[UnfinishedRun]:
        """Runs that were stopped or whose process died, the newest first."""
        active = self._active()
        found = []
        for folder in run_folders(self._settings.results_dir):
            if folder.run_id in active or folder.state() != "unfinished":
                continue
            try:
                manifest = folder.manifest()
            except ChatbotError:
                continue
            phases, _ = folder.all_records()
            recorded = min(len(phases.get(phase, {})) for phase in _phases_of(manifest))
            found.append(
                UnfinishedRun(
                    manifest.run_id,
                    manifest.dataset,
                    manifest.strategy,
                    recorded,
                    manifest.queries,
                    manifest.started_at,
                )
            )
        return found

    def documents(self, run_id: str, doc_ids: Sequence[str]) -> dict[str, Document]:
        """Documents of a run's data set by id; ids that it does not have are left out.

        Raises:
            RunNotFound, DatasetError: run or data set are not there any more.
        """
        manifest = RunFolder(self._settings.results_dir, run_id).manifest()
        key = (manifest.dataset_ref, manifest.dataset_sha256)
        with self._lock:
            # One data set is kept for looking through a run query by query.
            if self._browsed is None or self._browsed[0] != key:
                dataset = self._catalogue().load(manifest.dataset_ref)
                self._browsed = (key, {document.doc_id: document for document in dataset.documents})
            documents = self._browsed[1]
        return {doc_id: documents[doc_id] for doc_id in doc_ids if doc_id in documents}

    def finished(self, run_id: str) -> FinishedRun:
        """A finished benchmark run with the data set it measured, for exports and evaluations.

        Raises:
            RunNotFound, RunUnreadable, UnknownChoice
            DatasetError, DatasetChanged: its data set is not there any more as it was.
        """
        [run] = load_runs(self._settings.results_dir, [run_id])
        if run.manifest.kind == RAGAS:
            raise UnknownChoice(kind="kind of run for this", found=RAGAS, legal="benchmark")
        recorded = self._settings.with_recorded(run.manifest.settings_masked)
        dataset = sample(self._catalogue().load(run.manifest.dataset_ref), recorded).dataset
        if dataset.sha256 != run.manifest.dataset_sha256:
            raise DatasetChanged(name=dataset.name, run_id=run_id)
        files = {path.name: path.read_bytes() for path in self.files(run_id)}
        return FinishedRun(run.manifest, run.result, dataset, files)


def _phases_of(manifest: RunManifest) -> list[str]:
    """Those that every query of a run passes, as far as they tell how far it came."""
    if manifest.kind == RAGAS:
        return phases_of(manifest.evaluation["config"]["metrics"], manifest.evaluation["config"]["repeats"])
    return [GENERATE if manifest.generator else RETRIEVE]
