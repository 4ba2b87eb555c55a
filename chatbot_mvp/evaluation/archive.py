"""List, tag, read, rank, compare, export and import finished and unfinished runs."""

from __future__ import annotations

import threading
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path

from chatbot_mvp.datasets import Dataset
from chatbot_mvp.errors import ChatbotError, DatasetError, ImportRefused, RunNotFound, UnknownChoice
from chatbot_mvp.evaluation.benchmark.importing import ImportedRun, import_trec, keep_bundle
from chatbot_mvp.evaluation.benchmark.runner import RunParts
from chatbot_mvp.evaluation.benchmark.trec import read_ranking
from chatbot_mvp.evaluation.kb.corpus import expected_of
from chatbot_mvp.evaluation.run_sources import RunSources, names_kb
from chatbot_mvp.exports.base import Exported, FinishedRun
from chatbot_mvp.exports.bundle import read_bundle
from chatbot_mvp.exports.formats import FORMATS
from chatbot_mvp.jobs.manager import JobManager
from chatbot_mvp.runs.comparable import ComparedRun
from chatbot_mvp.runs.comparison import Comparison, compare_runs
from chatbot_mvp.runs.kinds import BENCHMARK, run_kind
from chatbot_mvp.runs.line import RunLine, read_submissions
from chatbot_mvp.runs.lists import (
    RunFilter,
    RunGroup,
    Series,
    run_groups,
    search,
    series_of,
)
from chatbot_mvp.runs.manifest import RunManifest
from chatbot_mvp.runs.notes import RunNote, RunNotes
from chatbot_mvp.runs.payloads import RETRIEVE, retrieved_of
from chatbot_mvp.runs.records import RunFolder, run_folders
from chatbot_mvp.runs.result import RunResult
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.storage.lru import FileCache
from chatbot_mvp.types import Document, ProgressCallback, ignore_progress

_RESULTS_KEPT = 100_000_000
"""Total size in bytes of the result files whose content is cached; in memory the content takes twice as much. The
limit fits a comparison of five runs of 7,405 queries."""
_LITTLE_KEPT = 20_000_000_000
"""Total size in bytes of the files from which only a few figures are cached."""


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


