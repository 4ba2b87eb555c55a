"""The data folder as a whole: what in it is data, and whether a program uses it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from chatbot_mvp.errors import DataFolderInUse, DataFolderUnusable
from chatbot_mvp.plugins.finding import added
from chatbot_mvp.storage.file_locks import HAS_LOCKS, lock
from chatbot_mvp.storage.files import make_folder, make_private, remove_left_behind

IN_USE = ".in-use"
"""File in the data folder that programs lock while they use the folder."""
_LARGE = ("cache", "chroma", "datasets")
"""Folders with very many files. What a killed write left in them is deleted by the next write to the same folder."""
SECRETS = (".env", ".streamlit")
"""Files with keys. They are in the data folder if a program is started there."""


def names_in(folder: Path) -> list[str]:
    """The names of the entries of a folder, sorted."""
    return sorted(path.name for path in folder.iterdir())


@dataclass(frozen=True)
class DataFolder:
    """A data folder and what belongs to it."""

    root: Path
    beside: Mapping[str, Path] = field(default_factory=dict)
    """Files of the data that lie elsewhere: name in the folder and in backups -> path."""
    not_data: frozenset[str] = frozenset()
    """Names in the folder that belong to the program."""

    def create(self) -> None:
        """Create the folder if it is missing, and check that files can be written in it.

        Raises:
            DataFolderUnusable
        """
        trial = self.root / f".writable.{os.getpid()}"
        try:
            make_folder(self.root)
            # A disk that is full accepts an empty file and no content.
            trial.write_bytes(b"\n" * 4096)
        except FileExistsError as error:
            raise DataFolderUnusable(path=str(self.root), reason="it is a file") from error
        except OSError as error:
            raise DataFolderUnusable(path=str(self.root), reason=error.strerror or str(error)) from error
        finally:
            with suppress(OSError):
                trial.unlink(missing_ok=True)

    def use(self) -> int | None:
        """Tell other processes that this one uses the folder, until the returned file descriptor is closed.

        Returns:
            None if the folder does not exist or has no locks.

        Raises:
            DataFolderUnusable: this account may not look into the folder.
        """
        try:
            if not self.root.is_dir():
                return None
            (self.root / IN_USE).exists()  # to enter it needs another right than to list it
            names_in(self.root)
        except PermissionError as error:
            raise DataFolderUnusable(path=str(self.root), reason=error.strerror or str(error)) from error
        self._tidy()
        if not HAS_LOCKS:
            return None
        try:
            handle = os.open(self.root / IN_USE, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError:  # a folder that can only be read
            return None
        lock(handle, shared=True)
        return handle

    def _tidy(self) -> None:
        """Keep other users of the system from all data, and delete the unfinished files of processes that were killed.

        People and other programs also put files there. The folders at the top are enough: what is in a folder that
        others cannot enter is out of their reach, whatever program wrote it.
        """
        with suppress(OSError):
            tops = [self.root / name for name in names_in(self.root) if name not in self.not_data]
            for path in (*tops, *self.beside.values()):
                make_private(path)
            for path in (self.root, *(top for top in tops if top.name not in _LARGE and not top.is_symlink())):
                remove_left_behind(path)
                for folder, names, _ in os.walk(path) if path != self.root else ():
                    for name in names:
                        remove_left_behind(Path(folder) / name)

    @contextmanager
    def alone(self, wait: bool = False) -> Iterator[None]:
        """Keep other processes from using the folder.

        Args:
            wait: until they have ended, in place of an error.

        Raises:
            DataFolderInUse: a server or a command uses the folder.
        """
        if not HAS_LOCKS:
            yield
            return
        with (self.root / IN_USE).open("ab") as file:
            try:
                lock(file, wait=wait)
            except BlockingIOError as error:
                raise DataFolderInUse(path=str(self.root)) from error
            yield


@dataclass(frozen=True, slots=True)
class Completion:
    """Completes what a program that died has left half done in a data folder."""

    is_needed: Callable[[DataFolder], bool]
    complete: Callable[[DataFolder], None]
    """Called while nobody else uses the folder."""


def use_folder(folder: DataFolder) -> int | None:
    """Complete what was left half done, and keep others from being alone with the folder.

    Programs call it before they read anything of the folder. It waits for a program that is alone with it.

    Returns:
        A file descriptor that holds the folder until it is closed; None if the folder does not exist or has no locks.
    """
    while True:
        handle = folder.use()
        needed = [one for one in added("completion", Completion).values() if one.is_needed(folder)]
        if not needed:
            return handle
        if handle is not None:
            os.close(handle)
        with folder.alone(wait=True):
            for one in needed:
                one.complete(folder)
