"""Bring this machine and a bucket to the same versions of all shared files, once."""

from __future__ import annotations

import filecmp
import json
import os
import shutil
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from filelock import FileLock

from chatbot_mvp.errors import SharedRootEmptied, SharedRootOfLaterVersion, StorageChanged
from chatbot_mvp.remote.s3 import RemoteFile, S3Url, Storage
from chatbot_mvp.sharing.ledger import Ledger, read_ledger, write_ledger
from chatbot_mvp.sharing.places import RETRIED, Kind, kb_of, place_of, record_of, shared_files
from chatbot_mvp.sharing.plan import Action, Known, Stamp, plan
from chatbot_mvp.storage.files import replaced_file
from chatbot_mvp.storage.json_object import VERSION, InvalidJson, parse_json
from chatbot_mvp.storage.jsonl import append_chosen, parsed_lines

MARKER = "chatbot-mvp.json"
"""Object that marks a shared root and names it."""
LEDGER = "shared.json"
CONFLICTS = "conflicts"
"""Folder of DATA_DIR for this machine's versions of files that were changed on two machines at the same time."""
_THREADS = 8
_FORMAT = 1
_LATER = "later"
"""Outcome of a file that changed while it was exchanged."""


@dataclass(frozen=True)
class Report:
    """What one exchange did."""

    counts: Mapping[str, int]
    """Value of ``Action`` -> number of files."""
    conflicts: tuple[str, ...]
    """Paths, relative to DATA_DIR, of this machine's versions that were set aside."""
    later: int
    """Files that changed while they were exchanged; the next exchange handles them."""
    seconds: float


