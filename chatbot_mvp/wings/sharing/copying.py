"""Carry out one action on one shared file: send, fetch, join or delete it, never over a change made meanwhile."""

from __future__ import annotations

import errno
import filecmp
import hashlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from filelock import FileLock

from chatbot_mvp.errors import FileOfLaterVersion, KbUnreadable, StorageChanged, StorageDamaged
from chatbot_mvp.knowledge_base.store import KbStore
from chatbot_mvp.knowledge_base.versions import Version
from chatbot_mvp.remote.s3 import RemoteFile, S3Url, Storage
from chatbot_mvp.storage.files import make_folder, replaced_file
from chatbot_mvp.storage.jsonl import append_chosen, parsed_lines
from chatbot_mvp.wings.sharing.places import MOST_BYTES, Kind, kb_of, place_of, record_of
from chatbot_mvp.wings.sharing.plan import Action, Known, Stamp
from chatbot_mvp.wings.sharing.reading import json_of, object_of, sha256_of, stamp_of, version_of
from chatbot_mvp.wings.sharing.tombstones import Tombstones

CONFLICTS = "conflicts"
"""Folder of DATA_DIR for this machine's versions of files that were changed on two machines at the same time."""
_ODD_NAME = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EINVAL, errno.EILSEQ, errno.ELOOP)
"""A file system refuses the name of a file with them; other errors concern all files."""


@dataclass(frozen=True)
class Later:
    """The file changed while it was exchanged. The next exchange handles it."""


@dataclass(frozen=True)
class Skipped:
    """The file cannot be exchanged; the others can."""

    reason: str


Outcome = Known | Later | Skipped | None
"""The new entry of the ledger, None if the file is gone, or why there is no other entry."""


class _ChangedError(Exception):
    """The file changed meanwhile."""


class _RefusedError(Exception):
    """The file must not be exchanged."""


