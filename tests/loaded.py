"""Starts Python programs as copies of a process that has the packages already: imports are most of a start.

    python -m tests.loaded

reads what to start from stdin, a JSON text a line, and says the number of each process. It has the packages of others
and the core, neither of which reads settings when it is imported, and nothing of the pages. What is tested is the
program's work: that it starts from nothing is tested where ``python`` itself is started.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = """
altair bs4 chatbot_mvp.app httpx numpy pandas PIL.Image pyarrow.parquet starlette.middleware streamlit.web.bootstrap
streamlit.web.cli uvicorn
""".split()


class Started:
    """A process that was started by another one."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._handle = os.pidfd_open(pid)

    def __del__(self) -> None:
        os.close(self._handle)

    def poll(self) -> int | None:
        """Return None while it runs, then a number that says nothing."""
        return 0 if self._has_ended(0) else None

    def send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._handle, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> None:
        if not self._has_ended(timeout):
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0.0)

    def _has_ended(self, within_s: float | None) -> bool:
        waiting = select.poll()
        waiting.register(self._handle, select.POLLIN)
        return bool(waiting.poll(None if within_s is None else within_s * 1_000))


def start(
    arguments: Sequence[str], cwd: Path, environment: Mapping[str, str], log: Path
) -> Started | subprocess.Popen[bytes]:
    """Start ``python -m`` with these arguments; what it says is added to ``log``."""
    if not hasattr(os, "pidfd_open"):  # another system than Linux
        with log.open("ab") as out:
            command = [sys.executable, "-m", *arguments]
            return subprocess.Popen(command, cwd=cwd, env=dict(environment), stdout=out, stderr=out)
    asked = {"arguments": list(arguments), "cwd": str(cwd), "environment": dict(environment), "log": str(log)}
    loaded = _loaded()
    assert loaded.stdin is not None
    assert loaded.stdout is not None
    loaded.stdin.write(json.dumps(asked).encode() + b"\n")
    loaded.stdin.flush()
    return Started(int(loaded.stdout.readline()))


@cache
def _loaded() -> subprocess.Popen[bytes]:
    """One for all tests of this process; it ends when this one does, and its stdin with it."""
    pipe = subprocess.PIPE
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}  # a process with threads cannot be copied
    return subprocess.Popen([sys.executable, "-m", __name__], cwd=ROOT, env=environment, stdin=pipe, stdout=pipe)


def main() -> None:
    for name in PACKAGES:
        if find_spec(name.partition(".")[0]):
            import_module(name)
    assert threading.active_count() == 1
    signal.signal(signal.SIGCHLD, _ended)
    gc.collect()
    gc.freeze()
    for line in sys.stdin:
        if not (child := os.fork()):
            _carry_out(**json.loads(line))
        print(child, flush=True)


def _ended(*_: object) -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _carry_out(arguments: list[str], cwd: str, environment: dict[str, str], log: str) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(said, 1)
    os.dup2(said, 2)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[1:1] = [place for place in environment.get("PYTHONPATH", "").split(os.pathsep) if place]
    sys.argv = arguments
    runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
    sys.exit()


if __name__ == "__main__":
    main()
