"""How long each page takes until its own content is painted, with many large runs on disk.

    python benchmarks/paint.py [FOLDER] [--runs 200] [--queries 7405] [--loads 7] [--pages Evaluacion,Admin]

Makes the runs (``made_runs``; 6 GB for the default, kept in FOLDER for the next time, else removed), starts the app on
a free port and opens every page in headless Chromium. Counted is from asking for the address until the page's title is
there and its script has ended. The first load of a page is left out: "warm" is a server that has been asked before.
Printed is a Markdown table: seconds of the first load, then the median and the longest of the others.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from made_runs import make_runs

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
_PAINTED = """() => {
  const app = document.querySelector("[data-testid='stApp']");
  return app && app.dataset.testScriptState === 'notRunning' && document.querySelector('h1')
    && !document.querySelector("[data-testid='stSkeleton']");
}"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--queries", type=int, default=7_405)
    parser.add_argument("--loads", type=int, default=7)
    parser.add_argument("--pages", default="", help="only these, by name, with commas between")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="paint-"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        ids = make_runs(folder, given.runs, given.queries, unfinished=5)
        newest, others = ids[-1], ids[-2:-4:-1]
        addresses = {
            "Inicio": "",
            "Chat": "Chat",
            "Evaluacion": "Evaluacion",
            "Leaderboard": "Evaluacion?view=leaderboard",
            "Run": f"Evaluacion?run={newest}",
            "Comparison": f"Evaluacion?compare={newest},{others[0]}",
            "Admin": "Admin",
        }
        only = given.pages.split(",") if given.pages else list(addresses)
        with _server(folder) as url:
            rows = {name: _painted(f"{url}/{addresses[name]}", given.loads) for name in only}
    finally:
        if given.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{given.runs} runs of {given.queries} queries, {given.loads} warm loads of each page\n")
    print("| page | first load | median | longest |\n|---|---|---|---|")
    for name, (first, *warm) in rows.items():
        print(f"| {name} | {first:.2f} | {statistics.median(warm):.2f} | {max(warm):.2f} |")


@contextmanager
def _server(data_dir: Path) -> Iterator[str]:
    """The app over a data folder; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "streamlit_app/Inicio.py", "--server.port", str(port)]
    environment = {**os.environ, "DATA_DIR": str(data_dir), "PROVIDER": "demo", "PYTHONPATH": str(ROOT)}
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
            yield url
        finally:
            process.kill()
            process.wait()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2):
            return True
    except OSError:
        return False


def _painted(address: str, loads: int) -> list[float]:
    """Seconds of the first load, then of the others, each in a tab of its own with the browser's cache filled."""
    from playwright.sync_api import sync_playwright

    seconds = []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.set_default_timeout(120_000)
        for _ in range(loads + 1):
            page = context.new_page()
            started = time.perf_counter()
            page.goto(address, wait_until="commit")
            page.wait_for_function(_PAINTED)
            seconds.append(time.perf_counter() - started)
            if page.locator("[data-testid='stException']").count():
                sys.exit(f"{address} shows an exception")
            page.close()
        browser.close()
    return seconds


if __name__ == "__main__":
    main()
