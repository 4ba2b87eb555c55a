"""The measure of mutation testing: what is drawn, which tests are run, and how sure the share is."""

from __future__ import annotations

from pathlib import Path

import pytest
from scipy.stats import binomtest

from benchmarks.mutation import Recorded, spread_sample, wilson_interval

NAMES = [
    f"chatbot_mvp.p.{module}.x_f__mutmut_{n}" for module, size in (("a", 10), ("b", 40), ("c", 50)) for n in range(size)
]


@pytest.mark.parametrize(("size", "parts"), [(10, (1, 4, 5)), (100, (10, 40, 50)), (500, (10, 40, 50))])
def test_each_module_has_a_part_of_the_sample_by_its_size(size: int, parts: tuple[int, ...]) -> None:
    drawn = spread_sample(NAMES[::-1], size, 1)
    assert tuple(sum(f".{module}.x_" in name for name in drawn) for module in "abc") == parts
    assert len(set(drawn)) == len(drawn)


def test_a_seed_draws_the_same_sample_again_and_another_one_another_in_random_order() -> None:
    first, other = spread_sample(NAMES, 20, 1), spread_sample(NAMES, 20, 2)
    assert spread_sample(NAMES, 20, 1) == first
    assert set(first) != set(other)
    assert first != sorted(first)


@pytest.mark.parametrize(("noticed", "tried"), [(0, 10), (10, 10), (51, 60), (130, 150)])
def test_the_interval_is_wilsons(noticed: int, tried: int) -> None:
    expected = binomtest(noticed, tried).proportion_ci(method="wilson")
    assert wilson_interval(noticed, tried) == pytest.approx((expected.low, expected.high), abs=1e-6)


def test_the_tests_of_a_change_come_quickest_first_and_with_those_that_share_its_fixtures(tmp_path: Path) -> None:
    (tmp_path / "mutants").mkdir()
    (tmp_path / "mutants" / "shared.py").write_text('@pytest.fixture(scope="module")')
    (tmp_path / "mutants" / "own.py").write_text("")
    tests = Recorded(
        {"m.x_f": ["own.py::b", "shared.py::a", "own.py::slow"], "m.x_g": ["own.py::slow"]},
        {"own.py::a": 0.1, "own.py::b": 0.25, "own.py::slow": 9.0, "shared.py::a": 0.2, "shared.py::b": 0.1},
    )
    assert tests.of("m.x_f__mutmut_3", tmp_path) == ["own.py::b", "shared.py::b", "shared.py::a"]
    assert tests.of("m.x_g__mutmut_1", tmp_path) == ["own.py::slow"], "no quicker test calls it"
    assert tests.of("m.x_h__mutmut_1", tmp_path) == []
