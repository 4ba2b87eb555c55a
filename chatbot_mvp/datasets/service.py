"""List, describe, add, share and delete the data sets that benchmarks can run on."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from chatbot_mvp.datasets import Dataset, load_dataset
from chatbot_mvp.datasets.catalogue import Catalogue, Found, StorageState
from chatbot_mvp.datasets.details import DatasetDetails, license_of, read_details, splits_of
from chatbot_mvp.datasets.fetching import DATASET_SOURCES, Fetched, fetch
from chatbot_mvp.datasets.files import check_dataset, dataset_files
from chatbot_mvp.datasets.source import DatasetSource
from chatbot_mvp.datasets.upload import UploadedFile, take_upload, usable_name
from chatbot_mvp.errors import DatasetError, StorageError, UnknownChoice
from chatbot_mvp.jobs.manager import JobManager, JobStatus
from chatbot_mvp.remote.s3 import S3Url, open_storage
from chatbot_mvp.settings.access import Action, performs
from chatbot_mvp.settings.live import LiveSettings
from chatbot_mvp.storage.clock import utc_now
from chatbot_mvp.storage.files import make_folder, recover_folders
from chatbot_mvp.storage.lru import BoundedCache
from chatbot_mvp.types import Progress, ProgressCallback, ignore_progress

_DETAILS_KEPT = 16


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


class DatasetService:
    """The data sets of this machine and of S3. Safe to share between sessions; holds nothing of one user."""

    def __init__(self, live: LiveSettings) -> None:
        self._live = live
        self._details: BoundedCache[tuple[object, ...], DatasetDetails] = BoundedCache(_DETAILS_KEPT)
        self._asked: RemoteList | None = None

    # --- listing and loading

    @performs(Action.READ)
    def names(self) -> list[str]:
        """List the names of the bundled data sets and of those in ``data/datasets``."""
        return self._catalogue.names()

    def entries(self) -> tuple[list[Found], StorageError | None]:
        """Return (local and S3 data sets, the error that kept S3 data sets out or None)."""
        return self._catalogue.entries()

    @performs(Action.READ)
    def here(self) -> list[Listed]:
        """List the bundled and local data sets. Sends no request."""
        listed = []
        for found in self._catalogue.entries_here():
            assert found.folder is not None
            own = found.place == "local"
            link = own and found.folder.is_symlink()
            listed.append(Listed(found, license_of(found.folder.resolve()), splits_of(found.folder), own, link))
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
                found = tuple(self._catalogue.entries_remote())
            except StorageError as error:
                problem = error
            self._asked = RemoteList(found, problem, utc_now())
        return self._asked

    @performs(Action.READ)
    def details(self, reference: str) -> DatasetDetails | None:
        """Describe a data set; None if it would have to be downloaded first. The last 16 results are cached.

        Raises:
            DatasetError, StorageError
        """
        found = self.find(reference)
        folder = found.folder
        if folder is None:
            return None
        files = dataset_files(folder, found.split)
        key = (folder, *((path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files))
        return self._details.get_or_build(key, lambda: read_details(folder, found.split))

    def find(self, reference: str) -> Found:
        """Find a data set by name, folder, or address on S3.

        Raises:
            DatasetError (dataset_not_found), StorageError
        """
        return self._catalogue.find(reference)

    def load(self, reference: str, progress: ProgressCallback = ignore_progress) -> Dataset:
        """Find, download if need be, read and check a data set.

        Raises:
            DatasetError, StorageError
        """
        return self._catalogue.load(reference, progress)

    def load_found(self, found: Found, progress: ProgressCallback = ignore_progress) -> Dataset:
        """Load a data set that ``find`` returned, and download it first if needed.

        Raises:
            DatasetError, StorageError
        """
        return load_dataset(self._catalogue.folder(found, progress), found.split)

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
    def delete(self, name: str) -> None:
        """Delete an added data set. For a linked folder only the link is deleted.

        Raises:
            DatasetError (dataset_not_own): it was not added by a user.
        """
        home = self._live.current.datasets_dir
        if name not in {listed.found.name for listed in self.here() if listed.own}:
            raise DatasetError("dataset_not_own", name=name, folder=str(home))
        place = home / name
        if place.is_symlink():
            place.unlink()
        else:
            shutil.rmtree(place)

    def _refuse_name(self, name: str, replaceable: bool) -> None:
        """Check that a name is free, or names an added data set that may be replaced.

        Raises:
            DatasetError (dataset_name_taken): it is not.
        """
        taken = {listed.found.name: listed for listed in self.here()}.get(name)
        if taken is not None and not (replaceable and taken.own):
            raise DatasetError("dataset_name_taken", name=name, place=str(taken.found.folder))

    def sources(self) -> list[DatasetSource]:
        """List the places that data sets can be fetched from."""
        return list(DATASET_SOURCES.values())

    def fetch(
        self, name: str, split: str = "", address: str = "", progress: ProgressCallback = ignore_progress
    ) -> Fetched:
        """Fetch a data set from one of the ``sources`` into ``data/datasets``, and replace an earlier copy.

        Args:
            split, address: as in ``fetching.fetch``.

        Raises:
            UnknownChoice: there is no such source.
            DatasetNotReceived (download_failed, dataset_source_failed): it could not be fetched.
            DatasetError: what was fetched is no valid data set; an earlier copy stays.
        """
        if name not in DATASET_SOURCES:
            raise UnknownChoice(kind="source of data sets", found=name, legal=", ".join(DATASET_SOURCES))
        return fetch(DATASET_SOURCES[name], self._live.current, split, address, progress)

    def push(self, reference: str, progress: ProgressCallback = ignore_progress) -> tuple[str, list[str], list[str]]:
        """Upload a data set to S3; return (its address, files sent, files that were already there).

        Raises:
            DatasetError, StorageError
        """
        progress(Progress("push", 0, 0))
        url, sent, kept = self._catalogue.push(reference)
        return str(url), sent, kept

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

    # --- the S3 server

    @property
    def uses_storage(self) -> bool:
        """Whether an S3 server is configured, even if incompletely."""
        return self._catalogue.uses_storage

    def try_storage(self) -> str:
        """List the data sets on S3 and return the result in words.

        Raises:
            StorageError: the server is not configured or did not answer.
        """
        return self._catalogue.try_storage()

    @cached_property
    def _jobs(self) -> JobManager:
        # Its own queue: a download does not wait for an hour's benchmark.
        return JobManager(self._live.current.data_jobs_dir)

    @cached_property
    def _catalogue(self) -> Catalogue:
        settings = self._live.current
        home = S3Url(settings.minio_bucket_name, settings.s3_datasets_prefix) if settings.minio_bucket_name else None
        state = StorageState(open_storage(settings), home, tuple(settings.storage_missing), settings.storage_begun)
        recover_folders(settings.datasets_dir)
        return Catalogue(settings.samples_dir, settings.datasets_dir, settings.cache_dir / "datasets", state)
