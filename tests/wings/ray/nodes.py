"""A Ray cluster of several nodes on this machine: each is a ``ray start`` of its own, on loopback."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from types import TracebackType

ROOT = Path(__file__).resolve().parents[3]
_STORE_BYTES = 80_000_000
_HEAD = "127.0.0.2"


class RayNodes:
    """A head and further nodes, one CPU each. All their processes end with the ``with`` block."""

    def __init__(self, nodes: int = 2, cpus: int = 1) -> None:
        self._cpus = cpus
        self._count = nodes
        # Not below pytest's folder: the path of a Unix socket has at most 107 bytes.
        self._folder = tempfile.TemporaryDirectory(prefix="ray", ignore_cleanup_errors=True)
        self._token = secrets.token_hex(32)
        self._running: list[subprocess.Popen[bytes]] = []
        # Ray replaces 127.0.0.1 by the address of the machine in its network; other addresses of loopback stay.
        self.address = f"{_HEAD}:{_free_port()}"
        """RAY_ADDRESS of the cluster."""
        self.environment = {
            "RAY_USAGE_STATS_ENABLED": "0",
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": self._token,
            # A dead node is noticed in 2 s in place of 15.
            "RAY_health_check_initial_delay_ms": "1000",
            "RAY_health_check_period_ms": "500",
            "RAY_health_check_timeout_ms": "1000",
            "RAY_health_check_failure_threshold": "3",
            "PYTHONPATH": str(ROOT),
        }
        """Variables that nodes and drivers of this cluster need."""

    def __enter__(self) -> RayNodes:
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            # Otherwise the nodes would outlive a script that is stopped.
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        try:
            self._start(
                "--head",
                f"--port={self.address.rpartition(':')[2]}",
                f"--ray-client-server-port={_free_port()}",
                "--include-dashboard=false",
            )
            for _ in range(self._count - 1):
                self.add()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in reversed(self._running):
            _kill(process)
        self._folder.cleanup()

    def add(self) -> None:
        """Start a further node."""
        self._start(f"--address={self.address}")

    def kill_last(self) -> None:
        """Kill the newest node with SIGKILL: its raylet and its workers."""
        _kill(self._running.pop())

    def processor_seconds(self) -> dict[int, float]:
        """Return the processor time so far of each process of the nodes, in seconds: process id -> seconds."""
        found: dict[int, float] = {}
        for node in self._running:
            for pid in [*_descendants(node.pid), node.pid]:
                with suppress(OSError):
                    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
                    found[pid] = (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
        return found

    def _start(self, *arguments: str) -> None:
        number = len(self._running) + 1
        command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", *arguments]
        log = Path(self._folder.name) / f"node-{time.monotonic_ns()}.txt"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [
                    *command,
                    f"--node-ip-address=127.0.0.{1 + number}",
                    f"--num-cpus={self._cpus}",
                    f"--object-store-memory={_STORE_BYTES}",
                    "--disable-usage-stats",
                    *(["--temp-dir", self._folder.name] if number == 1 else []),
                ],
                env={**os.environ, **self.environment},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._running.append(process)
        deadline = time.monotonic() + 90
        while b"Ray runtime started" not in log.read_bytes():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the node does not start: {log.read_text('utf-8', 'replace')[-2_000:]}")
            time.sleep(0.1)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a node's processes: those of its session, and the workers, which have sessions of their own."""
    for pid in [*_descendants(process.pid), process.pid]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait(20)


def _descendants(parent: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError):
            after = entry.read_text().rpartition(")")[2].split()
            children.setdefault(int(after[1]), []).append(int(entry.parent.name))
    found, waiting = [], [parent]
    while waiting:
        for child in children.get(waiting.pop(), []):
            found.append(child)
            waiting.append(child)
    return found


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HEAD, 0))
        return int(probe.getsockname()[1])
