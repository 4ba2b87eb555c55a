"""Pipelines stay in memory, are built once, and go with their knowledge base."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from chatbot_mvp.knowledge_base.pipelines import PipelinePool


class Kept:
    """What a pool asks of a pipeline: its size, and whether its vectors failed."""

    chars = 1
    failure = None

    def stop(self) -> None: ...


def test_twenty_at_once_build_one() -> None:
    pool, built, got = PipelinePool(2), [], []
    pipeline: Any = Kept()

    def build() -> Any:
        built.append(1)
        time.sleep(0.05)
        return pipeline

    threads = [threading.Thread(target=lambda: got.append(pool.get(("kb", "1"), build))) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(built), got) == (1, [pipeline] * 20)


def test_the_least_used_leaves_and_a_dropped_one_is_built_again() -> None:
    pool, built = PipelinePool(2), []

    def get(name: str) -> None:
        def build() -> Any:
            built.append(name)
            return Kept()

        pool.get((name, "1"), build)

    for name in ("a", "b", "a", "c", "a", "b"):
        get(name)
    assert built == ["a", "b", "c", "b"]
    pool.drop("a")
    get("a")
    assert built[-1] == "a"


def test_a_build_that_fails_leaves_nothing_behind() -> None:
    pool = PipelinePool(2)

    def fail() -> Any:
        raise ValueError("no")

    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            pool.get(("kb", "1"), fail)
    built: Any = Kept()
    assert pool.get(("kb", "1"), lambda: built) is built


@pytest.mark.parametrize("clears", [False, True])
def test_a_pipeline_whose_knowledge_base_is_dropped_while_it_is_built_is_not_kept(clears: bool) -> None:
    pool = PipelinePool(2)

    def build() -> Any:
        # As another session deletes or indexes the knowledge base anew.
        if clears:
            pool.clear()
        else:
            pool.drop("kb")
        return of_the_text_before

    of_the_text_before: Any = Kept()
    built: Any = Kept()
    assert pool.get(("kb", "1"), build) is of_the_text_before
    assert pool.get(("kb", "1"), lambda: built) is built
