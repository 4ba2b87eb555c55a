"""Let a write fail or its process die at any file operation, and read afterwards what is there.

    python -m tests.faults FOLDER EVERY [SCENARIO ...]

Prints one JSON line per trial. Every trial runs in a child process: it does the scenario's work until the n-th file
operation, where the process ends (before, during or after the operation) or the system refuses the operation. Another
child then reads the files. EVERY tries only each so many-th trial.
"""

from __future__ import annotations

import builtins
import errno
import gc
import io
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

KINDS = ("crash before", "crash during", "crash after", "full disk", "read-only")
_ERRORS = {"full disk": errno.ENOSPC, "read-only": errno.EROFS}
_DIED = 77


class Faults:
    """Counts the operations on files that change something, and makes one of them fail."""

    def __init__(self, at: int = 0, kind: str = "") -> None:
        """
        Args:
            at: number of the operation, from 1; 0 only counts.
            kind: one of KINDS. A refused operation is refused from then on, as on a full disk.
        """
        self.count = 0
        self._at, self._kind = at, kind
        self._open = io.open
        self._write = os.write

    def install(self) -> None:
        """Replace the functions of this process that change files."""
        builtins.open = io.open = self._opened  # type: ignore[assignment]
        for name in ("replace", "rename", "fsync", "mkdir", "unlink", "rmdir"):
            setattr(os, name, self._around(getattr(os, name), name))

    def _around(self, function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            # A full or read-only disk can be synced, and a full one lets files be deleted.
            frees = name == "fsync" or (self._kind == "full disk" and name in ("unlink", "rmdir"))
            self._before(frees)
            result = function(*arguments, **options)
            self._after()
            return result

        return wrapped

    def _opened(self, path: Any, mode: str = "r", *arguments: Any, **options: Any) -> Any:
        if not set(mode) & set("wax+"):
            return self._open(path, mode, *arguments, **options)
        # Opening an existing file needs no space.
        self._before(frees=self._kind == "full disk")
        file = self._open(path, mode, *arguments, **options)
        self._after()
        return _File(file, self)

    def write(self, file: Any, data: Any) -> int:
        self.count += 1
        here = self.count == self._at or (self._kind in _ERRORS and 0 < self._at <= self.count)
        if here and self._kind == "crash before":
            os._exit(_DIED)
        if here and self._kind != "crash after":
            # Half of it arrives, as when a disk becomes full.
            with suppress(TypeError):
                file.write(data[: len(data) // 2])
            file.flush()
            if self._kind == "crash during":
                os._exit(_DIED)
            raise OSError(_ERRORS[self._kind], os.strerror(_ERRORS[self._kind]))
        written = file.write(data)
        if here:
            file.flush()
            os._exit(_DIED)
        return int(written)

    def _before(self, frees: bool) -> None:
        self.count += 1
        if self._kind in _ERRORS:
            if 0 < self._at <= self.count and not frees:
                raise OSError(_ERRORS[self._kind], os.strerror(_ERRORS[self._kind]))
        elif self.count == self._at and self._kind in ("crash before", "crash during"):
            os._exit(_DIED)

    def _after(self) -> None:
        if self.count == self._at and self._kind == "crash after":
            os._exit(_DIED)


class _File:
    """A file whose writes are counted."""

    def __init__(self, file: Any, faults: Faults) -> None:
        self._file, self._faults = file, faults

    def write(self, data: Any) -> int:
        return self._faults.write(self._file, data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[Any]:
        return iter(self._file)


@dataclass(frozen=True)
class Scenario:
    """A write and how to see what is there. Each function gets the data folder."""

    prepare: Callable[[Path], object]
    """Bring about the state before the write."""
    act: Callable[[Path], object]
    """Write. Done again after a trial, it must succeed."""
    read: Callable[[Path], Any]
    """Return the state as JSON values."""


def child(work: Callable[[], Any]) -> tuple[int, Any]:
    """Run ``work`` in a forked process; return (exit code, its result, or the error as {"error", "code", "text"})."""
    reading, writing = os.pipe()
    number = os.fork()
    if number == 0:
        os.close(reading)
        try:
            result: Any = {"value": work()}
        except BaseException as error:  # noqa: BLE001  (the caller decides which errors are right)
            result = {"error": type(error).__name__, "code": getattr(error, "code", None), "text": str(error)}
        os.write(writing, json.dumps(result).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        content = pipe.read()
    code = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    return code, json.loads(content) if content else None


def trials(scenario: Scenario, folder: Path, every: int) -> Iterator[dict[str, Any]]:
    """Try the faults at each operation of a scenario; yield what each led to."""
    template = folder / "template"
    template.mkdir(parents=True)
    _done(child(lambda: scenario.prepare(template) and None))
    old = _done(child(lambda: scenario.read(template)))
    place = folder / "data"

    def fresh() -> None:
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(template, place)

    def act(faults: Faults) -> int:
        faults.install()
        scenario.act(place)
        return faults.count

    fresh()
    operations = int(_done(child(lambda: act(Faults()))))
    new = _done(child(lambda: scenario.read(place)))
    assert old != new and operations, f"the write changes nothing: {old!r}"
    number = 0
    for at in range(1, operations + 1):
        for kind in KINDS:
            number += 1
            if number % every and number > 1:  # the first of each scenario, however short it is
                continue
            fresh()
            _, outcome = child(lambda at=at, kind=kind: act(Faults(at, kind)))  # type: ignore[misc]
            _, state = child(lambda: scenario.read(place))
            _, again = child(lambda: scenario.act(place) and None)
            _, after = child(lambda: scenario.read(place))
            yield {
                "at": at,
                "of": operations,
                "kind": kind,
                "outcome": outcome,
                "state": "old" if state == {"value": old} else "new" if state == {"value": new} else state,
                "again": again,
                "after": "new" if after == {"value": new} else after,
            }


def _done(result: tuple[int, Any]) -> Any:
    if result[0] or "error" in (result[1] or {"error": ""}):
        raise RuntimeError(f"a step without a fault failed: {result}")
    return result[1]["value"]


def main() -> None:
    from tests.fault_scenarios import SCENARIOS

    folder, every, *names = sys.argv[1:]
    gc.freeze()  # forked processes then share more memory
    for name in names or SCENARIOS:
        for trial in trials(SCENARIOS[name], Path(folder) / name, int(every)):
            print(json.dumps({"scenario": name, **trial}), flush=True)


if __name__ == "__main__":
    main()
