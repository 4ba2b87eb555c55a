"""The data sets that a benchmark can run on: which there are, fetching and pushing them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

from chatbot_mvp.benchmark.datasets import Dataset, hotpotqa, load_dataset
from chatbot_mvp.benchmark.datasets.catalogue import Catalogue, Found, StorageState
from chatbot_mvp.benchmark.datasets.storage import S3Url, open_storage
from chatbot_mvp.errors import StorageError
from chatbot_mvp.settings import Settings
from chatbot_mvp.types import ProgressCallback, ignore_progress


class DatasetDesk:
    """Safe to share between sessions; holds nothing of one user."""

    def __init__(self, settings: Callable[[], Settings]) -> None:
        """
        Args:
            settings: as they are now.
        """
        self._current = settings

    def names(self) -> list[str]:
        """Names of the data sets that come with the project or lie in ``data/datasets``."""
        return self._catalogue.names()

    def entries(self) -> tuple[list[Found], StorageError | None]:
        """(data sets here and on S3, why those on S3 are not among them; None if nothing went wrong)."""
        return self._catalogue.entries()

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

    def push(self, reference: str) -> tuple[str, list[str], list[str]]:
        """Upload a data set to S3; (its address there, files sent, files that were there already).

        Raises:
            DatasetError, StorageError
        """
        url, sent, kept = self._catalogue.push(reference)
        return str(url), sent, kept

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
    def _catalogue(self) -> Catalogue:
        settings = self._current()
        home = S3Url(settings.minio_bucket_name, settings.s3_datasets_prefix) if settings.minio_bucket_name else None
        state = StorageState(open_storage(settings), home, tuple(settings.storage_missing), settings.storage_begun)
        return Catalogue(settings.samples_dir, settings.datasets_dir, settings.cache_dir / "datasets", state)