class RunArchive:
    """Gives access to finished and unfinished runs. Safe to share between sessions: holds no state of a single user.

    Lists and results are cached for all sessions, so callers must not change them.
    """

    def __init__(self, live: LiveSettings, sources: RunSources, jobs: Sequence[JobManager], parts: RunParts) -> None:
        """
        Args:
            jobs: the queues of background runs; an active run is not listed as unfinished.
            parts: scores an imported ranking.
        """
        self._live = live
        self._sources = sources
        self._jobs = jobs
        self._parts = parts
        self._lists: FileCache[tuple[list[RunLine], list[str]]] = FileCache(0)
        self._results: FileCache[RunResult] = FileCache(_RESULTS_KEPT)
        self._recorded: FileCache[int] = FileCache(_LITTLE_KEPT)
        self._notes = RunNotes(live.current.run_notes_path)
        self._browsed: tuple[tuple[str, str], Dataset] | None = None
        self._lock = threading.Lock()

    @performs(Action.READ)
    def runs(self) -> tuple[list[RunLine], list[str]]:
        """Return (finished runs of submissions.jsonl, newest first; number and fault of each damaged line there)."""
        path = self._live.current.submissions_path
        runs, damaged = self._lists.get(path, lambda: read_submissions(path))
        return list(runs), list(damaged)

    @performs(Action.READ)
    def search(self, asked: RunFilter, data_name: Callable[[RunLine], str] = attrgetter("dataset")) -> list[RunLine]:
        """Return the finished runs that match the filter, newest first.

        Args:
            data_name: name under which the data of a run is shown; its words are searched, too.
        """
        return search(self.runs()[0], self._notes.all(), asked, data_name)

    @performs(Action.READ)
    def notes(self) -> Mapping[str, RunNote]:
        """Return run_id -> tags and note, for the runs that have any."""
        return self._notes.all()

    @performs(Action.NOTE)
    def tag(self, run_id: str, add: Sequence[str] = (), remove: Sequence[str] = ()) -> RunNote:
        """Add tags to a run and remove others. Tags that another user adds at the same time stay.

        Raises:
            RunNotFound, RunError (note_not_written)
        """
        self._known(run_id)
        return self._notes.tag(run_id, add, remove)

    @performs(Action.NOTE)
    def write_note(self, run_id: str, text: str, seen: str) -> RunNote:
        """Replace a run's note by ``text``.

        Args:
            seen: the note as the user saw it before editing.

        Raises:
            RunError: the stored note is not ``seen``, because another user has changed it. The stored note stays.
            RunNotFound, RunError (note_not_written)
        """
        self._known(run_id)
        return self._notes.write(run_id, text, seen)

    @performs(Action.READ)
    def groups(self) -> list[RunGroup]:
        """Group the finished runs by the data that they measured. Only runs of one group can be ranked."""
        return run_groups(self.runs()[0])

    @performs(Action.READ)
    def series(self) -> list[Series]:
        """Group the finished runs by kind and name of their data, for histories; the newest group first."""
        return series_of(self.runs()[0])

    @performs(Action.READ)
    def run(self, run_id: str) -> RunResult:
        """Return the result of a finished run with its queries. Raises RunNotFound, RunUnreadable."""
        folder = self._folder(run_id)
        return self._results.get(folder.result_path, folder.result)

    def compared(self, run_id: str) -> ComparedRun:
        """Return a finished run with its manifest. Raises RunNotFound, RunUnreadable."""
        manifest, result = self._folder(run_id).manifest(), self.run(run_id)
        return ComparedRun(manifest, result, expected_of(self._folder(run_id), manifest, result))

    def compare(self, run_ids: Sequence[str], metrics: Sequence[str] = ()) -> Comparison:
        """Compare the first finished run with each of the others, by default by the metrics of ``COMPARED``.

        Raises:
            RunNotFound, RunUnreadable, NotComparable
            UnknownChoice: a metric that the runs do not have.
        """
        return compare_runs([self.compared(run_id) for run_id in run_ids], metrics)

    @performs(Action.READ)
    def export(self, run_id: str, form: str) -> Exported:
        """Export a finished run in a format of ``FORMATS``.

        Raises:
            UnknownChoice, RunNotFound, RunUnreadable, NothingToExport
            DatasetError (dataset_changed): the data set, which holds the texts, is missing or has changed.
        """
        if form not in FORMATS:
            raise UnknownChoice(kind="export format", found=form, legal=", ".join(FORMATS))
        return FORMATS[form].export(self.finished(run_id))

    def import_run(
        self, path: Path, dataset: str = "", name: str = "", progress: ProgressCallback = ignore_progress
    ) -> ImportedRun:
        """Import a run from elsewhere: a zip of the export "zip", or a ranking of ``dataset`` (TREC or JSON).

        Args:
            name: name of a ranking, displayed instead of a strategy; "" for the tag or name of the file.

        Raises:
            ImportRefused: the file is missing or neither of the two, or a zip was given with a data set or name.
            ImportRefused, RunError: nothing is imported.
            DatasetError, StorageError
        """
        settings = self._live.current
        if not path.is_file():
            raise ImportRefused("nothing_to_import", path=str(path), reason="there is no such file")
        if zipfile.is_zipfile(path) or path.suffix == ".zip":
            if dataset or name:
                raise ImportRefused(
                    "nothing_to_import", path=str(path), reason="a bundle has its own data set and name"
                )
            return keep_bundle(read_bundle(path), settings, self._parts.finish)
        if not dataset:
            raise ImportRefused("nothing_to_import", path=str(path), reason="it is no zip, and no data set was given")
        trec = read_ranking(path)
        found = self._sources.find(dataset)
        if names_kb(found.reference):
            raise ImportRefused(
                "nothing_to_import", path=str(path), reason="a ranking of another program needs a data set of passages"
            )
        whole = self._sources.load(found, progress).dataset
        return import_trec(trec, name, found.reference, whole, settings, self._parts, progress)

    @performs(Action.READ)
    def files(self, run_id: str) -> list[Path]:
        """List the files that a finished run offers for download."""
        forms = (f"{run_id}*.csv", f"{run_id}.json", f"{run_id}_scores.jsonl")
        return sorted(path for form in forms for path in self._folder(run_id).path.glob(form))

    @performs(Action.READ)
    def unfinished(self) -> list[UnfinishedRun]:
        """List the runs that were stopped or whose process died, newest first. Unreadable ones are left out."""
        active = {job.job_id for queue in self._jobs for job in queue.statuses() if job.active}
        found = []
        for folder in run_folders(self._live.current.results_dir):
            if folder.run_id in active or folder.state() != "unfinished":
                continue
            # A manifest may be without what its kind of run needs.
            with suppress(ChatbotError, KeyError, TypeError, ValueError):
                run = folder.manifest()
                recorded = self._recorded.get(folder.path / "records.jsonl", partial(_recorded, folder, run))
                found.append(
                    UnfinishedRun(
                        run.run_id, run.kind, run.dataset, run.strategy, recorded, run.queries, run.started_at
                    )
                )
        return found

    @performs(Action.READ)
    def documents(self, run_id: str, doc_ids: Sequence[str]) -> dict[str, Document]:
        """Return id -> document of a run's data set. Ids that the data set does not have are left out.

        Raises:
            RunNotFound, DatasetError: the run or its data set no longer exists.
        """
        manifest = self._folder(run_id).manifest()
        key = (manifest.dataset_ref, manifest.dataset_sha256)
        with self._lock:
            # The last data set stays cached, because users browse a run query by query.
            if self._browsed is None or self._browsed[0] != key:
                self._browsed = (key, self._sources.reload(manifest).dataset)
            dataset = self._browsed[1]
        return {doc_id: found for doc_id in doc_ids if (found := dataset.document(doc_id)) is not None}

    def forget_documents(self) -> None:
        """Keep no document of a data set in memory."""
        with self._lock:
            self._browsed = None

    def finished(self, run_id: str) -> FinishedRun:
        """Return a finished benchmark run with the data set that it measured, for exports and evaluations.

        Raises:
            RunNotFound, RunUnreadable, UnknownChoice
            DatasetError (dataset_changed): the data set is missing or has changed.
        """
        run = self.compared(run_id)
        if not run_kind(run.manifest.kind).retrieves:
            raise UnknownChoice(kind="kind of run for this", found=run.manifest.kind, legal=BENCHMARK)
        recorded = self._live.current.with_recorded(run.manifest.settings_masked)
        dataset = self._sources.reload(run.manifest).sampled(recorded)[0].dataset
        if dataset.sha256 != run.manifest.dataset_sha256:
            raise DatasetError("dataset_changed", name=dataset.name, run_id=run_id)
        files = {path.name: path.read_bytes() for path in self.files(run_id)}
        return FinishedRun(run.manifest, run.result, dataset, files, partial(_scores, self._folder(run_id)))

    def _folder(self, run_id: str) -> RunFolder:
        return RunFolder(self._live.current.results_dir, run_id)

    def _known(self, run_id: str) -> None:
        if all(run.run_id != run_id for run in self.runs()[0]):
            raise RunNotFound(run_id=run_id, folder=str(self._live.current.results_dir))


def _scores(folder: RunFolder) -> dict[str, dict[str, float]]:
    """Return query id -> document id -> score of the retrieval, from the records."""
    retrieved = {key: retrieved_of(record) for key, record in folder.all_records()[0].get(RETRIEVE, {}).items()}
    return {key: dict(zip(found.doc_ids, found.scores, strict=False)) for key, found in retrieved.items()}


def _recorded(folder: RunFolder, manifest: RunManifest) -> int:
    """Return the number of queries that are complete and are not executed again."""
    phases, _ = folder.all_records()
    return min(len(phases.get(phase, {})) for phase in run_kind(manifest.kind).phases(manifest))
