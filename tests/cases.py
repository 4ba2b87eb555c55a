"""Which cases of a test the fast suite runs, and what cases are called."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

COSTS = Path(__file__).with_name("costs.txt")
"""What tests cost more than a budget, a line each: "cases kept/all cases", seconds, test function."""


def draws(every: int, few: int) -> int:
    """Return how many random cases of one claim are tried: ``every`` where many examples are asked for, else ``few``.

    More of them say the same of other numbers, unlike the cases of a table, which CI runs all.
    """
    return every if "HYPOTHESIS_EXAMPLES" in os.environ else few


def batches(every: int, few: int = 2) -> range:
    """Return the numbers of batches of random cases, as many as ``draws`` says."""
    return range(draws(every, few))


@pytest.hookimpl(tryfirst=True)  # before pytest deselects by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what ``@pytest.mark.sampled(count)`` leaves out, and as costly what ``costs.txt`` does.

    Kept are so many cases of a test function, at equal distances, with the first and the last. The browser tests of a
    file are a group: one process runs them.
    """
    for item in items:
        if item.get_closest_marker("e2e") and not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(item.path.stem))  # a browser and a server are started once
    sampled = [item for item in items if item.get_closest_marker("sampled") and not item.get_closest_marker("slow")]
    _leave_out(sampled, pytest.mark.slow, _count_of)
    budget = kept_by_cost(COSTS.read_text("utf-8")) if COSTS.exists() else {}
    listed = [item for item in items if function_of(item.nodeid) in budget and not item.get_closest_marker("slow")]
    _leave_out(listed, pytest.mark.costly, lambda item: budget[function_of(item.nodeid)])


def _count_of(item: pytest.Item) -> int:
    mark = item.get_closest_marker("sampled")
    assert mark is not None
    count: int = mark.args[0]
    return count


def _leave_out(items: Iterable[pytest.Item], mark: pytest.MarkDecorator, count: Callable[[pytest.Item], int]) -> None:
    """Mark all cases of each test function but ``count`` of them."""
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        cases[function_of(item.nodeid)].append(item)
    for found in cases.values():
        kept = sample(len(found), count(found[0]))
        for place, item in enumerate(found):
            if place not in kept:
                item.add_marker(mark)


def function_of(nodeid: str) -> str:
    """Return the name of a test without its case and its group of pytest-xdist."""
    path, _, name = nodeid.partition("::")
    return f"{path}::{name.partition('[')[0].partition('@')[0]}"


def kept_by_cost(text: str) -> dict[str, int]:
    """Return test function -> the cases that the fast suite runs, as ``costs.txt`` says it."""
    rows = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    return {name: int(kept.partition("/")[0]) for kept, _, name in rows}


def pytest_make_parametrize_id(val: object) -> str | None:
    """Give bytes and long texts a short name; None leaves the others to pytest.

    The bytes of a file that is made anew may hold the time, so that two workers would call one case by two names.
    """
    if isinstance(val, bytes):
        return "bytes"
    return f"{val[:60]}…" if isinstance(val, str) and len(val) > 100 else None


def sample(total: int, count: int) -> set[int]:
    """``count`` numbers below ``total``, at equal distances, with the first and the last; all if there are fewer.

    Args:
        count: 1 gives the first only, 0 none.
    """
    if count >= total:
        return set(range(total))
    if count < 2:
        return set(range(count))
    return {round(place * (total - 1) / (count - 1)) for place in range(count)}
