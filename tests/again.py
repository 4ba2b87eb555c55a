"""What CI adds to pytest: a test that fails is run once more, alone; and which tests ran is written down.

``RUN_AGAIN=1`` in the environment switches the first on, ``TESTS_THAT_RAN=file`` the second. After ``TESTS_END_AT``, in
seconds since 1970, tests are skipped and counted as such: a run that is ended from outside says nothing at all. A test
that fails twice fails the run. One that passes alone is printed under a heading of its own; ``flaky.txt`` lists those
that are known.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cases import function_of

FLAKY = Path(__file__).with_name("flaky.txt")
"""A line each: the day, and the test function."""
ONCE = "failed once"
_OWN = ("RUN_AGAIN", "TESTS_THAT_RAN", "TESTS_END_AT")
_MOST = 30
"""If more tests fail than that, something is broken, and no test is run again."""


@pytest.hookimpl(tryfirst=True)  # before fixtures
def pytest_runtest_setup(item: pytest.Item) -> None:
    if time.time() > float(os.environ.get("TESTS_END_AT", "inf")):
        pytest.skip("no time was left")


@pytest.hookimpl(trylast=True)  # when the workers of pytest-xdist have ended
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(session.config, "workerinput"):
        return
    stats: dict[str, list[pytest.TestReport]] = reporter.stats
    names = {report.nodeid: _case(report) for kind in ("failed", "error") for report in stats.get(kind, ())}
    tests_failed = session.exitstatus == pytest.ExitCode.TESTS_FAILED
    if tests_failed and os.environ.get("RUN_AGAIN") == "1" and len(names) <= _MOST:
        alone = {case: _passes_alone(case, session.config) for case in sorted(set(names.values()))}
        passed = {name for name, case in names.items() if alone[case]}
        for kind in ("failed", "error"):
            stats[ONCE] = stats.get(ONCE, []) + [report for report in stats.get(kind, ()) if report.nodeid in passed]
            stats[kind] = [report for report in stats.get(kind, ()) if report.nodeid not in passed]
        if passed == names.keys():
            session.exitstatus = pytest.ExitCode.OK
    if path := os.environ.get("TESTS_THAT_RAN"):
        ran = [*stats.get("passed", ()), *stats.get(ONCE, ())]
        with Path(path).open("a", encoding="utf-8") as file:
            file.writelines(f"{function_of(report.nodeid)}\n" for report in ran)


def _case(report: pytest.TestReport) -> str:
    """Return what is run again for a test: it, or its file if its tests go on where the one before them was."""
    case = re.sub(r"@[^@\]]+$", "", report.nodeid)  # without the group of pytest-xdist
    return case.partition("::")[0] if "in_order" in report.keywords else case


def _passes_alone(case: str, config: pytest.Config) -> bool:
    """Run a test in a process of its own, while no other runs. What it prints is told if it fails again."""
    environment = {key: value for key, value in os.environ.items() if key not in _OWN}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", case]
    done = subprocess.run(
        command, cwd=config.rootpath, env=environment, capture_output=True, text=True, errors="replace", check=False
    )
    told = "passed" if done.returncode == 0 else f"failed again\n{done.stdout}{done.stderr}"
    config.get_terminal_writer().line(f"\nrun alone: {case}: {told}")
    return done.returncode == 0


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    once = {function_of(report.nodeid): report for report in terminalreporter.stats.get(ONCE, ())}
    if once:
        known = {line.split()[1] for line in FLAKY.read_text("utf-8").splitlines() if line and line[0] != "#"}
        terminalreporter.section("Failed once, passed alone")
        for name, report in sorted(once.items()):
            terminalreporter.write_line(
                f"{name}: {'known' if name in known else 'new: mend it or list it in'} {FLAKY.name}"
            )
            terminalreporter.write_line("\n".join(report.longreprtext.splitlines()[-40:]))
