"""Start the app on a free port and a headless Chromium, for scripts that open pages."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.script import ROOT
from tests.browser import ARGUMENTS, CHROMIUM

_PAINTED = """(before) => {
  const app = document.querySelector("[data-testid='stApp']"), title = document.querySelector('h1');
  return app && app.dataset.testScriptState === 'notRunning' && title && title.innerText !== before
    && !document.querySelector("[data-testid='stSkeleton']");
}"""


@contextmanager
def serve(data_dir: Path, **settings: str) -> Iterator[str]:
    """The app over a data folder, with the provider ``demo`` and further settings; its address."""
    with serve_process(data_dir, **settings) as (url, _):
        yield url


@contextmanager
def serve_process(data_dir: Path, **settings: str) -> Iterator[tuple[str, int]]:
    """As ``serve``; gives the address and the id of the server's process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "streamlit_app/Inicio.py", "--server.port", str(port)]
    environment = {**os.environ, "DATA_DIR": str(data_dir), "PROVIDER": "demo", "PYTHONPATH": str(ROOT), **settings}
    with (data_dir / "server.log").open("ab") as log:
        process = subprocess.Popen(
            [*command, "--server.headless", "true"], cwd=ROOT, env=environment, stdout=log, stderr=log
        )
        try:
            url = f"http://127.0.0.1:{port}"
            deadline = time.monotonic() + 60
            while not _answers(url):
                if time.monotonic() > deadline or process.poll() is not None:
                    sys.exit(f"the app did not start: {log.name}")
                time.sleep(0.2)
            yield url, process.pid
        finally:
            process.kill()
            process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2):  # nosec B310 -- loopback
            return True
    except OSError:
        return False


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser of its own."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


def wait_painted(page: Page, before: str = "") -> None:
    """Until a page's own content is there and its script has ended.

    Args:
        before: title of the page that was there; another one is waited for.
    """
    page.wait_for_function(_PAINTED, arg=before)
