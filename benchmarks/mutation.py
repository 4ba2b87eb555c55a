"""Change the code in small ways, one at a time, and count the changes that the tests notice (mutation testing).

    pip install mutmut==3.8.1
    python -m benchmarks mutation metrics                           # every change in chatbot_mvp/metrics
    python -m benchmarks mutation retrieval --sample 150 --seed 1   # a random part, from all modules by their size

The committed state of the repository is copied to a temporary folder. mutmut writes the changed functions there and
records which test calls which function. Each change is then tried in a process of its own, a fork that has imported
packages but nothing of the project. It runs the tests that call the changed function, the quickest files first. If a
file has a fixture of wider scope, all its tests are run: the first test that needs the fixture makes the calls, but
later ones depend on them too.

A change is noticed if a test fails, if the tests cannot be imported, or if the tests use ten times the processor time
that they usually take (an endless loop). Processor time does not depend on what else runs on the machine. A process
that waits until the limit of real time is *undecided* and does not count as noticed. The printed interval is Wilson's,
at 95 %.
"""

from __future__ import annotations

import importlib
import json
import math
import os
import random
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import NoReturn

from benchmarks.script import ROOT, data_folder, parser

TESTS = {
    "metrics": ("tests/metrics", "tests/wings/ragas/judging/test_formulas.py"),
    "retrieval": ("tests/retrieval",),
    "runs": ("tests/runs",),
}
"""Package below ``chatbot_mvp`` -> the tests that are run against its changes. Tests elsewhere notice more."""
LEFT_OUT = {
    "metrics": (),
    "retrieval": (
        "tests/retrieval/bridge/test_first_use.py",
        "tests/retrieval/indexes/test_chroma.py::test_another_process_finds_what_was_stored_and_builds_nothing",
        "tests/retrieval/indexes/test_chroma.py::test_a_server_gives_the_hits_that_files_give",
        "tests/retrieval/indexes/test_chroma.py::test_chroma_is_imported_only_when_it_is_used",
    ),
    "runs": (),
}
"""Package -> tests that are not run, because a loaded machine upsets their timing. Leaving them out can only lower the
share that is noticed."""
NOTICED = ("failed", "not imported", "endless")
CPU_FLOOR_S = 40
"""Processor time that every change may use beside ten times the duration of its tests: imports take 3 s of it."""
REAL_TIME_LIMIT_S = 300
_COMPILED = {"PYTHONDONTWRITEBYTECODE": ""}
"""Compiled files are kept, whatever the shell says: the changed modules take 10 s to compile."""
SLOW_S = 2.0
"""Tests of more seconds are run only for functions that no quicker test calls. This can only lower the share."""


@dataclass(frozen=True)
class Recorded:
    """Which tests call which function, as mutmut recorded."""

    by_function: dict[str, list[str]]
    seconds: dict[str, float]
    """Test -> duration of its call, in seconds of real time."""

    def of(self, change: str, folder: Path) -> list[str]:
        """Return the tests that depend on the changed function, fastest first; slow ones if there are no others."""
        calling = self.by_function.get(change.rpartition("__mutmut_")[0], [])
        files = set(map(_file, calling))
        shared = {file for file in files if "scope=" in (folder / "mutants" / file).read_text("utf-8")}
        tests = {*calling, *(test for test in self.seconds if _file(test) in shared)}
        chosen = {test for test in tests if self.seconds.get(test, 0.0) <= SLOW_S} or tests
        # File by file, because the fixtures of a file are made anew each time that its turn comes.
        seconds: dict[str, float] = defaultdict(float)
        for test in chosen:
            seconds[_file(test)] += self.seconds.get(test, 0.0)
        return sorted(chosen, key=lambda test: (seconds[_file(test)], _file(test), self.seconds.get(test, 0.0), test))


def _file(test: str) -> str:
    return test.partition("::")[0]


