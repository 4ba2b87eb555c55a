"""List, describe, add, share and delete the data sets that benchmarks can run on."""

from __future__ import annotations

import os
import re
import shutil
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from chatbot_mvp.datasets import hotpotqa
from chatbot_mvp.datasets.catalogue import Catalogue, Found
from chatbot_mvp.datasets.fetching import DATASET_SOURCES, Fetched, fetch
from chatbot_mvp.datasets.layout import folder_layout
from chatbot_mvp.datasets.loading import check_dataset, dataset_files, load_dataset
from chatbot_mvp.datasets.model import Dataset
from chatbot_mvp.datasets.source import DatasetSource
from chatbot_mvp.datasets.upload import UploadedFile, take_upload, usable_name
from chatbot_mvp.errors import DatasetError, StorageError, UnknownChoice
from chatbot_mvp.jobs.manager import JobManager, JobStatus
from chatbot_mvp.remote.s3 import open_storage
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.storage.aside import forget_old
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import make_folder, recover_folders
from chatbot_mvp.storage.lru import BoundedCache
from chatbot_mvp.types import ProgressCallback, ignore_progress

_PREVIEWED = 5
_LONGEST_LICENSE = 200

_DETAILS_KEPT = 16


@dataclass(frozen=True, slots=True)
class QueryPreview:
    """A question of a data set."""

    query_id: str
    question: str
    answer: str
    """Reference answer; "" if the data set has none."""
    gold: tuple[str, ...]
    """Titles of the relevant documents, or their ids if they have no title."""


@dataclass(frozen=True, slots=True)
class DatasetDetails:
    """The properties of a loaded data set."""

    documents: int
    queries: int
    qrels: int
    left_out: int
    """Judgements of documents that the corpus lacks."""
    answered: int
    """Number of queries with a reference answer."""
    language: str
    """Detected language, "es" or "en"."""
    types: Mapping[str, int]
    """question_type -> number of queries; empty if the data set has no types."""
    levels: Mapping[str, int]
    """level -> number of queries; empty if the data set has no levels."""
    preview: tuple[QueryPreview, ...]


def read_details(folder: Path, split: str = "") -> DatasetDetails:
    """Load a data set and describe it.

    Raises:
        DatasetError: the data set cannot be loaded.
    """
    dataset = load_dataset(folder, split)
    shown = []
    for query in dataset.queries[:_PREVIEWED]:
        judged = dataset.qrels.get(query.query_id, {})
        gold = tuple(_title(dataset, doc_id) for doc_id, score in judged.items() if score > 0)
        shown.append(QueryPreview(query.query_id, query.text, query.answer, gold))
    return DatasetDetails(
        documents=len(dataset.documents),
        queries=len(dataset.queries),
        qrels=sum(map(len, dataset.qrels.values())),
        left_out=dataset.left_out,
        answered=sum(bool(query.answer) for query in dataset.queries),
        language=dataset.language,
        types=Counter(query.question_type for query in dataset.queries if query.question_type),
        levels=Counter(query.level for query in dataset.queries if query.level),
        preview=tuple(shown),
    )


def _title(dataset: Dataset, doc_id: str) -> str:
    document = dataset.document(doc_id)
    return document.title if document and document.title else doc_id


def license_of(folder: Path) -> str:
    """Return one line about the licence from the data set's LICENSE or README file; "" if there is none."""
    for path in sorted(folder.glob("LICEN[CS]E*")):
        if lines := [line.strip() for line in _text(path).splitlines() if line.strip()]:
            return lines[0][:_LONGEST_LICENSE]
    for path in sorted(folder.glob("README*")):
        for line in _text(path).splitlines():
            if re.search(r"licen[cs]|licencia", line, re.IGNORECASE):
                return line.strip(" #*->|")[:_LONGEST_LICENSE]
    return hotpotqa.LICENSE if folder.name in hotpotqa.NAMES else ""


