"""The fast suite runs a part of a sampled test's cases, the whole suite all."""

from __future__ import annotations

import pytest

from tests.cases import sample

pytest_plugins = ["pytester"]

SUITE = """
import pytest
from tests.cases import pytest_collection_modifyitems as pytest_collection_modifyitems
"""
TESTS = """
import pytest

@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", range(9))
def test_each(case): assert case >= 0

def test_alone(): pass
"""


def test_a_sample_has_the_first_and_the_last_and_equal_distances() -> None:
    assert sample(9, 3) == {0, 4, 8}
    assert sample(3, 5) == {0, 1, 2}
    assert sample(4, 1) == {0}
    assert all(len(sample(total, count)) == min(total, count) for total in range(1, 60) for count in range(1, 60))


@pytest.mark.parametrize(("arguments", "passed"), [(["-m", "not slow"], 4), ([], 10), (["-k", "test_each and 5"], 1)])
def test_the_rest_runs_with_the_slow_tests(pytester: pytest.Pytester, arguments: list[str], passed: int) -> None:
    pytester.makeconftest(SUITE)
    pytester.makepyfile(test_some=TESTS)
    pytester.makeini("[pytest]\nmarkers =\n    slow: slow\n    sampled(count): sampled\n")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-q", *arguments)
    assert result.parseoutcomes()["passed"] == passed


def test_a_group_runs_in_one_process(pytester: pytest.Pytester) -> None:
    """It needs a version of pytest that pytest-xdist knows: under a newer one it ignores groups and says nothing."""
    pytest.importorskip("xdist")
    marked = "import pytest\npytestmark = pytest.mark.xdist_group('one')\n"
    pytester.makepyfile(**{f"test_{name}": f"{marked}def test_a(): pass\ndef test_b(): pass\n" for name in "ab"})
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-v", "-n", "2", "--dist", "loadgroup")
    assert result.parseoutcomes()["passed"] == 4
    assert len({line.split()[0] for line in result.outlines if "PASSED" in line}) == 1