@dataclass(frozen=True)
class Copier:
    """Carries out the actions of one exchange. Safe to share between threads."""

    data_dir: Path
    storage: Storage
    root: S3Url
    here: Mapping[str, Stamp]
    """Shared path -> version on this machine when the exchange was planned."""
    there: Mapping[str, RemoteFile]
    """Shared path -> object when the bucket was listed."""
    known: Mapping[str, Known]
    tombstones: Tombstones
    dead: Mapping[str, Mapping[str, str]]
    """Id of a knowledge base that was deleted elsewhere -> path -> SHA-256 of its deleted version."""
    conflicts: list[str] = field(default_factory=list)
    """Paths, relative to DATA_DIR, of this machine's versions that were set aside."""

    def carry_out(self, item: tuple[str, Action]) -> Outcome:
        """Carry out one action on one path.

        Raises:
            StorageError: the bucket cannot be read or written.
            OSError: the data folder cannot be written.
        """
        path, action = item
        remote = self.there.get(path)
        try:
            if action is Action.PUSH:
                return self._push(path, remote)
            if action is Action.DELETE_THERE:
                self._delete_there(path, remote)
            elif action is Action.DELETE_HERE:
                return self._delete_here(path)
            elif remote is not None:
                if action is Action.MERGE:
                    return self._merge(path, remote)
                return self._pull(path, remote, keeps_mine=action is Action.COMPARE)
        except (StorageChanged, FileNotFoundError, _ChangedError):
            return Later()
        except (StorageDamaged, _RefusedError) as error:
            return Skipped(str(error))
        except OSError as error:
            if error.errno not in _ODD_NAME:
                raise
            return Skipped(error.strerror or str(error))
        return None

    def _stamp(self, path: str) -> Stamp | None:
        return stamp_of(self.data_dir / path)

    def _push(self, path: str, remote: RemoteFile | None) -> Known:
        kb_id = kb_of(path)
        with (self.data_dir / path).open("rb") as file:
            # A file of lines may grow while it is sent. Others are replaced as a whole, so this one stays as it is.
            size = os.fstat(file.fileno()).st_size
            _require_size(path, size)
            found = version_of(file, "", size)
            if path == f"kb/{kb_id}/source.txt":
                _require_text(object_of(self.data_dir / record_of(kb_id)), found.sha256)
            _require_name(path, found.sha256)
            content = file.read(size) if _is_lines(path) else file
            etag = self.storage.put(content, self.root / path, remote.etag if remote else None)
        return Known(Stamp(size, found.here.mtime_ns), etag, found.sha256)

    def _pull(self, path: str, remote: RemoteFile, keeps_mine: bool) -> Known | Later:
        """Fetch a file.

        Args:
            keeps_mine: set this machine's version aside if it differs.
        """
        _require_size(path, remote.size)
        target, before, digest = self.data_dir / path, self._stamp(path), hashlib.sha256()
        with self._alone(path):
            make_folder(target.parent)
            with replaced_file(target) as file:
                for piece in self.storage.read(self.root, remote, 0):
                    digest.update(piece)
                    file.write(piece)
                file.flush()
                _require_name(path, digest.hexdigest())
                self._require_own_text(path, digest.hexdigest(), Path(file.name))
                if self._stamp(path) != before:
                    raise _ChangedError  # the new version is compared next time
                if keeps_mine and before and not filecmp.cmp(file.name, target, shallow=False):
                    self.conflicts.append(self._set_aside(path))
        stamp = self._stamp(path)
        return Known(stamp, remote.etag, digest.hexdigest()) if stamp else Later()

    def _merge(self, path: str, remote: RemoteFile) -> Known | Later:
        mine = self._stamp(path)
        for size in (remote.size, mine.size if mine else 0):
            _require_size(path, size)
        if not _is_lines(path):
            return self._join_head(path, remote)
        rows, _ = parsed_lines(b"".join(self.storage.read(self.root, remote, 0)))
        keys = {_key(row) for row in rows}
        missing_there = False

        def missing_here(mine: list[dict[str, object]]) -> list[dict[str, object]]:
            nonlocal missing_there
            have = {_key(row) for row in mine}
            missing_there = not have <= keys
            return [row for row in rows if _key(row) not in have]

        target = self.data_dir / path
        make_folder(target.parent)
        append_chosen(target, missing_here)
        if missing_there:
            return self._push(path, remote)
        with target.open("rb") as file:
            return version_of(file, remote.etag)

    def _join_head(self, path: str, remote: RemoteFile) -> Known:
        """Join the bucket's head of a knowledge base into the one here. What that writes is sent by the next exchange.

        Raises:
            _RefusedError: the head is damaged, or what it names is not here.
        """
        content = b"".join(self.storage.read(self.root, remote, 0))
        store = KbStore(self.data_dir / "kb")
        try:
            store.join(kb_of(path), content)
        except (KbUnreadable, FileOfLaterVersion) as error:
            raise _RefusedError(str(error)) from error
        target = self.data_dir / path
        if target.read_bytes() != content:
            version = store.version(kb_of(path))
            for name in (f"versions/{version.version_id}.json", *_texts_of(version)):
                missing = f"kb/{kb_of(path)}/{name}"
                if missing not in self.there and missing not in self.here:
                    self._push(missing, None)
            return self._push(path, remote)
        with target.open("rb") as file:
            return version_of(file, remote.etag)

    def _delete_there(self, path: str, remote: RemoteFile | None) -> None:
        kb_id = kb_of(path)
        if path == record_of(kb_id):
            files = {name: entry.sha256 for name, entry in self.known.items() if kb_of(name) == kb_id}
            # Written first: a deletion that ends here has not happened, because the record is still there.
            self.tombstones.write(kb_id, files)
        if remote is not None:
            self.storage.delete(self.root / path, remote.etag)

    def _delete_here(self, path: str) -> Known | None:
        kb_id = kb_of(path)
        if _is_named(path) and KbStore(self.data_dir / "kb").is_named(kb_id, Path(path).stem):
            return self._push(path, None)  # the other machine does not know of the version that needs it
        with self._alone(path):
            if path == record_of(kb_id):
                self._delete_kb(kb_id)
            elif self._stamp(path) in (None, self.here.get(path)):
                (self.data_dir / path).unlink(missing_ok=True)
            else:
                raise _ChangedError
        return None

    def _delete_kb(self, kb_id: str) -> None:
        """Delete the folder of a knowledge base, unless a file in it was changed since the exchange was planned."""
        folder = self.data_dir / "kb" / kb_id
        for path, sha256 in self.dead.get(kb_id, {}).items():
            if self._stamp(path) and sha256_of(self.data_dir / path) != sha256:
                self.conflicts.append(self._set_aside(path))
        # Nobody finds the files under the new name. After a crash ``recover_folders`` gives the old one back.
        gone = folder.with_name(f".{kb_id}.{secrets.token_hex(6)}.old")
        folder.rename(gone)
        for found in gone.rglob("*"):
            path = f"kb/{kb_id}/{found.relative_to(gone).as_posix()}"
            if place_of(path) and found.is_file() and self.here.get(path) != stamp_of(found):
                gone.rename(folder)
                raise _ChangedError
        shutil.rmtree(gone, ignore_errors=True)

    def _require_own_text(self, path: str, sha256: str, fetched: Path) -> None:
        """Check that the text of a knowledge base is the one that its record names, whichever of both is fetched.

        Raises:
            _RefusedError
        """
        kb_id = kb_of(path)
        if path == f"kb/{kb_id}/source.txt" and (record := self.there.get(record_of(kb_id))):
            _require_text(json_of(self.storage, self.root, record), sha256)
        elif path == record_of(kb_id) and (source := self.data_dir / f"kb/{kb_id}/source.txt").is_file():
            _require_text(object_of(fetched), sha256_of(source))
        elif path == record_of(kb_id):
            try:
                KbStore(self.data_dir / "kb").require_whole(kb_id, fetched.read_bytes())
            except (KbUnreadable, FileOfLaterVersion) as error:
                raise _RefusedError(str(error)) from error

    def _set_aside(self, path: str) -> str:
        """Copy this machine's version of a file to the folder of conflicts; return its new path."""
        # Two conflicts of one file may fall into one second.
        name = f"{CONFLICTS}/{path}.{time.strftime('%Y%m%dT%H%M%S')}-{secrets.token_hex(3)}"
        target = self.data_dir / name
        make_folder(target.parent)
        shutil.copy2(self.data_dir / path, target)
        return name

    @contextmanager
    def _alone(self, path: str) -> Iterator[None]:
        """Keep the application from writing to the knowledge bases meanwhile, with the lock of ``KbStore``."""
        root = self.data_dir / "kb"
        if kb_of(path):
            make_folder(root)
        with FileLock(root / ".lock") if kb_of(path) else nullcontext():
            yield


def _is_lines(path: str) -> bool:
    place = place_of(path)
    return place is not None and place.kind is Kind.LINES


def _is_named(path: str) -> bool:
    place = place_of(path)
    return place is not None and place.kind is Kind.NAMED


def _texts_of(version: Version) -> list[str]:
    return [f"texts/{one.sha256}.txt" for one in version.documents]


def _require_name(path: str, sha256: str) -> None:
    """Check that a text or an original has the content that its name says."""
    if _is_named(path) and "/versions/" not in path and Path(path).stem != sha256:
        raise _RefusedError(f"its content has not the SHA-256 that its name says, but {sha256}")


def _require_size(path: str, size: int) -> None:
    place = place_of(path)
    limit = MOST_BYTES[place.kind if place else Kind.WHOLE]
    if size > limit:
        raise _RefusedError(f"it has {size:,} bytes, which is larger than the limit of {limit:,}")


def _require_text(record: Mapping[str, object], sha256: str) -> None:
    if record.get("sha256", sha256) != sha256:
        raise _RefusedError("the text of this knowledge base is missing or has not the SHA-256 that its record names")


def _key(row: Mapping[str, object]) -> str:
    return json.dumps(row, sort_keys=True, ensure_ascii=False)