def main() -> int:
    options = parser(__doc__)
    options.add_argument("package", choices=sorted(TESTS))
    options.add_argument("--sample", type=int, help="number of changes tried; by default all")
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--only", nargs="+", help="the names of the changes to try, as an earlier run printed them")
    options.add_argument("--folder", type=Path, help="a folder to work in, which later calls go on in; empty at first")
    given = options.parse_args()
    with data_folder(given.folder) as folder:
        if not (folder / "mutants" / "mutmut-stats.json").exists():
            _copy_of_repository(folder, given.package)
            # A name that matches nothing: mutmut writes the changed files, measures the tests, and complains.
            output = _mutmut(folder, "run", "--max-children", "2", "no-such-name", stderr=subprocess.DEVNULL)
            if not (folder / "mutants" / "mutmut-stats.json").exists():
                print(f"mutmut could not run the tests. The end of its output:\n{output[-2_000:]}", file=sys.stderr)
                return 1
        changes = _changes(folder)
        recorded = json.loads((folder / "mutants" / "mutmut-stats.json").read_text("utf-8"))
        _import_packages(folder, given.package)
        tests = Recorded(recorded["tests_by_mangled_function_name"], recorded["duration_by_test"])
        chosen = given.only or spread_sample(changes, given.sample or len(changes), given.seed)
        tried = _try_all(folder, chosen, tests)
    if not tried:
        return 1
    counts = Counter(tried.values())
    noticed = sum(counts[status] for status in NOTICED)
    low, high = wilson_interval(noticed, len(tried))
    print(
        json.dumps(
            {
                "package": given.package,
                "changes": len(changes),
                "tried": len(tried),
                **{status: counts[status] for status in sorted(counts)},
                "noticed_share": round(noticed / len(tried), 3),
                "interval": [round(low, 3), round(high, 3)],
            }
        )
    )
    return 0


def spread_sample(names: list[str], size: int, seed: int) -> list[str]:
    """Draw one name at random from each of ``size`` consecutive blocks of the sorted names.

    Names begin with their module, so that each module has a part that corresponds to its number of changes. The result
    is in random order, so that the first ones of it are a sample too.
    """
    names, size = sorted(names), min(size, len(names))
    edges = [round(block * len(names) / size) for block in range(size + 1)]
    generator = random.Random(seed)
    drawn = [generator.choice(names[start:end]) for start, end in pairwise(edges)]
    generator.shuffle(drawn)
    return drawn


def wilson_interval(noticed: int, tried: int) -> tuple[float, float]:
    """Return the 95 % score interval of a share (Wilson 1927)."""
    z = 1.959964
    share, factor = noticed / tried, 1 + z**2 / tried
    centre = (share + z**2 / (2 * tried)) / factor
    half = z / factor * math.sqrt(share * (1 - share) / tried + z**2 / (4 * tried**2))
    return centre - half, centre + half


def _try_all(folder: Path, changes: list[str], tests: Recorded) -> dict[str, str]:
    """Return change -> what became of it. Changes that were tried in the same folder before are not tried again."""
    file = folder / "tried.jsonl"
    known = dict(json.loads(line) for line in file.read_text("utf-8").splitlines()) if file.exists() else {}
    tried: dict[str, str] = {}
    try:
        for name in changes:
            if name not in known:
                known[name], reason = _try(folder, name, tests)
                with file.open("a", encoding="utf-8") as lines:
                    lines.write(json.dumps([name, known[name]]) + "\n")
                print(f"{known[name]}: {name}{': ' * bool(reason)}{reason}", file=sys.stderr, flush=True)
                if known[name] not in NOTICED:
                    print(_mutmut(folder, "show", name), file=sys.stderr, flush=True)
            tried[name] = known[name]
    except KeyboardInterrupt:
        print("Stopped; the figures are of the changes tried so far.", file=sys.stderr)
    return tried