def _text(path: Path) -> str:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return file.read(100_000)
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class Listed:
    """A data set in the list."""

    found: Found
    license: str
    """One line about its licence; "" if its files say nothing."""
    splits: tuple[str, ...]
    """Splits of its qrels; empty for Parquet."""
    own: bool
    """True if it was added by a user and can be deleted."""
    linked: bool
    """True if it is a link to a folder elsewhere on this machine."""


@dataclass(frozen=True, slots=True)
class RemoteList:
    """The last listing of the S3 server."""

    found: tuple[Found, ...]
    problem: StorageError | None
    """Why the listing failed; None if it succeeded."""
    at: str
    """Time of the listing, ISO 8601, UTC."""


class DatasetService(Catalogue):
    """The data sets of this machine and of S3. Safe to share between sessions; holds nothing of one user.

    Errors are those of ``Catalogue`` unless a method says otherwise.
    """

    def __init__(self, live: LiveSettings) -> None:
        super().__init__(live.current, open_storage(live.current))
        recover_folders(live.current.datasets_dir)
        self._live = live
        self._details: BoundedCache[tuple[object, ...], DatasetDetails] = BoundedCache(_DETAILS_KEPT)
        self._asked: RemoteList | None = None

    # --- listing

    @performs(Action.READ)
    def here(self) -> list[Listed]:
        """List the bundled and local data sets. Sends no request."""
        listed = []
        for found in self.entries_here():
            assert found.folder is not None
            own = found.place == "local"
            link = own and found.folder.is_symlink()
            splits = folder_layout(found.folder).splits
            listed.append(Listed(found, license_of(found.folder.resolve()), splits, own, link))
        return listed

    @performs(Action.READ)
    def remote(self, ask: bool = False) -> RemoteList | None:
        """Return the last listing of the S3 server; None if it was never listed.

        Args:
            ask: list the server now. This takes seconds if the server does not answer.
        """
        if ask:
            problem: StorageError | None = None
            found: tuple[Found, ...] = ()
            try:
                found = tuple(self.entries_remote())
            except StorageError as error:
                problem = error
            self._asked = RemoteList(found, problem, utc_now())
        return self._asked

    @performs(Action.READ)
    def details(self, reference: str) -> DatasetDetails | None:
        """Describe a data set; None if it would have to be downloaded first. The last 16 results are cached."""
        found = self.find(reference)
        folder = found.folder
        if folder is None:
            return None
        files = dataset_files(folder, found.split)
        key = (folder, *((path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files))
        return self._details.get_or_build(key, lambda: read_details(folder, found.split))

    # --- bringing in, deleting

    @performs(Action.CHANGE_DATASETS)
    def upload(self, files: Sequence[UploadedFile], name: str) -> str:
        """Store a zip (BEIR or Parquet) or three Parquet files under a name. Replaces an added data set of that name.

        Returns:
            The name under which it is stored.

        Raises:
            DatasetError: the upload was refused; nothing has changed.
        """
        name = usable_name(name)
        self._refuse_name(name, replaceable=True)
        settings = self._live.current
        make_folder(settings.datasets_dir)
        take_upload(files, settings.datasets_dir / name, settings.dataset_max_upload_mb)
        return name

    @performs(Action.CHANGE_DATASETS)
    def add_folder(self, path: str) -> str:
        """Add a link to a folder of this machine, under the folder's name. Returns the name.

        Raises:
            DatasetError: the folder is not a valid data set, or the name is taken.
        """
        folder = Path(path).expanduser().resolve()
        if not folder.is_dir():
            raise DatasetError("dataset_not_found", name=path, legal=", ".join(self.names()) or "-")
        check_dataset(folder)
        name = usable_name(folder.name)
        self._refuse_name(name, replaceable=False)
        place = self._live.current.datasets_dir / name
        make_folder(place.parent)
        place.symlink_to(folder, target_is_directory=True)
        return name

    @performs(Action.CHANGE_DATASETS)
    def delete(self, name: str, undoable: bool = False) -> None:
        """Delete an added data set. For a linked folder only the link is deleted.

        Args:
            undoable: keep its files for a day, in which ``undelete`` brings them back.

        Raises:
            DatasetError (dataset_not_own): it was not added by a user.
        """
        home, aside = self._live.current.datasets_dir, self._live.current.deleted_datasets_dir / name
        if name not in {listed.found.name for listed in self.here() if listed.own}:
            raise DatasetError("dataset_not_own", name=name, folder=str(home))
        place = home / name
        if place.is_symlink():
            place.unlink()
            return
        shutil.rmtree(aside, ignore_errors=True)  # an earlier one of this name
        if undoable:
            make_folder(aside.parent)
            os.utime(place)  # tells when it was deleted
            shutil.move(place, aside)
        else:
            shutil.rmtree(place)

    @performs(Action.READ)
    def deleted(self) -> list[str]:
        """Return the names of the data sets whose deletion can be undone; none whose name is taken by now."""
        aside = self._live.current.deleted_datasets_dir
        forget_old(aside.glob("*"))
        return sorted({path.name for path in aside.glob("*")} - set(self.names()))

    @performs(Action.CHANGE_DATASETS)
    def undelete(self, name: str) -> None:
        """Bring back a data set whose deletion can be undone.

        Raises:
            DatasetError (dataset_not_found, dataset_name_taken)
        """
        self._refuse_name(name, replaceable=False)
        if name not in (deleted := self.deleted()):
            raise DatasetError("dataset_not_found", name=name, legal=", ".join(deleted) or "-")
        shutil.move(self._live.current.deleted_datasets_dir / name, self._live.current.datasets_dir / name)

    def _refuse_name(self, name: str, replaceable: bool) -> None:
        """Check that a name is free, or names an added data set that may be replaced."""
        taken = {listed.found.name: listed for listed in self.here()}.get(name)
        if taken is not None and not (replaceable and taken.own):
            raise DatasetError("dataset_name_taken", name=name, place=str(taken.found.folder))

    def sources(self) -> list[DatasetSource]:
        """List the places that data sets can be fetched from."""
        return list(DATASET_SOURCES.values())

    def fetch(
        self, name: str, split: str = "", address: str = "", progress: ProgressCallback = ignore_progress
    ) -> Fetched:
        """Fetch a data set from one of the ``sources``, with the arguments and errors of ``fetching.fetch``.

        Raises:
            UnknownChoice: there is no such source.
        """
        if name not in DATASET_SOURCES:
            raise UnknownChoice(kind="source of data sets", found=name, legal=", ".join(DATASET_SOURCES))
        return fetch(DATASET_SOURCES[name], self._live.current, split, address, progress)

    # --- in the background

    @performs(Action.CHANGE_DATASETS)
    def start_fetch(self, split: str = "validation", base_url: str = "", source: str = "hotpotqa") -> str:
        """Queue ``fetch`` and return the job's id.

        Raises:
            RunError (run_busy): this job is already queued or running.
        """
        name = DATASET_SOURCES[source].folder_name(split)
        return self._start("fetch", name, lambda progress: self.fetch(source, split, base_url, progress))

    @performs(Action.CHANGE_DATASETS)
    def start_push(self, name: str) -> str:
        """Queue ``push`` and return the job's id.

        Raises:
            RunError (run_busy): this job is already queued or running.
        """
        return self._start("push", name, lambda progress: self.push(name, progress))

    @performs(Action.READ)
    def jobs(self) -> list[JobStatus]:
        """List running downloads and uploads, and the last finished one of each data set, latest first."""
        return sorted(self._jobs.statuses(), key=lambda job: job.updated_at, reverse=True)

    @performs(Action.CHANGE_DATASETS)
    def stop(self, job_id: str) -> None:
        """Ask a job to stop in a consistent state. A later download resumes where it stopped."""
        self._jobs.stop(job_id)

    def _start(self, kind: str, name: str, work: Callable[[ProgressCallback], object]) -> str:
        job_id = f"{kind}-{name}"
        self._jobs.submit(job_id, name, work)
        return job_id

    @cached_property
    def _jobs(self) -> JobManager:
        # Its own queue: a download does not wait for an hour's benchmark.
        return JobManager(self._live.current.data_jobs_dir)
