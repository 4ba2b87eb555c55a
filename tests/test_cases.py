"""The fast suite runs a part of a sampled test's cases, the whole suite all."""

from __future__ import annotations

import pytest

from benchmarks.test_costs import plan
from tests import cases
from tests.cases import function_of, sample

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
    assert sample(4, 0) == set()
    assert all(len(sample(total, count)) == min(total, count) for total in range(1, 60) for count in range(60))


@pytest.mark.parametrize(("arguments", "passed"), [(["-m", "not slow"], 4), ([], 10), (["-k", "test_each and 5"], 1)])
def test_the_rest_runs_with_the_slow_tests(pytester: pytest.Pytester, arguments: list[str], passed: int) -> None:
    pytester.makeconftest(SUITE)
    pytester.makepyfile(test_some=TESTS)
    pytester.makeini("[pytest]\nmarkers =\n    slow: slow\n    sampled(count): sampled\n")
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider", "-q", *arguments)
    assert result.parseoutcomes()["passed"] == passed


def test_what_costs_more_than_its_budget_runs_a_part_of_its_cases(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makeconftest(
        "import pytest\nfrom tests import cases\npytest_collection_modifyitems = cases.pytest_collection_modifyitems\n"
    )
    pytester.makepyfile(test_some=TESTS.replace("@pytest.mark.sampled(3)\n", ""))
    pytester.makeini("[pytest]\nmarkers =\n    slow: slow\n    costly: costly\n")
    costs = pytester.path / "costs.txt"
    costs.write_text(
        "# about\n2/9 4.5 test_some.py::test_each\n0/1 3.0 test_some.py::test_alone\n"
        "0/1 9.9 tests/wings/gone/test_gone.py::test_gone\n"
    )
    monkeypatch.setattr(cases, "COSTS", costs)
    counts = [
        pytester.runpytest_inprocess("-p", "no:cacheprovider", "-q", *arguments).parseoutcomes()["passed"]
        for arguments in (["-m", "not slow and not costly"], ["-m", "not slow"])
    ]
    assert counts == [2, 10]


def test_a_plan_pays_for_as_many_cases_as_the_budget_allows() -> None:
    costs = {"a::cheap": [0.1], "a::dear": [2.0], "b::many": [0.1] * 10, "c::only": [1.0], "d::huge": [9.0]}
    assert plan(costs, 0.3) == {"a::cheap": 1, "a::dear": 0, "b::many": 3, "c::only": 1, "d::huge": 0}


def test_a_function_is_named_without_case_and_group() -> None:
    assert function_of("tests/test_a.py::test_b[x-[1]]@group") == "tests/test_a.py::test_b"
    assert function_of("tests/test_a.py::TestC::test_b@group") == "tests/test_a.py::TestC::test_b"


def test_a_group_runs_in_one_process(pytester: pytest.Pytester) -> None:
    """It needs a version of pytest that pytest-xdist knows: under a newer one it ignores groups and says nothing."""
    pytest.importorskip("xdist")
    marked = "import pytest\npytestmark = pytest.mark.xdist_group('one')\n"
    pytester.makepyfile(**{f"test_{name}": f"{marked}def test_a(): pass\ndef test_b(): pass\n" for name in "ab"})
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider", "-v", "-n", "2", "--dist", "loadgroup")
    assert result.parseoutcomes()["passed"] == 4
    assert len({line.split()[0] for line in result.outlines if "PASSED" in line}) == 1