def _try(folder: Path, change: str, known: Recorded) -> tuple[str, str]:
    """Return what became of a change, and the reason: where a test failed, the line of pytest's summary."""
    tests = known.of(change, folder)
    if not tests:
        return "no tests", ""
    limit = CPU_FLOOR_S + 10 * math.ceil(sum(known.seconds.get(test, 0.0) for test in tests))
    output = folder / "output.txt"
    child = os.fork()
    if child == 0:
        _run_tests(folder, change, tests, limit, output)
    deadline = time.monotonic() + REAL_TIME_LIMIT_S
    try:
        while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < deadline:
            time.sleep(0.02)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)  # with the processes that its tests started
    if ended[0] == 0:
        os.waitpid(child, 0)
        return "undecided", f"waited {REAL_TIME_LIMIT_S} s"
    code, said = os.waitstatus_to_exitcode(ended[1]), output.read_text("utf-8", "replace")
    summary = next((line for line in said.splitlines() if line.startswith(("FAILED ", "ERROR "))), "")
    if code == -signal.SIGXCPU:
        return "endless", f"used {limit} s of processor time"
    if code == 1:
        return "failed", summary
    if code in (2, 4):
        return "not imported", summary or said[-300:]
    return ("survived", "") if code == 0 else ("undecided", f"pytest ended with {code}: {said[-300:]}")


def _run_tests(folder: Path, change: str, tests: list[str], limit: int, output: Path) -> NoReturn:
    """Run tests in this process, which is a fork, and end it with pytest's exit code."""
    code = 3
    try:
        os.setsid()
        file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(file, 1)
        os.dup2(file, 2)
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))
        os.chdir(folder / "mutants")
        sys.path.insert(0, str(folder / "mutants"))
        sys.dont_write_bytecode = False
        os.environ.update(_COMPILED, MUTANT_UNDER_TEST=change)
        import pytest

        options = ["-x", "-q", "--tb=no", "--timeout=0", "-p", "no:cacheprovider"]
        code = int(pytest.main([*options, f"--basetemp={folder / 'temporary'}", *tests]))
        sys.stdout.flush()
    finally:
        os._exit(code)


def _import_packages(folder: Path, package: str) -> None:
    """Import the packages that the tests use, but nothing of the project, so that each fork need not do it again."""
    collect = (
        "import sys, pytest; pytest.main(['--collect-only', '-qq', *sys.argv[1:]]); print('', *sys.modules, sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", collect, *TESTS[package]],
        cwd=folder / "mutants",
        env={**os.environ, **_COMPILED},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # a process with threads cannot be forked safely
    own = {"chatbot_mvp", "streamlit_app", "tests", "benchmarks", "conftest", "__main__"}
    for name in done.stdout.splitlines():
        if re.fullmatch(r"[\w.]+", name) and name.partition(".")[0] not in own:
            with suppress(ImportError):
                importlib.import_module(name)
    threads = len(list(Path("/proc/self/task").iterdir()))
    if threads > 1:
        raise RuntimeError(f"{threads} threads are running after the imports, so that no process can be forked")


def _copy_of_repository(folder: Path, package: str) -> None:
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    subprocess.run(["tar", "-x", "-C", str(folder)], input=archive, check=True)
    lines = ["[mutmut]", "source_paths=", "    chatbot_mvp", "only_mutate=", f"    chatbot_mvp/{package}/*"]
    lines += ["also_copy=", *(f"    {name}" for name in ("data", "streamlit_app", "benchmarks", "docs", "README.md"))]
    lines += ["pytest_add_cli_args_test_selection=", *(f"    {path}" for path in TESTS[package])]
    lines += ["pytest_add_cli_args=", "    -p", "    no:cacheprovider", "    -m", "    not slow"]
    lines += [f"    --deselect={name}" for name in LEFT_OUT[package]]
    (folder / "setup.cfg").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _mutmut(folder: Path, *arguments: str, stderr: int | None = None) -> str:
    command = [sys.executable, "-m", "mutmut", *arguments]
    environment = {**os.environ, **_COMPILED}
    done = subprocess.run(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=stderr, text=True, check=False
    )
    return done.stdout


def _changes(folder: Path) -> list[str]:
    """Return the names of all changes that mutmut wrote, sorted."""
    files = (folder / "mutants").rglob("*.meta")
    return sorted(name for file in files for name in json.loads(file.read_text("utf-8"))["exit_code_by_key"])
