"""A real server process; the browser is that of ``tests.browser``."""

from __future__ import annotations

import os
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import loaded
from tests.loopback import free_port
from tests.models import share_converted_models
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]


class Server:
    """`streamlit run` over a data folder; can be killed and started again on the same folder."""

    def __init__(self, data_dir: Path, *start: str, **environment: str) -> None:
        """``start`` is what Python runs in place of ``-m streamlit``, also a module; ``environment`` are settings."""
        self.data_dir = data_dir
        self._start = start[1:] or ("streamlit",)
        self._environment = environment
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.log = data_dir / "server.log"
        self._process: loaded.Started | subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        share_converted_models(self.data_dir)
        environment = {**os.environ, "DATA_DIR": str(self.data_dir), "OMP_NUM_THREADS": "1", **self._environment}
        command = [*self._start, "run", "streamlit_app/Inicio.py", "--server.port", str(self.port)]
        self._process = loaded.start(command, ROOT, environment, self.log)
        try:
            wait_until(self._answers, 60, "an answer of the server", 0.2)
        except AssertionError as error:
            raise AssertionError(f"{error}:\n{self.log.read_text()}") from error

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=2):
                return True
        except OSError:
            return False

    def kill(self) -> None:
        """As a power cut would: no clean-up of any kind."""
        if self._process:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give tests in a browser ten minutes: a signal ends the driver that all tests of a process share."""
    for item in items:
        if item.get_closest_marker("e2e") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(600))


@pytest.fixture
def server(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Server]:
    """Over an empty folder, with the settings that a module names in ``SETTINGS``."""
    running = Server(tmp_path, **getattr(request.module, "SETTINGS", {}))
    running.start()
    yield running
    running.kill()
