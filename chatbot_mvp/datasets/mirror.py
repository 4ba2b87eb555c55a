"""The local copy of a remote data set. What has not changed by its ETag is not asked for again.

``<cache>/<place>/<version>/<name>/``          the files of one version, which names their paths, sizes and ETags
``<cache>/<place>/.partial-<version>/<name>/`` what has arrived of one so far; renamed when it is whole
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import time
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path

from filelock import FileLock

from chatbot_mvp.datasets.storage import RemoteFile, S3Url, Storage, md5_of
from chatbot_mvp.errors import StorageFailed, StorageUnreachable
from chatbot_mvp.types import Progress, ProgressCallback, ignore_progress

_ETAGS = "etags.json"


class Mirror:
    """Local copies of what lies on one server. Several processes may share the folder."""

    def __init__(self, storage: Storage, cache: Path) -> None:
        self._storage = storage
        self._cache = cache

    def cached(self, url: S3Url, files: Sequence[RemoteFile]) -> Path | None:
        """The folder of exactly this version, if it is here."""
        folder = self._home(url) / _version(files) / _name(url)
        return folder if folder.is_dir() else None

    def latest(self, url: S3Url) -> Path | None:
        """The folder of the version that was fetched last; the server is not asked."""
        versions = [path for path in self._home(url).glob("[!.]*") if (path / _ETAGS).is_file()]
        newest = max(versions, key=lambda path: path.stat().st_mtime, default=None)
        return newest / _name(url) if newest else None

    def fetch(self, url: S3Url, files: Sequence[RemoteFile], progress: ProgressCallback = ignore_progress) -> Path:
        """The folder of this version; what is missing is downloaded, and what an earlier attempt got is kept.

        Args:
            files: as ``Storage.files`` has just listed them.
            progress: told of the phase "download" in bytes; may raise to stop.

        Raises:
            StorageError: nothing half done counts as a copy.
        """
        home, version = self._home(url), _version(files)
        home.mkdir(parents=True, exist_ok=True)
        with FileLock(home / ".lock"):
            if folder := self.cached(url, files):
                return folder
            work = home / f".partial-{version}"
            for other in home.glob(".partial-*"):
                if other != work:
                    shutil.rmtree(other, ignore_errors=True)
            self._take_over(url, files, work)
            total, done, started = sum(file.size for file in files), 0, time.monotonic()
            for file in files:
                path = work / _name(url) / file.path
                path.parent.mkdir(parents=True, exist_ok=True)
                if not path.is_file():
                    # Closed at once where progress stops it, so that what arrived is on the disk.
                    with closing(self._download(url, file, path)) as sizes:
                        for size in sizes:
                            progress(Progress("download", done + size, total, time.monotonic() - started))
                done += file.size
            (work / _ETAGS).write_text(json.dumps({file.path: file.etag for file in files}), "utf-8")
            work.replace(home / version)
            for old in home.glob("[!.]*"):
                if old.name != version:
                    shutil.rmtree(old, ignore_errors=True)
        return home / version / _name(url)

    def _take_over(self, url: S3Url, files: Sequence[RemoteFile], work: Path) -> None:
        """Copy what the last version has under an equal ETag."""
        before = self.latest(url)
        if before is None:
            return
        known = json.loads((before.parent / _ETAGS).read_text("utf-8"))
        for file in files:
            path = work / _name(url) / file.path
            if known.get(file.path) == file.etag and not path.is_file():
                path.parent.mkdir(parents=True, exist_ok=True)
                part = _part(path)
                shutil.copyfile(before / file.path, part)
                part.replace(path)

    def _download(self, url: S3Url, file: RemoteFile, path: Path) -> Generator[int]:
        """Bring one object to ``path``; gives the bytes that are here, again and again."""
        try:
            yield from self._arriving(url, file, path)
        except OSError as error:
            place, reason = str(url / file.path), f"it cannot be kept here: {error}"
            raise StorageFailed(endpoint=self._storage.endpoint, action="read", place=place, reason=reason) from error

    def _arriving(self, url: S3Url, file: RemoteFile, path: Path) -> Generator[int]:
        part = _part(path)
        begin = part.stat().st_size if part.is_file() else 0
        with part.open("ab") as target:
            while begin < file.size:
                before = begin
                try:
                    for piece in self._storage.read(url, file, begin):
                        target.write(piece)
                        begin += len(piece)
                        yield begin
                except (StorageFailed, StorageUnreachable):
                    # A connection that broke after something arrived is worth another one.
                    if begin == before:
                        raise
        if wrong := self._difference(url, file, part):
            part.unlink()
            place = str(url / file.path)
            raise StorageFailed(endpoint=self._storage.endpoint, action="read", place=place, reason=wrong)
        part.replace(path)

    def _difference(self, url: S3Url, file: RemoteFile, part: Path) -> str:
        """What tells a download from what was listed; "" for nothing."""
        size = part.stat().st_size
        if size != file.size:
            return f"{size} bytes arrived in place of {file.size}"
        # The ETag of what was uploaded in parts, or encrypted by a key of the server's, is no MD5 of the content.
        if not re.fullmatch(r"[0-9a-f]{32}", file.etag) or md5_of(part) == file.etag:
            return ""
        return "" if self._storage.is_encrypted(url, file) else "its checksum is not that of the object"

    def _home(self, url: S3Url) -> Path:
        place = f"{self._storage.endpoint} {url}"
        return self._cache / hashlib.sha256(place.encode()).hexdigest()[:16]


def _name(url: S3Url) -> str:
    """Also the data set's name."""
    return url.prefix.rpartition("/")[2] or url.bucket


def _version(files: Sequence[RemoteFile]) -> str:
    said = "\n".join(f"{file.path} {file.size} {file.etag}" for file in files)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")
