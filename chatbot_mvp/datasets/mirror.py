"""Keep local copies of remote data sets. Files with an unchanged ETag are not downloaded again.

``<cache>/<place>/<version>/<name>/``          the files of one version, a hash of their paths, sizes and ETags
``<cache>/<place>/.partial-<version>/<name>/`` an incomplete download; renamed when it is complete
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

from chatbot_mvp.errors import StorageFailed, StorageUnreachable
from chatbot_mvp.remote.s3 import RemoteFile, S3Url, Storage, md5_of
from chatbot_mvp.storage.files import make_folder
from chatbot_mvp.storage.formats import MIRROR, VERSION
from chatbot_mvp.storage.json_object import InvalidJson, read_object
from chatbot_mvp.types import Progress, ProgressCallback, ignore_progress

_ETAGS = "etags.json"


class Mirror:
    """Local copies of the data sets of one server. Several processes may share the folder."""

    def __init__(self, storage: Storage, cache: Path) -> None:
        self._storage = storage
        self._cache = cache

    def cached(self, url: S3Url, files: Sequence[RemoteFile]) -> Path | None:
        """Return the local folder of exactly this version, or None."""
        folder = self._home(url) / _version(files) / url.name
        return folder if folder.is_dir() else None

    def latest(self, url: S3Url) -> Path | None:
        """Return the folder of the version downloaded last, or None. Sends no request."""
        versions = [path for path in self._home(url).glob("[!.]*") if (path / _ETAGS).is_file()]
        newest = max(versions, key=lambda path: path.stat().st_mtime, default=None)
        return newest / url.name if newest else None

    def fetch(self, url: S3Url, files: Sequence[RemoteFile], progress: ProgressCallback = ignore_progress) -> Path:
        """Return the local folder of this version; download missing files, and resume an interrupted download.

        Args:
            files: the current listing of ``Storage.files``.
            progress: called in the phase "download" with bytes; may raise to stop.

        Raises:
            StorageError: the download failed; an incomplete download is never used as a copy.
        """
        home, version = self._home(url), _version(files)
        make_folder(home)
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
                path = work / url.name / file.path
                make_folder(path.parent)
                if not path.is_file():
                    # If ``progress`` raises, ``closing`` flushes the bytes received so far to disk at once.
                    with closing(self._download(url, file, path)) as sizes:
                        for size in sizes:
                            progress(Progress("download", done + size, total, time.monotonic() - started))
                done += file.size
            (work / _ETAGS).write_text(
                json.dumps({VERSION: MIRROR, **{file.path: file.etag for file in files}}), "utf-8"
            )
            work.replace(home / version)
            for old in home.glob("[!.]*"):
                if old.name != version:
                    shutil.rmtree(old, ignore_errors=True)
        return home / version / url.name

    def _take_over(self, url: S3Url, files: Sequence[RemoteFile], work: Path) -> None:
        """Copy files with an equal ETag from the previous version."""
        before = self.latest(url)
        if before is None:
            return
        try:
            known = read_object(before.parent / _ETAGS, MIRROR)
        except (InvalidJson, OSError):
            return
        for file in files:
            path = work / url.name / file.path
            if known.get(file.path) == file.etag and not path.is_file():
                make_folder(path.parent)
                part = _part(path)
                shutil.copyfile(before / file.path, part)
                part.replace(path)

    def _download(self, url: S3Url, file: RemoteFile, path: Path) -> Generator[int]:
        """Download one object to ``path``, and yield the number of bytes present so far."""
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
                    # Retry only if the broken connection delivered something.
                    if begin == before:
                        raise
        if wrong := self._difference(url, file, part):
            part.unlink()
            place = str(url / file.path)
            raise StorageFailed(endpoint=self._storage.endpoint, action="read", place=place, reason=wrong)
        part.replace(path)

    def _difference(self, url: S3Url, file: RemoteFile, part: Path) -> str:
        """Describe the difference between the download and the listing; "" if there is none."""
        size = part.stat().st_size
        if size != file.size:
            return f"{size} bytes arrived in place of {file.size}"
        # The ETag of a multipart upload or a server-side encrypted object is not the MD5 of its content.
        if not re.fullmatch(r"[0-9a-f]{32}", file.etag) or md5_of(part) == file.etag:
            return ""
        return "" if self._storage.is_encrypted(url, file) else "its checksum is not that of the object"

    def _home(self, url: S3Url) -> Path:
        place = f"{self._storage.endpoint} {url}"
        return self._cache / hashlib.sha256(place.encode()).hexdigest()[:16]


def _version(files: Sequence[RemoteFile]) -> str:
    said = "\n".join(f"{file.path} {file.size} {file.etag}" for file in files)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")
