"""Measure how long each page takes until its content is painted, with many large runs on disk.

    python benchmarks/paint.py [FOLDER] [--runs 200] [--queries 7405] [--loads 7] [--pages Evaluacion,Admin]

Creates the runs (``made_runs``; 6 GB by default, kept in FOLDER for the next time, else removed), starts the app on a
free port and opens every page in headless Chromium. Measures the time until the page's title is visible and its script
has ended: from opening the address in a new tab, which also loads Streamlit, and from a click in the sidebar. "Warm"
leaves out the first time. Prints a Markdown table of seconds, and the machine's load before and after, since times on a
busy machine are unreliable. --runs 0 measures without data, that is, Streamlit and Chromium alone.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from app_in_browser import chromium, serve, wait_painted
from made_runs import make_runs
from playwright.sync_api import BrowserContext

PAGES = ("Inicio", "Evaluacion", "Chat", "Admin", "Evaluar_mi_KB")
"""In the order of the sidebar."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--queries", type=int, default=7_405)
    parser.add_argument("--loads", type=int, default=7)
    parser.add_argument("--pages", default="", help="names of pages to open, separated by commas; default all")
    given = parser.parse_args()
    folder = given.folder or Path(tempfile.mkdtemp(prefix="paint-"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        ids = make_runs(folder, given.runs, given.queries, unfinished=5)
        addresses = {name: "" if name == "Inicio" else name for name in PAGES}
        if len(ids) > 1:
            addresses |= {
                "leaderboard": "Evaluacion?view=leaderboard",
                "run": f"Evaluacion?run={ids[-1]}",
                "comparison": f"Evaluacion?compare={ids[-1]},{ids[-2]}",
            }
        only = given.pages.split(",") if given.pages else list(addresses)
        with serve(folder) as url:
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
def _tabs() -> Iterator[BrowserContext]:
    """Makes tabs that share the browser's cache."""
    with chromium() as browser:
        context = browser.new_context(viewport={"width": 1440, "height": 900})
        context.set_default_timeout(120_000)
        yield context


def _painted(address: str, loads: int) -> list[float]:
    """Seconds of the first load, then of the others, each in a tab of its own."""
    seconds = []
    with _tabs() as context:
        for _ in range(loads + 1):
            page = context.new_page()
            started = time.perf_counter()
            page.goto(address, wait_until="commit")
            wait_painted(page)
            seconds.append(time.perf_counter() - started)
            if page.locator("[data-testid='stException']").count():
                sys.exit(f"{address} shows an exception")
            page.close()
    return seconds


def _clicked(url: str, names: Sequence[str], rounds: int) -> dict[str, list[float]]:
    """Page -> seconds from a click on its name, round and round; the first round is left out."""
    seconds: dict[str, list[float]] = {name: [] for name in names}
    if len(names) < 2:  # a click on the current page would measure nothing
        return seconds
    with _tabs() as context:
        page = context.new_page()
        page.goto(f"{url}/{'' if names[-1] == 'Inicio' else names[-1]}")
        wait_painted(page)
        for number in range(rounds + 1):
            for name in names:
                title = page.locator("h1").first.inner_text()
                link = page.get_by_test_id("stSidebarNavLink").nth(PAGES.index(name))
                started = time.perf_counter()
                link.click()
                wait_painted(page, title)
                if number:
                    seconds[name].append(time.perf_counter() - started)
    return seconds


if __name__ == "__main__":
    main()
