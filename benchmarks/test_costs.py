"""Measure what each test costs, and write how many of its cases ``make test`` runs.

    python -m benchmarks test_costs [--write] [--budget SECONDS]

Runs all tests that are not marked as slow, once, in three processes; with ``--write`` the result is
``tests/costs.txt``. A test function may cost the budget: of one that costs more, as many cases are kept as the budget
pays for. A file whose functions would all be left out keeps a case of its cheapest one, unless that costs ten times the
budget. Prints what is kept, in seconds of a processor.

The cost is the processor time of the process and of its children that ended. A browser ends with all tests; a test that
drives it costs at least a quarter of the time that it takes.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess  # nosec B404: runs pytest
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from benchmarks.script import ROOT, parser
from tests.cases import COSTS, function_of

FOLDER = "TEST_COSTS_FOLDER"
"""Environment variable: the folder to which each process of pytest writes what its tests cost."""
BUDGET_S = 0.2
_MOST_OF_A_FILE = 10
_ALWAYS = ("tests/e2e/test_tour.py::test_upload_ask_and_open_the_highlighted_source",)
"""Kept at any cost: without it no browser would open the app."""
_OF_BROWSER = 0.25
ABOUT = """\
# Of each test function that costs more than {budget:g} s of a processor: the cases that `make test` runs, all
# its cases, and seconds for all. Written by `python -m benchmarks test_costs --write`. `make check` runs all cases.
"""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Note the cost of a test, with its fixtures. Pytest calls this where the module is one of its plugins."""
    before, began = _processor_s(), time.monotonic()
    result = yield
    cost = _processor_s() - before
    if item.get_closest_marker("e2e"):
        cost = max(cost, _OF_BROWSER * (time.monotonic() - began))
    with Path(os.environ[FOLDER], f"{os.getpid()}.jsonl").open("a") as file:
        file.write(json.dumps([function_of(item.nodeid), cost]) + "\n")
    return result


def _processor_s() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--write", action="store_true", help="write tests/costs.txt")
    options.add_argument(
        "--budget", type=float, default=BUDGET_S, help=f"seconds of a function; {BUDGET_S:g} if left out"
    )
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pytest_of_all = ("-m", "pytest", "-q", "-p", "benchmarks.test_costs", "-n", "3", "--dist", "loadgroup")
        run = [sys.executable, *pytest_of_all, "-m", "not slow"]
        failed = subprocess.run(run, cwd=ROOT, env={**os.environ, FOLDER: folder}, check=False).returncode  # nosec B603
        costs = read(Path(folder))
    kept = plan(costs, given.budget)
    paid = sum(sum(costs[name]) * count / len(costs[name]) for name, count in kept.items())
    total = sum(map(sum, costs.values()))
    print(f"{sum(kept.values())} of {sum(map(len, costs.values()))} tests, {paid:.0f} of {total:.0f} s")
    if given.write:
        COSTS.write_text(ABOUT.format(budget=given.budget) + "".join(lines(costs, kept)), "utf-8")
    return failed


def read(folder: Path) -> dict[str, list[float]]:
    """Return test function -> the cost of each of its cases, s."""
    costs: dict[str, list[float]] = defaultdict(list)
    for path in folder.glob("*.jsonl"):
        for line in path.read_text("utf-8").splitlines():
            name, cost = json.loads(line)
            costs[name].append(cost)
    return costs


def plan(costs: Mapping[str, Sequence[float]], budget_s: float) -> dict[str, int]:
    """Return test function -> how many of its cases are kept."""
    kept = {}
    of_file: dict[str, list[str]] = defaultdict(list)
    for name, cases in costs.items():
        kept[name] = len(cases) if sum(cases) <= budget_s else int(len(cases) * budget_s / sum(cases))
        of_file[name.partition("::")[0]].append(name)
    kept.update({name: len(costs[name]) for name in _ALWAYS if name in costs})
    for names in of_file.values():
        cheapest = min(names, key=lambda name: sum(costs[name]) / len(costs[name]))
        each = sum(costs[cheapest]) / len(costs[cheapest])
        if not any(kept[name] for name in names) and each <= _MOST_OF_A_FILE * budget_s:
            kept[cheapest] = 1
    return kept


def lines(costs: Mapping[str, Sequence[float]], kept: Mapping[str, int]) -> Iterator[str]:
    for name, count in sorted(kept.items()):
        if count < len(costs[name]):
            yield f"{count}/{len(costs[name])} {sum(costs[name]):.1f} {name}\n"


if __name__ == "__main__":
    sys.exit(main())