class Exchange:
    """Two-way exchange between a data folder and one address of a bucket. One exchange per folder at a time."""

    def __init__(self, data_dir: Path, storage: Storage, root: S3Url) -> None:
        self._dir = data_dir
        self._storage = storage
        self._root = root
        self._ledger_path = data_dir / LEDGER

    def once(self) -> Report:
        """Exchange all files that differ. What was done before an error stays valid, and is not done again.

        Raises:
            StorageError: the bucket cannot be read or written.
            SharedRootEmptied, SharedRootOfLaterVersion: nothing was changed.
            OSError: the data folder cannot be written.
        """
        started = time.perf_counter()
        self._dir.mkdir(parents=True, exist_ok=True)
        with FileLock(self._dir / f".{LEDGER}.lock"):
            remote = {file.path: file for file in self._storage.files(self._root)}
            ledger = self._identified(read_ledger(self._ledger_path), remote)
            there = {path: file for path, file in remote.items() if place_of(path) and not self._is_busy(path)}
            here = {path: stamp for path in shared_files(self._dir) if (stamp := self._stamp(path))}
            known = {path: entry for path, entry in ledger.files.items() if not self._is_busy(path)}
            entries = dict(ledger.files)
            counts: Counter[str] = Counter()
            conflicts: list[str] = []
            settled = {path: entry for path, entry in known.items() if self._has_folder(path)}
            for batch in plan(here, {path: file.etag for path, file in there.items()}, settled):
                with ThreadPoolExecutor(_THREADS) as pool:
                    done = list(pool.map(partial(self._do, there, conflicts), batch))
                for (path, action), outcome in zip(batch, done, strict=True):
                    counts[_LATER if outcome == _LATER else action.value] += 1
                    if isinstance(outcome, Known):
                        entries[path] = outcome
                    elif outcome is None:
                        entries.pop(path, None)
                write_ledger(self._ledger_path, Ledger(ledger.root, entries))
        later = counts.pop(_LATER, 0)
        return Report(dict(counts), tuple(sorted(conflicts)), later, time.perf_counter() - started)

    def count(self) -> int:
        """Return the number of shared files in the bucket.

        Raises:
            StorageError
        """
        return sum(place_of(file.path) is not None for file in self._storage.files(self._root))

    def _identified(self, ledger: Ledger, remote: Mapping[str, RemoteFile]) -> Ledger:
        """Return the ledger of this shared root; an empty one if this machine meets the root for the first time."""
        if MARKER not in remote:
            if ledger.files and not any(place_of(path) for path in remote):
                raise SharedRootEmptied(
                    root=str(self._root), marker=MARKER, files=len(ledger.files), ledger=str(self._ledger_path)
                )
            root = uuid.uuid4().hex
            self._storage.put(json.dumps({VERSION: _FORMAT, "root": root}).encode(), self._root / MARKER, None)
            return Ledger(root)
        content = b"".join(self._storage.read(self._root, remote[MARKER], 0))
        try:
            marker = parse_json(content)
            found, root = int(marker[VERSION]), str(marker["root"])
        except (InvalidJson, TypeError, KeyError, ValueError) as error:
            raise SharedRootOfLaterVersion(root=str(self._root), found="unknown", known=_FORMAT) from error
        if found > _FORMAT:
            raise SharedRootOfLaterVersion(root=str(self._root), found=found, known=_FORMAT)
        return ledger if ledger.root == root else Ledger(root)

    def _stamp(self, path: str) -> Stamp | None:
        try:
            found = (self._dir / path).stat()
        except FileNotFoundError:
            return None
        return Stamp(found.st_size, found.st_mtime_ns)

    def _is_busy(self, path: str) -> bool:
        """Return whether a file belongs to a run that is being retried, and is left alone until that has ended."""
        parts = path.split("/")
        return parts[0] == "results" and (self._dir / "results" / parts[1] / RETRIED).exists()

    def _has_folder(self, path: str) -> bool:
        """Return whether the ledger's entry counts. If the folder of all knowledge bases is missing, that is an
        accident and no wish to delete them: their files are fetched again."""
        return not kb_of(path) or (self._dir / "kb").is_dir()

    def _do(
        self, there: Mapping[str, RemoteFile], conflicts: list[str], item: tuple[str, Action]
    ) -> Known | str | None:
        """Carry out one action; return the new entry of the ledger, None if the file is gone, or _LATER."""
        path, action = item
        remote = there.get(path)
        place = place_of(path)
        try:
            if action is Action.PUSH:
                return self._push(path, remote, lines=place is not None and place.kind is Kind.LINES)
            if action is Action.DELETE_THERE:
                self._storage.delete(self._root / path)
            elif action is Action.DELETE_HERE:
                self._delete_here(path)
            elif remote is not None:
                if action is Action.MERGE:
                    return self._merge(path, remote)
                return self._pull(path, remote, conflicts if action is Action.COMPARE else None)
        except (StorageChanged, FileNotFoundError):
            return _LATER
        return None

    def _push(self, path: str, remote: RemoteFile | None, lines: bool) -> Known:
        with (self._dir / path).open("rb") as file:
            found = os.fstat(file.fileno())
            # A file of lines may grow while it is sent. Others are replaced as a whole, so this one stays as it is.
            content = file.read(found.st_size) if lines else file
            etag = self._storage.put(content, self._root / path, remote.etag if remote else None)
        return Known(Stamp(found.st_size, found.st_mtime_ns), etag)

    def _pull(self, path: str, remote: RemoteFile, conflicts: list[str] | None) -> Known | str:
        """Fetch a file. With ``conflicts``, set this machine's version aside if it differs."""
        target, before = self._dir / path, self._stamp(path)
        with self._alone(path):
            target.parent.mkdir(parents=True, exist_ok=True)
            with replaced_file(target) as file:
                for piece in self._storage.read(self._root, remote, 0):
                    file.write(piece)
                if self._stamp(path) != before:
                    raise FileNotFoundError(path)  # changed meanwhile: the new version is compared next time
                file.flush()
                if conflicts is not None and before and not filecmp.cmp(file.name, target, shallow=False):
                    conflicts.append(self._set_aside(path))
        stamp = self._stamp(path)
        return Known(stamp, remote.etag) if stamp else _LATER

    def _merge(self, path: str, remote: RemoteFile) -> Known | str:
        theirs = b"".join(self._storage.read(self._root, remote, 0))
        rows, _ = parsed_lines(theirs)
        keys = {_key(row) for row in rows}
        missing_there = False

        def missing_here(mine: list[dict[str, object]]) -> list[dict[str, object]]:
            nonlocal missing_there
            have = {_key(row) for row in mine}
            missing_there = not have <= keys
            return [row for row in rows if _key(row) not in have]

        target = self._dir / path
        target.parent.mkdir(parents=True, exist_ok=True)
        append_chosen(target, missing_here)
        if missing_there:
            return self._push(path, remote, lines=True)
        stamp = self._stamp(path)
        return Known(stamp, remote.etag) if stamp else _LATER

    def _delete_here(self, path: str) -> None:
        with self._alone(path):
            (self._dir / path).unlink(missing_ok=True)
            if path == record_of(kb_of(path)):
                shutil.rmtree((self._dir / path).parent, ignore_errors=True)

    def _set_aside(self, path: str) -> str:
        """Copy this machine's version of a file to the folder of conflicts; return its new path."""
        name = f"{CONFLICTS}/{path}.{time.strftime('%Y%m%dT%H%M%S')}"
        target = self._dir / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(self._dir / path, target)
        return name

    @contextmanager
    def _alone(self, path: str) -> Iterator[None]:
        """Keep the application from writing to the knowledge bases meanwhile, with the lock of ``KbStore``."""
        root = self._dir / "kb"
        if kb_of(path):
            root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / ".lock") if kb_of(path) else nullcontext():
            yield


def _key(row: Mapping[str, object]) -> str:
    return json.dumps(row, sort_keys=True, ensure_ascii=False)
