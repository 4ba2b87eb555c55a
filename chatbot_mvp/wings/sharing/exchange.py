"""Bring this machine and a bucket to the same versions of all shared files, once."""

from __future__ import annotations

import json
import logging
import time
import uuid
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from filelock import FileLock

from chatbot_mvp.remote.s3 import RemoteFile, S3Url, Storage
from chatbot_mvp.storage.files import make_folder, recover_folders, write_json
from chatbot_mvp.storage.formats import SHARED_LEDGER, SHARED_ROOT, VERSION, known_version
from chatbot_mvp.storage.json_object import parse_json
from chatbot_mvp.wings.sharing.copying import Copier, Later, Outcome, Skipped
from chatbot_mvp.wings.sharing.errors import SharingError
from chatbot_mvp.wings.sharing.places import RETRIED, is_odd, kb_of, place_of, record_of, shared_files
from chatbot_mvp.wings.sharing.plan import OPPOSITE, Action, Deletions, Known, Stamp, plan
from chatbot_mvp.wings.sharing.reading import json_of, sha256_of, stamp_of
from chatbot_mvp.wings.sharing.tombstones import Tombstones

MARKER = "chatbot-mvp.json"
"""Object that marks a shared root and names it."""
LEDGER = "shared.json"
_THREADS = 8

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Report:
    """What one exchange did."""

    counts: Mapping[str, int]
    """Value of ``Action`` -> number of files."""
    conflicts: tuple[str, ...]
    """Paths, relative to DATA_DIR, of this machine's versions that were set aside."""
    later: int
    """Files that changed while they were exchanged; the next exchange handles them."""
    skipped: Mapping[str, str]
    """Path of a file or an object that cannot be exchanged -> why. All others were."""
    waiting: tuple[str, ...]
    """Deletions that wait for a yes, as in ``Plan``."""
    seconds: float


@dataclass
class _Tally:
    """What has been done so far."""

    entries: dict[str, Known]
    counts: Counter[str] = field(default_factory=Counter)
    later: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    stay: set[str] = field(default_factory=set)
    """Ids of knowledge bases whose record changed before it could be deleted, so that the rest stays, too."""

    def add(self, path: str, action: Action, outcome: Outcome) -> None:
        if isinstance(outcome, Later):
            self.later += 1
            if action in OPPOSITE and path == record_of(kb_of(path)):
                self.stay.add(kb_of(path))
        elif isinstance(outcome, Skipped):
            self.skipped[path] = outcome.reason
        else:
            self.counts[action.value] += 1
            if outcome is None:
                self.entries.pop(path, None)
            else:
                self.entries[path] = outcome


