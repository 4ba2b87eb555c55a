"""The data sets that a benchmark can run on: which there are, what they hold, bringing them in, sharing, deleting."""

from __future__ import annotations

import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from chatbot_mvp.datasets import Dataset, hotpotqa, load_dataset
from chatbot_mvp.datasets.catalogue import Catalogue, Found, StorageState
from chatbot_mvp.datasets.details import DatasetDetails, license_of, read_details, splits_of
from chatbot_mvp.datasets.files import dataset_files
from chatbot_mvp.datasets.storage import S3Url, open_storage
from chatbot_mvp.datasets.upload import UploadedFile, take_upload, usable_name
from chatbot_mvp.errors import DatasetNameTaken, DatasetNotFound, DatasetNotOwn, StorageError
from chatbot_mvp.jobs.manager import JobManager, JobStatus
from chatbot_mvp.settings.model import Settings
from chatbot_mvp.types import Progress, ProgressCallback, ignore_progress

_DETAILS_KEPT = 16


@dataclass(frozen=True, slots=True)
class Listed:
    """A data set in the list."""

    found: Found
    license: str
    """"" where its files say nothing, or are not here."""
    splits: tuple[str, ...]
    own: bool
    """Added here: it can be deleted."""
    linked: bool
    """A folder elsewhere on this machine, of which only the entry is ours."""


@dataclass(frozen=True, slots=True)
class RemoteList:
    """What an S3 server answered when it was last asked."""

    found: tuple[Found, ...]
    problem: StorageError | None
    at: str
    """ISO 8601, UTC."""


