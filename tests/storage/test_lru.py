"""A bounded cache keeps what was used last, builds a value once, and forgets what was dropped."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from chatbot_mvp.storage.lru import BoundedCache


def in_threads(*calls: Callable[[], object]) -> list[threading.Thread]:
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    return threads


def test_the_least_used_leaves_first() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (1, None, 3)


def test_a_value_counts_by_its_weight_and_the_newest_stays_in_any_case() -> None:
    cache: BoundedCache[str, str] = BoundedCache(5, len)
    cache.put("a", "xx")
    cache.put("b", "xxx")
    cache.put("a", "x")
    cache.put("c", "x")
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == ("x", "xxx", "x")
    cache.put("d", "x" * 9)
    assert [cache.get(key) for key in "abcd"] == [None, None, None, "x" * 9]


def test_many_threads_build_a_value_once() -> None:
    cache: BoundedCache[str, object] = BoundedCache(2)
    begun, go, built, got = threading.Event(), threading.Event(), [], []

    def build() -> object:
        begun.set()
        assert go.wait(20)
        built.append(object())
        return built[-1]

    threads = in_threads(*[lambda: got.append(cache.get_or_build("a", build))] * 20)
    assert begun.wait(20)
    go.set()
    for thread in threads:
        thread.join()
    assert got == built * 20


def test_a_build_that_fails_leaves_nothing_behind() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)

    def fail() -> int:
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            cache.get_or_build("a", fail)
    assert cache.get_or_build("a", lambda: 1) == 1
    cache.clear()
    assert cache.get("a") is None


def test_what_is_dropped_while_it_is_built_is_not_kept_and_a_waiting_thread_builds_anew() -> None:
    cache: BoundedCache[str, str] = BoundedCache(2)
    begun, go, got = threading.Event(), threading.Event(), {}

    def old() -> str:
        begun.set()
        assert go.wait(20)
        return "old"

    def first() -> None:
        got["first"] = cache.get_or_build("a", old)

    def waiting() -> None:
        got["waiting"] = cache.get_or_build("a", lambda: "new")

    builder = in_threads(first)
    assert begun.wait(20)
    waiter = in_threads(waiting)
    cache.drop(lambda key: key == "a")
    go.set()
    for thread in (*builder, *waiter):
        thread.join()
    assert got == {"first": "old", "waiting": "new"}
    assert cache.get("a") == "new"