class Exchange:
    """Two-way exchange between a data folder and one address of a bucket. One exchange per folder at a time."""

    def __init__(self, data_dir: Path, storage: Storage, root: S3Url) -> None:
        self._dir = data_dir
        self._storage = storage
        self._root = root
        self._ledger_path = data_dir / LEDGER

    def once(self, deletions: Deletions = Deletions.WAIT) -> Report:
        """Exchange all files that differ. What was done before an error stays valid, and is not done again.

        Raises:
            StorageError: the bucket cannot be read or written.
            SharingError (shared_root_emptied, shared_root_of_later_version): nothing was changed.
            OSError: the data folder cannot be written.
        """
        started = time.perf_counter()
        make_folder(self._dir)
        with FileLock(self._dir / f".{LEDGER}.lock"):
            recover_folders(self._dir / "kb")
            remote = {file.path: file for file in self._storage.files(self._root)}
            ledger = self._identified(read_ledger(self._ledger_path), remote)
            there = {path: file for path, file in remote.items() if place_of(path) and not self._is_busy(path)}
            here = {path: stamp for path in shared_files(self._dir) if (stamp := stamp_of(self._dir / path))}
            entries = {path: self._refreshed(path, entry, here.get(path)) for path, entry in ledger.files.items()}
            known = {path: entry for path, entry in entries.items() if not self._is_busy(path)}
            settled = {path: entry for path, entry in known.items() if self._has_folder(path)}
            tombstones = Tombstones(self._storage, self._root, remote)
            dead = self._dead(here, there, settled, tombstones)
            copier = Copier(self._dir, self._storage, self._root, here, there, known, tombstones, dead)
            etags = {path: file.etag for path, file in there.items()}
            planned = plan(here, etags, settled, dead.keys(), deletions)
            tally = _Tally(entries, skipped={path: "it is no shared file" for path in remote if is_odd(path)})
            for batch in planned.batches:
                able = [item for item in batch if not (item[1] in OPPOSITE and kb_of(item[0]) in tally.stay)]
                tally.later += len(batch) - len(able)
                with ThreadPoolExecutor(_THREADS) as pool:
                    done = list(pool.map(copier.carry_out, able))
                for (path, action), outcome in zip(able, done, strict=True):
                    tally.add(path, action, outcome)
                _write_ledger(self._ledger_path, _Ledger(ledger.root, tally.entries))
        conflicts, seconds = tuple(sorted(copier.conflicts)), time.perf_counter() - started
        return Report(dict(tally.counts), conflicts, tally.later, tally.skipped, planned.waiting, seconds)

    def count(self) -> int:
        """Return the number of shared files in the bucket.

        Raises:
            StorageError
        """
        return sum(place_of(file.path) is not None for file in self._storage.files(self._root))

    def _identified(self, ledger: _Ledger, remote: Mapping[str, RemoteFile]) -> _Ledger:
        """Return the ledger of this shared root; an empty one if this machine meets the root for the first time."""
        if MARKER not in remote:
            if ledger.files and not any(place_of(path) for path in remote):
                raise SharingError(
                    "shared_root_emptied",
                    root=str(self._root),
                    marker=MARKER,
                    files=len(ledger.files),
                    ledger=str(self._ledger_path),
                )
            root = uuid.uuid4().hex
            self._storage.put(json.dumps({VERSION: SHARED_ROOT, "root": root}).encode(), self._root / MARKER, None)
            return _Ledger(root)
        marker = json_of(self._storage, self._root, remote[MARKER])
        try:
            found, root = int(marker[VERSION]), str(marker["root"])
        except (TypeError, KeyError, ValueError) as error:
            raise SharingError(
                "shared_root_of_later_version", root=str(self._root), found="unknown", known=SHARED_ROOT
            ) from error
        if found > SHARED_ROOT:
            raise SharingError("shared_root_of_later_version", root=str(self._root), found=found, known=SHARED_ROOT)
        return ledger if ledger.root == root else _Ledger(root)

    def _refreshed(self, path: str, entry: Known, here: Stamp | None) -> Known:
        """Return the ledger's entry with the present stamp if the content is unchanged, as after a restored backup."""
        if here is None or here == entry.here or here.size != entry.here.size or not entry.sha256:
            return entry
        return replace(entry, here=here) if sha256_of(self._dir / path) == entry.sha256 else entry

    def _is_busy(self, path: str) -> bool:
        """Return whether a file belongs to a run that is being retried, and is left alone until that has ended."""
        parts = path.split("/")
        return parts[0] == "results" and (self._dir / "results" / parts[1] / RETRIED).exists()

    def _has_folder(self, path: str) -> bool:
        """Return whether the ledger's entry counts. If the folder of all knowledge bases is missing, that is an
        accident and no wish to delete them: their files are fetched again."""
        return not kb_of(path) or (self._dir / "kb").is_dir()

    def _dead(
        self,
        here: Mapping[str, Stamp],
        there: Mapping[str, RemoteFile],
        known: Mapping[str, Known],
        tombstones: Tombstones,
    ) -> dict[str, Mapping[str, str]]:
        """Return the knowledge bases of this machine that were deleted elsewhere, and that the ledger does not have.

        Returns:
            Id -> path -> SHA-256 of the deleted version.
        """
        found: dict[str, Mapping[str, str]] = {}
        for path in here:
            kb_id = kb_of(path)
            if kb_id and path == record_of(kb_id) and path not in there and path not in known:
                deleted = tombstones.find(kb_id, self._dir)
                if deleted is not None:
                    # A file that the deleted version did not have has no hash, so that it is set aside.
                    mine = [name for name in here if kb_of(name) == kb_id]
                    found[kb_id] = {name: deleted.get(name, "") for name in mine}
        return found


@dataclass(frozen=True)
class _Ledger:
    """The file ``DATA_DIR/shared.json``."""

    root: str = ""
    """Id of the shared root, from its marker; "" before the first exchange."""
    files: Mapping[str, Known] = field(default_factory=dict)


def read_ledger(path: Path) -> _Ledger:
    """Read the ledger. A missing or damaged one is empty: the next exchange then compares all files, deletes none.

    Raises:
        FileOfLaterVersion
    """
    if not path.is_file():
        return _Ledger()
    try:
        value = known_version(parse_json(path.read_bytes()), path, SHARED_LEDGER)
        files = {
            str(name): Known(Stamp(int(size), int(mtime_ns)), str(etag), str(sha256))
            for name, (size, mtime_ns, etag, sha256) in value["files"].items()
        }
        return _Ledger(str(value["root"]), files)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        _log.warning("%s is damaged and is written anew: %s", path.name, error)
        return _Ledger()


def _write_ledger(path: Path, ledger: _Ledger) -> None:
    """Replace the ledger.

    Raises:
        OSError
    """
    rows = {
        name: (known.here.size, known.here.mtime_ns, known.there, known.sha256)
        for name, known in sorted(ledger.files.items())
    }
    write_json(path, {VERSION: SHARED_LEDGER, "root": ledger.root, "files": rows}, indent=None)
