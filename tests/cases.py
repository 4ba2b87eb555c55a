"""Which cases of a test the fast suite runs, and what cases are called."""

from __future__ import annotations

from collections import defaultdict

import pytest


@pytest.hookimpl(tryfirst=True)  # before pytest deselects by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark as slow what ``@pytest.mark.sampled(count)`` leaves out: all cases but ``count``, at equal distances.

    The cases are those of one test function. The first and the last of them are always kept.
    """
    cases: dict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled") and not item.get_closest_marker("slow"):
            cases[item.nodeid.partition("[")[0]].append(item)
    for found in cases.values():
        mark = found[0].get_closest_marker("sampled")
        assert mark is not None
        kept = sample(len(found), *mark.args)
        for place, item in enumerate(found):
            if place not in kept:
                item.add_marker(pytest.mark.slow)


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
        count: at least 1; 1 gives the first only.
    """
    if count >= total:
        return set(range(total))
    if count == 1:
        return {0}
    return {round(place * (total - 1) / (count - 1)) for place in range(count)}
