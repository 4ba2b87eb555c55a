"""How long each page takes until its own content is painted, with many large runs on disk.

    python benchmarks/paint.py [FOLDER] [--runs 200] [--queries 7405] [--loads 7] [--pages Evaluacion,Admin]

Makes the runs (``made_runs``; 6 GB for the default, kept in FOLDER for the next time, else removed), starts the app on
a free port and opens every page in headless Chromium. Counted is until the page's title is there and its script has
ended: from asking for an address in a new tab, which loads Streamlit's own page first, and from a click in the sidebar.
"Warm" leaves the first time out. Printed is a Markdown table of seconds, and the machine's load before and after, as a
busy machine says little. With --runs 0 the same without any data, which is what Streamlit and Chromium take alone.
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from made_runs import make_runs
from playwright.sync_api import BrowserContext, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
CHROMIUM = next(
    (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
)
PAGES = ("Inicio", "Evaluacion", "Chat", "Admin")
"""In the order of the sidebar."""
_PAINTED = """(before) => {
  const app = document.querySelector("[data-testid='stApp']"), title = document.querySelector('h1');
  return app && app.dataset.testScriptState === 'notRunning' && title && title.innerText !== before
    && !document.querySelector("[data-testid='stSkeleton']");
}"""
"""Whether another page than the one with the title ``before`` is there."""


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
        addresses = {"Inicio": "", "Chat": "Chat", "Evaluacion": "Evaluacion", "Admin": "Admin"}
        if len(ids) > 1:
            addresses |= {
                "leaderboard": "Evaluacion?view=leaderboard",
                "run": f"Evaluacion?run={ids[-1]}",
                "comparison": f"Evaluacion?compare={ids[-1]},{ids[-2]}",
            }
        only = given.pages.split(",") if given.pages else list(addresses)
        with _server(folder) as url:
            load = os.getloadavg()[0]
            rows = {name: _painted(f"{url}/{addresses[name]}", given.loads) for name in only}
            clicks = _clicked(url, [name for name in only if name in PAGES], given.loads)
    finally:
        if given.folder is None:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{given.runs} runs of {given.queries} queries; load {load:.1f} before, {os.getloadavg()[0]:.1f} after\n")
    print("| page | first | median | longest | by a click: median | longest |\n|---|---|---|---|---|---|")
    for name, (first, *warm) in rows.items():
        clicked = clicks.get(name)
        more = f"{statistics.median(clicked):.2f} | {max(clicked):.2f}" if clicked else "– | –"
        print(f"| {name} | {first:.2f} | {statistics.median(warm):.2f} | {max(warm):.2f} | {more} |")


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


@contextmanager
def _tabs() -> Iterator[BrowserContext]:
    """Makes tabs that share the browser's cache."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.set_default_timeout(120_000)
        yield context
        browser.close()


def _painted(address: str, loads: int) -> list[float]:
    """Seconds of the first load, then of the others, each in a tab of its own."""
    seconds = []
    with _tabs() as context:
        for _ in range(loads + 1):
            page = context.new_page()
            started = time.perf_counter()
            page.goto(address, wait_until="commit")
            page.wait_for_function(_PAINTED, arg="")
            seconds.append(time.perf_counter() - started)
            if page.locator("[data-testid='stException']").count():
                sys.exit(f"{address} shows an exception")
            page.close()
    return seconds


def _clicked(url: str, names: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """Page -> seconds from a click on its name, round and round; the first round is left out."""
    seconds: dict[str, list[float]] = {name: [] for name in names}
    if len(names) < 2:  # a click on the page that is shown already shows nothing new
        return seconds
    with _tabs() as context:
        page = context.new_page()
        page.goto(f"{url}/{'' if names[-1] == 'Inicio' else names[-1]}")
        page.wait_for_function(_PAINTED, arg="")
        for number in range(rounds + 1):
            for name in names:
                title = page.locator("h1").first.inner_text()
                link = page.get_by_test_id("stSidebarNavLink").nth(PAGES.index(name))
                started = time.perf_counter()
                link.click()
                page.wait_for_function(_PAINTED, arg=title)
                if number:
                    seconds[name].append(time.perf_counter() - started)
    return seconds


if __name__ == "__main__":
    main()
