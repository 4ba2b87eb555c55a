"""Measure how fast the program starts, and how large its installation is.

    python -m benchmarks startup [--repeats 7] [--page] [--packages 20]

Prints Markdown tables: processor seconds (user and system, median) and the modules that each command imports; with
--page the time until Inicio is painted in headless Chromium after the start of a new server; with --packages N the size
of site-packages and its N largest packages, each with the direct dependency that installs it. A question is asked on a
knowledge base that is already indexed. Processor time is compared because times by the clock depend on what else the
machine does.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks.process import children_s, load
from benchmarks.script import ROOT, SAMPLES, data_folder, head, parser, row

SAMPLE = SAMPLES / "kb" / "politica_empresa.md"
QUESTION = "¿Cuántos días de vacaciones hay?"
COMMANDS: dict[str, tuple[list[str], str]] = {
    "--help": (["--help"], ""),
    "kb --help": (["kb", "--help"], ""),
    "benchmark --help": (["benchmark", "--help"], ""),
    "kb ask --help": (["kb", "ask", "--help"], ""),
    "kb ask, LEXICAL": (["kb", "ask", str(SAMPLE), QUESTION], "LEXICAL"),
    "kb ask, default": (["kb", "ask", str(SAMPLE), QUESTION], ""),
}
"""What is shown -> (arguments, RETRIEVAL_STRATEGY; "" for the default)."""


def main() -> None:
    options = parser(__doc__)
    options.add_argument("--repeats", type=int, default=7)
    options.add_argument("--page", action="store_true", help="measure the first page too; needs Chromium")
    options.add_argument("--packages", type=int, default=0, metavar="N", help="list the N largest packages")
    given = options.parse_args()
    if given.page and find_spec("playwright") is None:  # say so now, not after minutes of measuring
        options.error("--page needs Playwright: pip install -e '.[dev]' (make lint does it), and a Chromium")
    print(f"load {load()}\n\n{head(['command', 'CPU (s)', 'modules'])}")
    with data_folder(None) as folder:
        for name, (arguments, strategy) in COMMANDS.items():
            environment = {**os.environ, "DATA_DIR": str(folder), "PROVIDER": "demo", "PYTHONPATH": str(ROOT)}
            environment |= {"RETRIEVAL_STRATEGY": strategy} if strategy else {}
            modules = _modules(arguments, environment)  # this first run also builds the indexes
            cpu = statistics.median(_cpu(arguments, environment) for _ in range(given.repeats))
            print(row([name, f"{cpu:.2f}", modules]))
    if given.page:
        _print_page(given.repeats)
    if given.packages:
        _print_packages(given.packages)


def _cpu(arguments: list[str], environment: Mapping[str, str]) -> float:
    before = children_s()
    subprocess.run(
        [sys.executable, "-m", "chatbot_mvp.cli", *arguments], env=environment, check=True, capture_output=True
    )
    return children_s() - before


def _modules(arguments: list[str], environment: Mapping[str, str]) -> int:
    command = [sys.executable, "-X", "importtime", "-m", "chatbot_mvp.cli", *arguments]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return done.stderr.count("import time:") - 1  # without the heading


def _print_page(repeats: int) -> None:
    from benchmarks.app_in_browser import (  # imports Playwright, which only this figure needs
        chromium,
        serve,
        wait_painted,
    )

    rows = []
    with chromium() as browser:
        for _ in range(repeats):
            with data_folder(None) as folder:
                spent, start = children_s(), time.monotonic()
                with serve(folder) as url:
                    healthy = time.monotonic()
                    page = browser.new_page()
                    page.goto(url)
                    wait_painted(page)
                    painted = time.monotonic()
                    page.close()
                rows.append((healthy - start, painted - healthy, painted - start, children_s() - spent))
    medians = [f"{statistics.median(column):.2f}" for column in zip(*rows, strict=True)]
    names = ["Inicio", "start to healthy (s)", "open to painted (s)", "both (s)", "CPU of the server (s)"]
    print(f"\n{head(names)}\n{row(['first visit', *medians])}\n\nload {load()}")


def _print_packages(count: int) -> None:
    installed = {str(canonicalize_name(found.name)): found for found in metadata.distributions()}
    sizes = {name: _bytes(found) for name, found in installed.items()}
    forced = _forced_by(installed)
    print(f"\n{len(installed)} packages, {sum(sizes.values()) / 2**20:,.0f} MB\n")
    print(head(["package", "MB", "of it bytecode", "installed for"]))
    for name in sorted(sizes, key=sizes.__getitem__, reverse=True)[:count]:
        bytecode = _bytes(installed[name], ".pyc") / 2**20
        print(row([name, f"{sizes[name] / 2**20:.1f}", f"{bytecode:.1f}", ", ".join(forced.get(name, ["–"]))]))


def _bytes(found: metadata.Distribution, suffix: str = "") -> int:
    """Size of the files of a distribution, in blocks of 4 KiB as ``du`` counts them."""
    paths = [Path(str(found.locate_file(file))) for file in found.files or () if str(file).endswith(suffix)]
    return sum(-(-path.stat().st_size // 4096) * 4096 for path in paths if path.is_file())


def _forced_by(installed: Mapping[str, metadata.Distribution]) -> dict[str, list[str]]:
    """Return package -> direct dependencies that install it, by themselves or through others."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    reached: dict[str, list[str]] = {}
    for line in project["dependencies"]:
        direct = Requirement(line)
        for name in sorted(_closure(direct, installed)):
            reached.setdefault(name, []).append(direct.name)
    return reached


def _closure(direct: Requirement, installed: Mapping[str, metadata.Distribution]) -> set[str]:
    seen: set[tuple[str, str]] = set()
    waiting = list(_with_extras([direct]))
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen or name not in installed:
            continue
        seen.add((name, extra))
        needs = (Requirement(line) for line in installed[name].requires or ())
        waiting += _with_extras(n for n in needs if n.marker is None or n.marker.evaluate({"extra": extra}))
    return {name for name, _ in seen}


def _with_extras(requirements: Iterable[Requirement]) -> Iterator[tuple[str, str]]:
    for requirement in requirements:
        for extra in ("", *requirement.extras):
            yield canonicalize_name(requirement.name), extra
