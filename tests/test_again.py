"""A test that fails is run once more, alone, and only one that fails twice fails the run."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

SUITE = """
from tests.again import pytest_runtest_setup as pytest_runtest_setup
from tests.again import pytest_sessionfinish as pytest_sessionfinish
from tests.again import pytest_terminal_summary as pytest_terminal_summary
"""
FLAKY = """
import pytest
from pathlib import Path

@pytest.mark.parametrize("case", ["a", "b@c[d]"])
def test_flaky(case):
    seen = Path(f"seen-{case[0]}")
    again = seen.exists()
    seen.touch()
    assert again

def test_sound(): pass
"""
IN_ORDER = """
import pytest
from pathlib import Path

pytestmark = pytest.mark.in_order
made = []

def test_first(): made.append(1)

def test_then():
    again = Path("seen").exists()
    Path("seen").touch()
    assert again and made
"""
WRONG = "\ndef test_wrong(): assert 0\n"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    monkeypatch.setenv("TESTS_THAT_RAN", str(pytester.path / "ran.txt"))
    monkeypatch.setenv("RUN_AGAIN", "1")
    pytester.makeconftest(SUITE)
    return pytester


@pytest.mark.parametrize(("tests", "code"), [(FLAKY, 0), (FLAKY + WRONG, 1)], ids=["once", "twice"])
def test_a_failure_is_run_again_alone_and_told(project: pytest.Pytester, tests: str, code: int) -> None:
    project.makepyfile(test_some=f"{tests}\ntest_flaky = pytest.mark.xdist_group('one')(test_flaky)\n")
    result = project.runpytest_subprocess("-p", "no:cacheprovider", "-n", "1", "--dist", "loadgroup")
    assert result.ret == code
    result.stdout.fnmatch_lines(["*= Failed once, passed alone =*", "test_some.py::test_flaky: new*", "E *assert*"])
    result.stdout.fnmatch_lines([f"=*{'1 failed, ' if code else ''}1 passed, 2 failed once*"])
    ran = (project.path / "ran.txt").read_text("utf-8").split()
    assert set(ran) == {"test_some.py::test_sound", "test_some.py::test_flaky"}


def test_a_test_that_needs_those_before_it_is_run_again_with_them(project: pytest.Pytester) -> None:
    project.makeini("[pytest]\nmarkers = in_order")
    project.makepyfile(test_some=IN_ORDER)
    result = project.runpytest_subprocess("-p", "no:cacheprovider", "--strict-markers")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["run alone: test_some.py: passed", "=*1 passed, 1 failed once*"])


def test_without_the_wish_nothing_is_run_again(project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RUN_AGAIN")
    project.makepyfile(test_some=FLAKY)
    result = project.runpytest_subprocess("-p", "no:cacheprovider", "-q")
    assert (result.ret, "run alone" in result.stdout.str()) == (1, False)


def test_a_test_that_would_begin_after_the_end_is_skipped(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TESTS_END_AT", "1")
    project.makepyfile(test_some=WRONG)
    result = project.runpytest_subprocess("-p", "no:cacheprovider", "-rs")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["SKIPPED *no time was left", "=*1 skipped*"])
