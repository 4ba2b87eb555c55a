"""Alterations of the code, one at a time in a scratch copy: what tests and checks are held against.

A table of them is a TOML file: ``name = [path, old, new, …]``, where ``old`` stands exactly once in the file ``path``.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from benchmarks.script import ROOT

TIMED_OUT = 124
"""The exit code of a command that ran past its limit, as that of timeout(1)."""
_seconds = count(1_000_000_000)


class NotApplicable(ValueError):
    """The text that an alteration replaces does not stand exactly once in its file."""


@dataclass(frozen=True, slots=True)
class Alteration:
    """One exact replacement of text in one file."""

    name: str
    path: str
    """Of the file, below the root of the repository."""
    old: str
    """Stands exactly once in the file."""
    new: str
    more: tuple[str, ...] = ()
    """What else the row of the table says, such as the tests that notice it."""

    def altered(self, root: Path = ROOT) -> str:
        """Return the altered text of the file; NotApplicable where the file is missing or ``old`` not there once."""
        file = root / self.path
        text = file.read_text("utf-8") if file.is_file() else ""
        if (found := text.count(self.old)) != 1 or self.old == self.new:
            raise NotApplicable(f"{self.name}: {self.old!r} stands {found} times in {self.path}, it must be once")
        return text.replace(self.old, self.new)


def read_alterations(table: Path) -> list[Alteration]:
    """Return the rows of a table in the order of the file, those of its sections included."""
    found = tomllib.loads(table.read_text("utf-8")).items()
    rows = [pair for name, row in found for pair in (row.items() if isinstance(row, dict) else [(name, row)])]
    return [Alteration(name, path, old, new, tuple(more)) for name, (path, old, new, *more) in rows]


@contextmanager
def scratch_copy(root: Path = ROOT) -> Iterator[Path]:
    """Give a copy of the files that git knows or would add, as they are now; it is a repository with one commit.

    The environments ``.venv`` and ``.venv-torch`` are links. The copy lies in the folder for temporary files and goes
    at the end.
    """
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    with tempfile.TemporaryDirectory(prefix="altered-", ignore_cleanup_errors=True) as name:
        copy = Path(name) / "tree"
        for path in filter(None, listed.stdout.split("\0")):
            if (root / path).is_file() or (root / path).is_symlink():  # a link to a folder is one, too
                (copy / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(root / path, copy / path, follow_symlinks=False)
        for words in ("init -q", "add -A", "-c user.name=copy -c user.email=copy@localhost commit -q -m copy"):
            subprocess.run(["git", *words.split()], cwd=copy, check=True)
        for environment in (".venv", ".venv-torch"):
            (copy / environment).symlink_to((root / environment).resolve())
        yield copy


def run_altered(
    copy: Path, alteration: Alteration | None, command: Sequence[str], limit_s: float, tail: int = 4_000
) -> tuple[int, str]:
    """Apply an alteration (or none) in a scratch copy, run a command there, and undo it.

    Return the exit code (TIMED_OUT after ``limit_s`` seconds, when all it started is killed) and the last ``tail``
    characters of what it wrote. The command finds the packages of the copy, whatever is installed.
    """
    if not alteration:
        return _run(copy, command, limit_s, tail)
    text, file = alteration.altered(copy), copy / alteration.path
    before = file.read_text("utf-8")
    try:
        _write(file, text)
        return _run(copy, command, limit_s, tail)
    finally:
        _write(file, before)


def _write(file: Path, text: str) -> None:
    """Write a file with a time of its own: Python takes a compiled file of equal size and second for the current."""
    file.write_text(text, encoding="utf-8")
    os.utime(file, (next(_seconds),) * 2)


def _run(copy: Path, command: Sequence[str], limit_s: float, tail: int) -> tuple[int, str]:
    env = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": ""}
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command, cwd=copy, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )
        try:
            code = process.wait(limit_s)
        except subprocess.TimeoutExpired:
            code = TIMED_OUT
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # with what it left running
            process.wait()
        said.seek(0)
        return code, said.read().decode("utf-8", "replace")[-tail:]