class DatasetService:
    """Safe to share between sessions; holds nothing of one user."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        """
        Args:
            settings: as they are now.
        """
        self._current = settings
        self._details: OrderedDict[object, DatasetDetails] = OrderedDict()
        self._asked: RemoteList | None = None
        self._lock = threading.Lock()

    # --- what is there

    def names(self) -> list[str]:
        """Names of the data sets that come with the project or lie in ``data/datasets``."""
        return self._catalogue.names()

    def entries(self) -> tuple[list[Found], StorageError | None]:
        """(data sets here and on S3, why those on S3 are not among them; None if nothing went wrong)."""
        return self._catalogue.entries()

    def here(self) -> list[Listed]:
        """Those on this machine that have a name; nobody is asked."""
        listed = []
        for found in self._catalogue.entries_here():
            assert found.folder is not None
            own = found.place == "local"
            link = own and found.folder.is_symlink()
            listed.append(Listed(found, license_of(found.folder.resolve()), splits_of(found.folder), own, link))
        return listed

    def remote(self, ask: bool = False) -> RemoteList | None:
        """What the S3 server last answered; None if it was not asked yet.

        Args:
            ask: anew. It takes seconds where the server does not answer.
        """
        if ask:
            problem: StorageError | None = None
            found: tuple[Found, ...] = ()
            try:
                found = tuple(self._catalogue.entries_remote())
            except StorageError as error:
                problem = error
            self._asked = RemoteList(found, problem, datetime.now(UTC).isoformat(timespec="seconds"))
        return self._asked

    def details(self, reference: str) -> DatasetDetails | None:
        """Read a data set; None for one that would have to be downloaded first. The last few are kept.

        Raises:
            DatasetError, StorageError
        """
        folder = self.find(reference).folder
        if folder is None:
            return None
        files = [path for path in dataset_files(folder) if path.is_file()]
        key = (folder, *((path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files))
        with self._lock:
            if key not in self._details:
                self._details[key] = read_details(folder)
            self._details.move_to_end(key)
            while len(self._details) > _DETAILS_KEPT:
                self._details.popitem(last=False)
            return self._details[key]

    def find(self, reference: str) -> Found:
        """A data set by a name, a folder, or an address on S3.

        Raises:
            DatasetNotFound, StorageError
        """
        return self._catalogue.find(reference)

    def load(self, reference: str, progress: ProgressCallback = ignore_progress) -> Dataset:
        """Find, download if need be, read and check a data set.

        Raises:
            DatasetError, StorageError
        """
        return self._catalogue.load(reference, progress)

    def load_found(self, found: Found, progress: ProgressCallback = ignore_progress) -> Dataset:
        """The same of one that was found before.

        Raises:
            DatasetError, StorageError
        """
        return load_dataset(self._catalogue.folder(found, progress))

    # --- bringing in, deleting

    def upload(self, files: Sequence[UploadedFile], name: str) -> str:
        """Keep a zip (BEIR or Parquet) or three Parquet files under a name; one of one's own of that name is replaced.

        Returns:
            The name.

        Raises:
            DatasetError: nothing has changed.
        """
        name = usable_name(name)
        self._refuse_name(name, replaceable=True)
        settings = self._current()
        settings.datasets_dir.mkdir(parents=True, exist_ok=True)
        take_upload(files, settings.datasets_dir / name, settings.dataset_max_upload_mb)
        return name

    def add_folder(self, path: str) -> str:
        """List a folder of this machine under its own name; it stays where it is.

        Raises:
            DatasetError: it is no data set, or the name is taken.
        """
        folder = Path(path).expanduser().resolve()
        if not folder.is_dir():
            raise DatasetNotFound(name=path, legal=", ".join(self.names()) or "-")
        load_dataset(folder)
        name = usable_name(folder.name)
        self._refuse_name(name, replaceable=False)
        place = self._current().datasets_dir / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(folder, target_is_directory=True)
        return name

    def delete(self, name: str) -> None:
        """Delete a data set that was added here; of a folder elsewhere only the entry.

        Raises:
            DatasetNotOwn
        """
        home = self._current().datasets_dir
        if name not in {listed.found.name for listed in self.here() if listed.own}:
            raise DatasetNotOwn(name=name, folder=str(home))
        place = home / name
        if place.is_symlink():
            place.unlink()
        else:
            shutil.rmtree(place)

    def _refuse_name(self, name: str, replaceable: bool) -> None:
        """
        Raises:
            DatasetNameTaken
        """
        taken = {listed.found.name: listed for listed in self.here()}.get(name)
        if taken is not None and not (replaceable and taken.own):
            raise DatasetNameTaken(name=name, place=str(taken.found.folder))

    def fetch_hotpotqa(
        self, split: str, base_url: str = hotpotqa.BASE_URL, progress: ProgressCallback = ignore_progress
    ) -> hotpotqa.Fetched:
        """Download a split of HotpotQA from the public hub into ``data/datasets``, in place of what is there.

        Raises:
            DownloadFailed
            DatasetError: what arrived is not of the hub's format; an earlier data set stays.
        """
        settings = self._current()
        return hotpotqa.fetch(base_url, split, settings.datasets_dir, settings.cache_dir / "downloads", progress)

    def push(self, reference: str, progress: ProgressCallback = ignore_progress) -> tuple[str, list[str], list[str]]:
        """Upload a data set to S3; (its address there, files sent, files that were there already).

        Raises:
            DatasetError, StorageError
        """
        progress(Progress("push", 0, 0))
        url, sent, kept = self._catalogue.push(reference)
        return str(url), sent, kept

    # --- in the background

    def start_fetch(self, split: str = "validation", base_url: str = hotpotqa.BASE_URL) -> str:
        """Queue ``fetch_hotpotqa``; the job's id.

        Raises:
            RunBusy: it is under way.
        """
        name = hotpotqa.name_of(split)
        return self._start("fetch", name, lambda progress: self.fetch_hotpotqa(split, base_url, progress))

    def start_push(self, name: str) -> str:
        """Queue ``push``; the job's id.

        Raises:
            RunBusy: it is under way.
        """
        return self._start("push", name, lambda progress: self.push(name, progress))

    def jobs(self) -> list[JobStatus]:
        """Data sets on their way, and how the last of each ended, the latest first."""
        return sorted(self._jobs.statuses(), key=lambda job: job.updated_at, reverse=True)

    def stop(self, job_id: str) -> None:
        """Ask a job to stop at its next clean place; what was downloaded is not downloaded again."""
        self._jobs.stop(job_id)

    def _start(self, kind: str, name: str, work: Callable[[ProgressCallback], object]) -> str:
        job_id = f"{kind}-{name}"
        self._jobs.submit(job_id, name, work)
        return job_id

    # --- the S3 server

    @property
    def uses_storage(self) -> bool:
        """Whether data sets may be on S3."""
        return self._catalogue.uses_storage

    def try_storage(self) -> str:
        """
        Raises:
            StorageError
        """
        return self._catalogue.try_storage()

    @cached_property
    def _jobs(self) -> JobManager:
        # Its own queue: a download does not wait for an hour's benchmark.
        return JobManager(self._current().data_jobs_dir)

    @cached_property
    def _catalogue(self) -> Catalogue:
        settings = self._current()
        home = S3Url(settings.minio_bucket_name, settings.s3_datasets_prefix) if settings.minio_bucket_name else None
        state = StorageState(open_storage(settings), home, tuple(settings.storage_missing), settings.storage_begun)
        return Catalogue(settings.samples_dir, settings.datasets_dir, settings.cache_dir / "datasets", state)
