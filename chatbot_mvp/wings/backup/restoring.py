"""Restore a backup: unpack it beside the data, then exchange both. A crash leaves the old data or the new.

The data folder may be a mounted volume, which cannot be renamed. So its entries are exchanged one by one:

``.restore.<hex>``   the unpacked backup; deleted by the next restore if this one dies
``.restoring``       its name from the moment at which the new data count; the next program completes the exchange
``.restored.<hex>``  the old data, until they are deleted
"""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from chatbot_mvp.errors import DataFolderInUse, DataFolderUnusable
from chatbot_mvp.storage.data_folder import IN_USE, SECRETS, Completion, DataFolder, names_in
from chatbot_mvp.storage.files import make_folder, make_new_folder, private, sync_folder, write_atomically, write_json
from chatbot_mvp.storage.formats import RESTORE, VERSION
from chatbot_mvp.storage.json_object import read_object
from chatbot_mvp.wings.backup.errors import BackupUnusable, DataFolderNotEmpty
from chatbot_mvp.wings.backup.reading import Backup
from chatbot_mvp.wings.backup.writing import CACHE

_NOW = ".restoring"
_REST = re.compile(r"\.restore\.[0-9a-f]{12}|\.restored\.[0-9a-f]{12}")
_NO_DATA = ("lost+found", IN_USE, *SECRETS)


def restore(backup: Backup, folder: DataFolder, replace: bool = False, keep: str = "") -> None:
    """Make the data folder what a backup holds. Without caches in the backup, ``cache/`` stays.

    Args:
        replace: delete the data that are there.
        keep: a further name in the folder that is not data.

    Raises:
        DataFolderUnusable: it cannot be written, or has no room for the backup.
        DataFolderInUse
        DataFolderNotEmpty: there are data, and ``replace`` is False.
        BackupUnusable: a file is damaged. In all these cases the data stay as they were.
    """
    folder.create()
    with _written(folder.root), folder.alone():
        _finish(folder)
        _delete_rest(folder.root)
        kept = {*folder.not_data, *_NO_DATA, *([keep] if keep else []), *({CACHE} - backup.top_names)}
        if foreign := backup.top_names & (set(folder.not_data) | {keep}):
            raise BackupUnusable(path=str(backup.path), reason=f"{min(foreign)!r} is no data in {folder.root}")
        if not replace and (example := _some_data(folder, kept)):
            raise DataFolderNotEmpty(path=str(folder.root), example=example)
        free = shutil.disk_usage(folder.root).free
        if backup.size > free:
            reason = f"the backup needs {backup.size:,} bytes, and {free:,} are free"
            raise DataFolderUnusable(path=str(folder.root), reason=reason)
        for name in (set(names_in(folder.root)) | backup.top_names) - kept:
            if (folder.root / name).is_mount():
                reason = f"{name!r} in it is a file system of its own, which cannot be exchanged"
                raise DataFolderUnusable(path=str(folder.root), reason=reason)
        work = folder.root / f".restore.{secrets.token_hex(6)}"
        try:
            _unpack(backup, work / "new")
            old = [name for name in names_in(folder.root) if name not in kept and name != work.name]
            make_new_folder(work / "old")
            write_json(work / "plan.json", {VERSION: RESTORE, "old": old, "new": sorted(backup.top_names)})
            if hasattr(os, "sync"):
                os.sync()  # one call is much faster than one for each file
            work.rename(folder.root / _NOW)
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            raise
        _finish(folder)


def is_interrupted(folder: DataFolder) -> bool:
    """Return whether a restore of a folder died after the moment at which the new data count."""
    return (folder.root / _NOW).is_dir()


def complete(folder: DataFolder) -> None:
    """Complete an interrupted exchange of a folder that nobody else uses.

    Raises:
        DataFolderUnusable
    """
    with _written(folder.root):
        _finish(folder)
        _delete_rest(folder.root)


COMPLETION = Completion(is_interrupted, complete)


def _unpack(backup: Backup, target: Path) -> None:
    make_new_folder(target)
    for entry in backup.data:
        path = target / entry.name
        make_folder(path.parent)
        with open(path, "xb", opener=private) as file:
            backup.copy(entry, file)


def _finish(folder: DataFolder) -> None:
    """Exchange the entries that are not exchanged yet. May be repeated after a crash at any point."""
    work = folder.root / _NOW
    if not work.is_dir():
        return
    plan = read_object(work / "plan.json", RESTORE)
    new, old = ([str(name) for name in plan[key]] for key in ("new", "old"))
    for name, path in folder.beside.items():
        if (work / "new" / name).is_file():
            make_folder(path.parent)
            write_atomically(path, (work / "new" / name).read_bytes())
        elif name not in new:
            path.unlink(missing_ok=True)
    for name in dict.fromkeys([*old, *new]):
        source, target = work / "new" / name, folder.root / name
        if name in folder.beside:
            continue
        # A new entry that is no longer in ``new`` has been moved already, and its old one before it.
        if (name not in new or os.path.lexists(source)) and os.path.lexists(target):
            target.rename(work / "old" / name)
        if os.path.lexists(source):
            source.rename(target)
    sync_folder(folder.root)
    done = folder.root / f".restored.{secrets.token_hex(6)}"
    work.rename(done)
    shutil.rmtree(done, ignore_errors=True)


def _delete_rest(root: Path) -> None:
    for path in root.iterdir():
        if _REST.fullmatch(path.name):
            shutil.rmtree(path, ignore_errors=True)


def _some_data(folder: DataFolder, kept: set[str]) -> str:
    """Return the path of some file of the data; "" if there is none. Locks and empty folders are no data."""
    for name, path in folder.beside.items():
        if path.exists():
            return name
    for name in sorted(set(names_in(folder.root)) - kept):
        path = folder.root / name
        for found in (path, *path.rglob("*")):
            if (found.is_symlink() or found.is_file()) and not found.name.endswith(".lock"):
                return found.relative_to(folder.root).as_posix()
    return ""


@contextmanager
def _written(root: Path) -> Iterator[None]:
    try:
        yield
    except (DataFolderInUse, DataFolderUnusable):
        raise
    except OSError as error:
        with suppress(OSError):
            _delete_rest(root)
        raise DataFolderUnusable(path=str(root), reason=error.strerror or str(error)) from error
