"""Hostile input gives a result or an error of the project, within a second, from every reader of untrusted input.

The readers are the targets of ``benchmarks/fuzz.py``, which tries a million inputs. Here a few of them are tried again.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

# The targets read files of all wings, so none of them can be missing.
for _wing in ("backup", "gate", "promise", "ragas", "review", "sharing", "tune"):
    pytest.importorskip(f"chatbot_mvp.wings.{_wing}")

from benchmarks.fuzz import SLOWEST_S, Harness  # noqa: E402
from benchmarks.fuzzing.inputs import PATTERNS, WHOLE, encoded, pairs, repeated  # noqa: E402
from benchmarks.fuzzing.targets import TARGETS  # noqa: E402
from tests.cases import draws  # noqa: E402
from tests.hostile.found import FOUND  # noqa: E402
from tests.processor import reference_seconds  # noqa: E402

_SLOW = {"knowledge-base", "query", "answer-text", "dataset-parquet"}
"""Targets that take milliseconds for an input; the fast suite tries fewer inputs of them."""
_IN_THREADS = {"api-body"}
"""Targets whose work is done by other threads than the one that asks."""
_TRIES = 4


@pytest.fixture
def harness(request: pytest.FixtureRequest, clean_env: Path, tmp_path: Path) -> Iterator[Harness]:
    target = TARGETS[request.param]
    work = tmp_path / "work"
    work.mkdir()
    # A process that has run thousands of tests holds much, through which each collection would look again. It is not
    # collected first: that alone takes a second.
    gc.freeze()
    yield Harness(target.name, target.prepare(work), target.allowed)
    gc.unfreeze()


def refused(harness: Harness, inputs: Iterable[bytes]) -> dict[str, str]:
    """The place in the code -> trace of each failure over these inputs.

    An input that took longer than the limit is tried again, up to ``_TRIES`` times: the limit is in seconds of the
    reference machine, and a processor that others use counts more of them for the same work, for seconds on end. What
    other threads of the process do then, such as the index of an earlier test, does not count.
    """
    for data in inputs:
        harness.execute(data)
    found = dict(harness.findings)
    return {place: trace for place, (data, trace) in found.items() if not _is_quick(harness, place, data)}


def _is_quick(harness: Harness, place: str, data: bytes) -> bool:
    if not place.startswith("slow-"):
        return False
    clock = time.process_time if harness.name in _IN_THREADS else time.thread_time
    for _ in range(_TRIES):
        started = clock()
        harness.execute(data)
        if reference_seconds(clock() - started) <= SLOWEST_S:
            return True
    return False


@pytest.mark.sampled(9)
@pytest.mark.parametrize("harness", TARGETS, indirect=True)
def test_hostile_input_never_crashes_or_hangs_a_reader(harness: Harness) -> None:
    whole = [data for data in WHOLE if len(data) < 600]
    patterns = [data for _, data in islice(repeated(100), 0, None, 9)]
    inputs = [*TARGETS[harness.name].seeds, *([*whole, *patterns] if harness.name not in _SLOW else whole[4:7])]
    assert refused(harness, inputs) == {}


@pytest.mark.parametrize(
    ("harness", "data"), [pytest.param(t, d, id=f"{t}: {why}") for t, why, d in FOUND], indirect=["harness"]
)
def test_input_that_once_failed_does_not_fail_again(harness: Harness, data: bytes) -> None:
    assert refused(harness, [data]) == {}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("harness", TARGETS, indirect=True)
def test_a_hundred_kilobytes_of_any_pattern_take_less_than_a_second(harness: Harness) -> None:
    size = 20_000 if harness.name in _SLOW else 100_000
    every = 9 if harness.name in _SLOW else draws(1, 4)
    patterns = islice(repeated(size), _row(harness) % every, None, every)
    assert refused(harness, [*WHOLE, *(data for _, data in patterns)]) == {}


@pytest.mark.slow
@pytest.mark.parametrize("harness", sorted(TARGETS.keys() - _SLOW), indirect=True)
def test_two_patterns_in_turn_take_less_than_a_second(harness: Harness) -> None:
    every = draws(1, 3)
    assert refused(harness, (data for _, data in islice(pairs(20_000), _row(harness) % every, None, every))) == {}


def _row(harness: Harness) -> int:
    """Number of a target: each begins with another pattern, so that each pattern is tried by some of them."""
    return list(TARGETS).index(harness.name)


_PIECES = st.lists(st.sampled_from(PATTERNS) | st.text(max_size=20), max_size=12).map("".join).map(encoded)


@pytest.fixture(scope="module")
def harnesses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Harness]:
    quick = (TARGETS[name] for name in TARGETS.keys() - _SLOW - {"api-body"})
    return {t.name: Harness(t.name, t.prepare(tmp_path_factory.mktemp(t.name)), t.allowed) for t in quick}


@given(st.sampled_from(sorted(TARGETS.keys() - _SLOW - {"api-body"})), st.data())
def test_pieces_of_hostile_text_in_any_order_are_read_or_refused(
    harnesses: dict[str, Harness], name: str, data: st.DataObject
) -> None:
    target = TARGETS[name]
    legal = data.draw(st.sampled_from((*(encoded(word) for word in target.dictionary), *target.seeds, b"")))
    assert refused(harnesses[name], [legal + data.draw(st.binary(max_size=200) | _PIECES)]) == {}
