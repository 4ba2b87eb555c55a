"""Where data sets are: bundled, in a folder, or on S3. A reference is resolved here, and nowhere else."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from chatbot_mvp.datasets.counts import Counts, count_rows, count_rows_remote
from chatbot_mvp.datasets.files import dataset_files, load_dataset
from chatbot_mvp.datasets.mirror import Mirror
from chatbot_mvp.datasets.model import Dataset
from chatbot_mvp.datasets.storage import RemoteFile, S3Url, Storage
from chatbot_mvp.errors import DatasetNotFound, StorageError, StorageNotConfigured, StorageUnreachable
from chatbot_mvp.types import ProgressCallback, ignore_progress

_FETCHABLE = "hotpotqa"

Place = Literal["bundled", "local", "remote"]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """Where a data set is, before anything of it is read or downloaded."""

    name: str
    place: Place
    reference: str
    """Finds it again from anywhere: a name, an absolute folder, or ``s3://bucket/…/name/``."""
    folder: Path | None
    """Where it lies on this machine; None for one on S3 that has to be downloaded first."""
    counts: Counts
    download_bytes: int = 0
    """What a run has to download."""
    offline: str = ""
    """Why the copy of a data set on S3 could not be compared with the server; "" if it was."""


@dataclass(frozen=True, slots=True)
class StorageState:
    """What is known of the S3 server of data sets."""

    storage: Storage | None
    home: S3Url | None
    """Below it data sets are known by their name; None without a bucket."""
    missing: tuple[str, ...]
    """Variables that are not set."""
    begun: bool
    """Whether any of them is."""


class Catalogue:
    """All data sets within reach."""

    def __init__(self, bundled: Path, local: Path, cache: Path, storage: StorageState) -> None:
        """
        Args:
            bundled, local: folders of data sets, a folder each.
            cache: where copies of remote ones are kept.
        """
        self._folders: dict[Place, Path] = {"bundled": bundled, "local": local}
        self._state = storage
        self._mirror = Mirror(storage.storage, cache) if storage.storage else None

    @property
    def uses_storage(self) -> bool:
        """Whether an S3 server is configured, if not completely."""
        return self._state.begun

    def try_storage(self) -> str:
        """Ask the S3 server for its data sets; what was found, in words.

        Raises:
            StorageError
        """
        return f"{self._home('S3_DATASETS_PREFIX')}: {len(self._remote_urls())} data sets"

    def names(self) -> list[str]:
        """Names of the bundled and local ones; nobody is asked."""
        return list(self._here())

    def entries(self) -> tuple[list[Found], StorageError | None]:
        """(every data set with a name, why those on S3 are not among them)."""
        here = self.entries_here()
        if not self._state.begun:
            return here, None
        try:
            return [*here, *self.entries_remote()], None
        except StorageError as error:
            return here, error

    def entries_here(self) -> list[Found]:
        """The bundled and local ones; nobody is asked."""
        return [self._local(name, place, folder) for name, (place, folder) in self._here().items()]

    def entries_remote(self) -> list[Found]:
        """Those on S3.

        Raises:
            StorageError
        """
        return [self._remote(url) for url in self._remote_urls()]

    def find(self, reference: str) -> Found:
        """A data set by a name here, a folder, an address on S3, or a name on S3; the first that there is.

        Raises:
            DatasetNotFound: none of these; lists the names that exist.
            StorageError: it must be on S3, which is not configured or did not answer.
        """
        here = self._here()
        if reference in here:
            return self._local(reference, *here[reference])
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
        raise DatasetNotFound(name=reference, legal=", ".join(known))

    def load(self, reference: str, progress: ProgressCallback = ignore_progress) -> Dataset:
        """Find, download if need be, read and check a data set.

        Raises:
            DatasetError, StorageError
        """
        return load_dataset(self.folder(self.find(reference), progress))

    def folder(self, found: Found, progress: ProgressCallback = ignore_progress) -> Path:
        """The files of a data set on this machine, downloaded if they are not there.

        Raises:
            StorageError
        """
        if found.offline:
            _log.warning("%s: the copy in the cache is used; %s", found.reference, found.offline)
        if found.folder is not None:
            return found.folder
        url = S3Url.parse(found.reference)
        storage, mirror = self._remote_parts(found.reference)
        assert url is not None
        return mirror.fetch(url, _needed(storage.files(url)), progress)

    def push(self, reference: str) -> tuple[S3Url, list[str], list[str]]:
        """Upload a data set of this machine; (address, files sent, files that were there already).

        Raises:
            DatasetError: it cannot be used as it is; nothing is sent.
            StorageError: what was sent before stays; the corpus, which makes it a data set, comes last.
        """
        found = self.find(reference)
        folder = self.folder(found)
        load_dataset(folder)
        home = self._home(found.name)
        storage, _ = self._remote_parts(str(home))
        sent: list[str] = []
        kept: list[str] = []
        for path in reversed(dataset_files(folder)):
            name = path.relative_to(folder).as_posix()
            (sent if storage.write(path, home / found.name, name) else kept).append(name)
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
            raise DatasetNotFound(name=str(url), legal=", ".join(self.names()) or "-")
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
            raise StorageNotConfigured(reference=reference, missing=", ".join(self._state.missing))
        return self._state.home

    def _remote_parts(self, reference: str) -> tuple[Storage, Mirror]:
        if self._state.storage is None or self._mirror is None:
            raise StorageNotConfigured(reference=reference, missing=", ".join(self._state.missing))
        return self._state.storage, self._mirror


def list_folders(root: Path) -> dict[str, Path]:
    """Name -> folder of every data set below ``root``."""
    return {
        folder.name: folder
        for folder in (sorted(root.iterdir()) if root.is_dir() else ())
        if not folder.name.startswith(".")
        and ((folder / "corpus.parquet").is_file() or (folder / "corpus.jsonl").is_file())
    }


def _needed(files: Iterable[RemoteFile]) -> list[RemoteFile]:
    """Those that make up a data set; whatever else lies beside them is not copied. Empty without a corpus."""
    by_path = {file.path: file for file in files}
    if "corpus.parquet" in by_path:
        return [by_path[path] for path in ("corpus.parquet", "qrels.parquet", "queries.parquet") if path in by_path]
    if "corpus.jsonl" not in by_path:
        return []
    return [file for path, file in by_path.items() if re.fullmatch(r"(corpus|queries)\.jsonl|qrels/[^/]+\.tsv", path)]


def _last(url: S3Url) -> str:
    return url.prefix.rpartition("/")[2] or url.bucket
