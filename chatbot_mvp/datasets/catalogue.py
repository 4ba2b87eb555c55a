"""Resolve references to data sets, which may be bundled, in a local folder, or on S3."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from chatbot_mvp.datasets.counts import Counts, count_rows, count_rows_remote
from chatbot_mvp.datasets.files import load_dataset
from chatbot_mvp.datasets.layout import folder_layout, layout_of, split_reference
from chatbot_mvp.datasets.mirror import Mirror
from chatbot_mvp.datasets.model import Dataset
from chatbot_mvp.errors import DatasetError, StorageError, StorageRefused, StorageUnreachable
from chatbot_mvp.remote.s3 import RemoteFile, S3Url, Storage
from chatbot_mvp.types import ProgressCallback, ignore_progress

_FETCHABLE = "hotpotqa"

Place = Literal["bundled", "local", "remote"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """The location of a data set, before it is read or downloaded."""

    name: str
    place: Place
    reference: str
    """Reference for ``Catalogue.find``: a name, an absolute folder, or ``s3://bucket/…/name/``; with ``#split`` if the
    split was named."""
    folder: Path | None
    """Its folder on this machine; None for a data set on S3 that is not downloaded yet."""
    counts: Counts
    download_bytes: int = 0
    """Bytes to download before a run."""
    offline: str = ""
    """Why the local copy of a data set on S3 could not be compared with the server; "" if it could."""
    split: str = ""
    """Split of the judgements that the reference names; "" for the default."""


@dataclass(frozen=True, slots=True)
class StorageState:
    """The configuration of the S3 server for data sets."""

    storage: Storage | None
    home: S3Url | None
    """Address whose subfolders are data sets, found by name; None without a bucket."""
    missing: tuple[str, ...]
    """Environment variables that are required but not set."""
    begun: bool
    """True if at least one of the required variables is set."""


class Catalogue:
    """All bundled, local and remote data sets."""

    def __init__(self, bundled: Path, local: Path, cache: Path, storage: StorageState) -> None:
        """
        Args:
            bundled, local: folders that contain one folder per data set.
            cache: folder for copies of remote data sets.
        """
        self._folders: dict[Place, Path] = {"bundled": bundled, "local": local}
        self._state = storage
        self._mirror = Mirror(storage.storage, cache) if storage.storage else None

    @property
    def uses_storage(self) -> bool:
        """Whether an S3 server is configured, even if incompletely."""
        return self._state.begun

    def try_storage(self) -> str:
        """List the data sets on S3 and return the result in words.

        Raises:
            StorageError
        """
        return f"{self._home('S3_DATASETS_PREFIX')}: {len(self._remote_urls())} data sets"

    def names(self) -> list[str]:
        """List the names of the bundled and local data sets. Sends no request."""
        return list(self._here())

    def entries(self) -> tuple[list[Found], StorageError | None]:
        """Return (all data sets with a name, the error that kept those on S3 out or None)."""
        here = self.entries_here()
        if not self._state.begun:
            return here, None
        try:
            return [*here, *self.entries_remote()], None
        except StorageError as error:
            return here, error

    def entries_here(self) -> list[Found]:
        """List the bundled and local data sets. Sends no request."""
        return [self._local(name, place, folder) for name, (place, folder) in self._here().items()]

    def entries_remote(self) -> list[Found]:
        """List the data sets on S3.

        Raises:
            StorageError
        """
        return [self._remote(url) for url in self._remote_urls()]

    def find(self, reference: str) -> Found:
        """Find a data set: by local name, address on S3, folder, or name on S3, in this order.

        A split may follow each of these after "#", as in ``nfcorpus#dev``.

        Raises:
            DatasetError (dataset_not_found): the reference is none of these; the error lists the existing names.
            StorageError: only S3 can have it, and the server is not configured or did not answer.
        """
        here = self._here()
        if reference in here:
            return self._local(reference, *here[reference])
        name, split = split_reference(reference)
        if split and not Path(reference).expanduser().is_dir():
            found = self.find(name)
            counts = count_rows(found.folder, split) if found.folder else replace(found.counts, qrels=None)
            return replace(found, reference=f"{found.reference}#{split}", split=split, counts=counts)
        url = S3Url.parse(reference)
        if url is not None:
            return self._remote(url)
        path = Path(reference).expanduser()
        if path.is_dir():
            folder = path.resolve()
            return Found(folder.name, "local", str(folder), folder, count_rows(folder))
        remote: list[str] = []
        if self._state.begun and "/" not in reference:
            home = self._home(reference)
            try:
                remote = [_last(known) for known in self._remote_urls()]
            except StorageUnreachable as error:
                if copy := self._offline(home / reference, error):
                    return copy
                raise
            if reference in remote:
                return self._remote(home / reference)
        known = list(dict.fromkeys([*here, *remote]))
        if _FETCHABLE not in known:
            known.append(f"{_FETCHABLE} (after: chatbot-mvp datasets fetch {_FETCHABLE})")
        raise DatasetError("dataset_not_found", name=reference, legal=", ".join(known))

    def load(self, reference: str, progress: ProgressCallback = ignore_progress) -> Dataset:
        """Find, download if need be, read and check a data set.

        Raises:
            DatasetError, StorageError
        """
        found = self.find(reference)
        return load_dataset(self.folder(found, progress), found.split)

    def folder(self, found: Found, progress: ProgressCallback = ignore_progress) -> Path:
        """Return the local folder of a data set, and download it first if needed.

        Raises:
            StorageError
        """
        if found.offline:
            _log.warning("%s: the copy in the cache is used; %s", found.reference, found.offline)
        if found.folder is not None:
            return found.folder
        url = S3Url.parse(found.reference.removesuffix(f"#{found.split}"))
        storage, mirror = self._remote_parts(found.reference)
        assert url is not None
        return mirror.fetch(url, _needed(storage.files(url)), progress)

    def push(self, reference: str) -> tuple[S3Url, list[str], list[str]]:
        """Upload a local data set; return (address, files sent, files that were already there).

        The corpus is sent last, because a folder without a corpus is not listed as a data set.

        Raises:
            DatasetError: the data set is not valid; nothing is sent.
            StorageError: an upload failed; files sent before stay.
        """
        found = self.find(reference)
        folder = self.folder(found)
        load_dataset(folder, found.split)
        home = self._home(found.name)
        storage, _ = self._remote_parts(str(home))
        sent: list[str] = []
        kept: list[str] = []
        for name in reversed(folder_layout(folder).files):
            (sent if storage.write(folder / name, home / found.name, name) else kept).append(name)
        return home / found.name, sent, kept

    def _here(self) -> Mapping[str, tuple[Place, Path]]:
        found: dict[str, tuple[Place, Path]] = {}
        for place, root in self._folders.items():
            for name, folder in list_folders(root).items():
                found.setdefault(name, (place, folder))
        return found

    def _local(self, name: str, place: Place, folder: Path) -> Found:
        return Found(name, place, name, folder, count_rows(folder))

    def _remote_urls(self) -> list[S3Url]:
        home = self._home("S3_DATASETS_PREFIX")
        storage, _ = self._remote_parts(str(home))
        return [home / name for name in storage.folders(home)]

    def _remote(self, url: S3Url) -> Found:
        storage, mirror = self._remote_parts(str(url))
        try:
            files = _needed(storage.files(url))
        except StorageUnreachable as error:
            if copy := self._offline(url, error):
                return copy
            raise
        if not files:
            raise DatasetError("dataset_not_found", name=str(url), legal=", ".join(self.names()) or "-")
        if folder := mirror.cached(url, files):
            return Found(_last(url), "remote", str(url), folder, count_rows(folder))
        size = sum(file.size for file in files)
        return Found(_last(url), "remote", str(url), None, count_rows_remote(storage, url, files), size)

    def _offline(self, url: S3Url, error: StorageUnreachable) -> Found | None:
        folder = self._mirror.latest(url) if self._mirror else None
        if folder is None:
            return None
        return Found(_last(url), "remote", str(url), folder, count_rows(folder), offline=str(error))

    def _home(self, reference: str) -> S3Url:
        if self._state.home is None:
            raise StorageRefused("storage_not_configured", reference=reference, missing=", ".join(self._state.missing))
        return self._state.home

    def _remote_parts(self, reference: str) -> tuple[Storage, Mirror]:
        if self._state.storage is None or self._mirror is None:
            raise StorageRefused("storage_not_configured", reference=reference, missing=", ".join(self._state.missing))
        return self._state.storage, self._mirror


def list_folders(root: Path) -> dict[str, Path]:
    """Return name -> folder of every data set directly below ``root``."""
    return {
        folder.name: folder
        for folder in (sorted(root.iterdir()) if root.is_dir() else ())
        if not folder.name.startswith(".") and folder.is_dir() and folder_layout(folder).corpus
    }


def _needed(files: Iterable[RemoteFile]) -> list[RemoteFile]:
    """Select the files that belong to the data set; empty if there is no corpus."""
    by_path = {file.path: file for file in files}
    layout = layout_of(by_path)
    return [by_path[path] for path in sorted(layout.files)] if layout.corpus else []


def _last(url: S3Url) -> str:
    return url.prefix.rpartition("/")[2] or url.bucket
